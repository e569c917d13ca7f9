"""What clients send again with every request: told apart by hashes, without what changes each time.

``entries`` are the messages of a body, each read only if it has to be; ``answers`` recognise an answer in what its
client sends back.
"""
