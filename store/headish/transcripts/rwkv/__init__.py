"""The RWKV Universal Chat Template: blocks between tags."""
