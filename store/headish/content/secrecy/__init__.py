"""Find and hide what looks like a key. Keys belong in the environment or a keyring, not in a database.

Two things give a key away: the name of a text, and its shape. A name counts only as a whole (``api_key``,
``x-api-key``, ``clientSecret``), so ``max_tokens`` or the ``key`` of a sort is not a key. A shape needs its prefix and
as many random characters as a real key has. A reference to a variable (``${OPENAI_API_KEY}``) and the ``***`` of
something hidden are not keys. Texts of messages are searched only before they leave the machine, because people talk
about keys. Base64 is decoded where it may be ``Basic`` credentials, a private key, or a JSON object.
"""
