"""Map LangChain's messages, as plain data, whoever kept them: what a message says becomes blocks, and everything else
is kept beside them. Nothing here imports LangChain.

``messages`` maps whole messages, ``parts`` the parts of their content, and ``facts`` finds role, speaker and reply.
"""
