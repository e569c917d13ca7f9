"""Write a call down: its bytes decompressed and without keys, in a thread that no call waits for."""
