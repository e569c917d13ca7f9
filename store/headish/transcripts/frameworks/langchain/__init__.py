"""Messages of LangChain as plain data, whoever has kept them: what a message says becomes blocks, and everything else
stands beside them. Nothing here imports LangChain.

``parts`` has the parts of content, ``messages`` whole messages, and ``facts`` what is said of an answer.
"""
