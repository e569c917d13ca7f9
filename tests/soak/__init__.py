"""What headish is put through for minutes: kills, faults of the disk, restarts, full disks, interrupts, forks.

``make soak MINUTES=10`` runs it; ``test_soak.py`` runs a few seconds of each.
"""
