"""Chat messages: the code that the APIs modelled on OpenAI's Chat Completions share. Not a provider itself."""
