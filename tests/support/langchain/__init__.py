"""Messages of LangChain as plain data, and rows that earlier versions of both adapters stored of them."""
