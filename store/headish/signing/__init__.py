"""Sign and check signatures with the system's ``ssh-keygen``: its agents, hardware keys, certificates and lists."""
