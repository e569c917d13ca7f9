"""Recognise what clients send again with every request, by hashes that leave out what changes each time.

``entries`` are the messages of a body, each read only if it has to be; ``answers`` recognise an answer in what its
client sends back.
"""
