"""Every limit of headish, each with the error that names it.

A limit is part of the promise "nothing is half stored": it is checked before a transaction opens.
"""

PAYLOAD_LIMIT_BYTES = 100 * 1024 * 1024
"""The largest payload of a turn. ``Store.open(payload_limit_bytes=…)`` sets another one. Error: ``TooLarge``."""

INLINE_BYTES = 2048
"""The largest payload that is stored in the row of its turn; larger ones are stored once per space
(docs/adr/0120-what-was-tried-for-speed.md)."""

MAPPING_LIMIT_BYTES = 1024 * 1024
"""The largest JSON text of a turn's inherited options, attributes or application meta, each. Error: ``TooLarge``."""

NESTING_LIMIT = 128
"""How deep arrays and objects may be nested in any JSON that is kept. Error: ``TooDeep``.

Reading takes up to five of Python's 1,000 frames for two levels, and the caller already uses some of them.
"""

BOOKMARK_LIMIT_BYTES = 255
"""The longest bookmark or space name, in UTF-8. Error: ``InvalidName``."""

KEY_LIMIT_BYTES = 1024
"""The longest key or author of a turn, and key of a conversation, in UTF-8. Error: ``InvalidArgument``."""

SIGNATURE_LIMIT_BYTES = 16 * 1024
"""The largest signature of a turn, without its armour: one by a certificate of an RSA key has about 4,000 bytes.
Errors: ``SigningFailed`` where one is made, ``InvalidBundle`` where one arrives."""

SIGNATURES_LIMIT = 16
"""How many signatures of a turn may be made here, and how many may come from each remote, from callers, in files and
with copies. Error: ``SigningFailed``; of those that arrive, further ones are left out."""

SYNC_LIMIT_BYTES = 256 * 1024 * 1024
"""The largest request of a store that syncs over HTTP: turns of about 16 MiB, or one large payload, with receipts.
Error: ``TooLarge``."""

PENDING_LIMIT = 4096
"""How many erasures of other stores may wait in a space to be confirmed; half as many if they list no turn of it.
Error: ``InvalidBundle``."""

PENDING_LIMIT_BYTES = 256 * 1024 * 1024
"""How many bytes their receipts may have; half as many if they list no turn of it. Error: ``InvalidBundle``."""

REASON_LIMIT_BYTES = 1024
"""The longest reason of an erasure, in UTF-8. Error: ``InvalidArgument``."""

OBJECT_KIND_LIMIT = 64
"""The longest kind of an object, in characters. Error: ``InvalidArgument``."""

OBJECT_KEY_LIMIT_BYTES = 1024
"""The longest key of an object, in UTF-8. Error: ``InvalidArgument``."""

TITLE_LIMIT = 1000
"""The longest title or tag of a conversation, in characters. Error: ``InvalidArgument``."""

TAGS_LIMIT = 100
"""How many tags a conversation may have. Error: ``InvalidArgument``."""

LAST_MILLISECOND = 253_402_300_799_999
"""The last millisecond of the year 9999: no stored time is later."""

LAST_NUMBER = 2**53 - 1
"""The largest count, revision or number of another store that is taken: far more than any store reaches, and far below
what a database counts to. Error: ``InvalidBundle``."""

PREVIEW_BYTES = 64 * 1024
"""Lists of conversations show words of payloads up to this size; of a larger one they read its beginning."""

HEADISH_LIMIT = 1024
"""The longest text that is read as a headish, in characters. Error: ``InvalidHeadish``."""

MESSAGE_HEADER_LIMIT = 64 * 1024
"""The longest header of a message in a transcript, in characters, and the largest YAML header, in bytes.

Errors: ``InvalidTranscript`` where one is read, ``HeaderValue`` where one would be written.
"""

PREFIX_MINIMUM = 8
"""The fewest digits of an id that are looked up as a prefix. A shorter text is taken for a bookmark."""

CONTINUES_LIMIT = 1024
"""How many turns one turn may continue. Error: ``InvalidArgument``."""

# As many digests as fit into MAPPING_LIMIT_BYTES: each takes 67 bytes of JSON.
COVERED_LIMIT = 15_000
"""How many turns one overlay may cover, whose digests are in its attributes. Error: ``InvalidArgument``."""

BATCH_TURNS = 1000
"""How many turns ``add_turns`` stores in one transaction at most."""

BATCH_BYTES = 16 * 1024 * 1024
"""``add_turns`` closes a batch once its payloads hold this many bytes."""

CANDIDATES_SHOWN = 10
"""How many ids ``Ambiguous`` names."""

NAMES_COMPARED = 1000
"""With how many names an unknown name is compared, to suggest the one that was meant."""

IMPORT_LINE_BYTES = 64 * 1024 * 1024
"""The longest line of an imported file: memory holds one line at a time. Error: ``InvalidImport``."""

STREAM_LIMIT_BYTES = 1024 * 1024 * 1024
"""The most bytes of a stream that an import keeps on the disk because it reads twice. Error: ``InvalidImport``."""

TRANSCRIPT_LIMIT_BYTES = 256 * 1024 * 1024
"""The largest file that the command reads whole: to convert or lint a transcript, or as an answer to store.

Error: ``TooLarge``.
"""

EVENT_LIMIT_BYTES = 32 * 1024 * 1024
"""The largest event of a provider's answer; a whole answer is one event. Error: ``InvalidReply``."""

REPLY_LIMIT_BYTES = 256 * 1024 * 1024
"""The most bytes that headish reads of one answer over HTTP. Error: ``UnreadableAnswer``."""

BATCH_RESULTS_LIMIT_BYTES = 4 * 1024 * 1024 * 1024
"""The most bytes of a file of a batch's results; memory holds one line of it. Error: ``UnreadableAnswer``."""

REFUSAL_LIMIT_BYTES = 64 * 1024
"""How much headish reads of an answer that refuses a call, to show the provider's own message."""

RETRY_AFTER_LIMIT_SECONDS = 120
"""The longest wait that a provider may ask for before a retry. For a longer one, ``CallRefused`` says how long."""

QUESTION_LIMIT = 10_000
"""The longest text that is searched for, in characters. Error: ``InvalidArgument``."""

QUESTION_WORDS_LIMIT = 64
"""How many words a search may ask for. Error: ``InvalidArgument``."""
