"""Chat messages: what the APIs modelled on OpenAI's Chat Completions share. Not a provider itself."""
