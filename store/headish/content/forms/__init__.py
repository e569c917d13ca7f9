"""Messages of APIs as their clients keep and re-send them (docs/how-to/api-messages.md).

An entry becomes neutral blocks and a difference. What it says is in the blocks, unknown keys included; how it was
written stands outside the digest, in ``system.form``. Written back in its own form it is equal to what was given; every
other form is written from the blocks.
"""
