"""Messages of APIs as their clients keep and re-send them (docs/how-to/api-messages.md).

An entry becomes neutral blocks and a difference. The blocks hold what it says, unknown keys included; the difference
says how it was written, and is kept outside the digest, in ``system.form``. Written back in its own form, an entry
equals what was given; every other form is written from the blocks.
"""
