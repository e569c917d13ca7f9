"""What is written down of a call: its bytes decompressed and without keys, in a thread that no call waits for."""
