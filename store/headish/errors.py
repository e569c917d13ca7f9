"""Every error that headish raises on purpose, split by who can mend it.

::

    HeadishError
    ├── InputError                what was given cannot be taken: mend the call
    │   ├── UnknownTurn           a headish, id or bookmark that names no turn of this space
    │   │   └── UnknownBookmark   no bookmark of that name (a KeyError too)
    │   ├── Ambiguous             an id prefix or a handle that several turns share
    │   ├── TurnErased            what a turn said was erased
    │   ├── BarredContent         content that was erased, and is refused since
    │   ├── UnknownPointer        no provider pointer of that name, or a request that names no provider
    │   ├── UnknownServer         no tools are stored for a server that the thread names
    │   ├── UnknownStream         no stream of that id
    │   ├── UnknownObject         no object of that kind and key
    │   ├── UnknownBatch          no batch of that name
    │   ├── UnknownErasure        no erasure of that number
    │   ├── UnknownConversation   no conversation of that key, or a turn that is in none
    │   ├── TurnTaken             a turn that another space holds otherwise, so it cannot be copied there
    │   ├── FileTaken             a file to be written that exists already
    │   ├── SpaceTaken            a space of that name exists
    │   ├── SpaceNotEmpty         a space to be removed that holds something
    │   ├── InvalidHeadish        text that does not follow the grammar of a headish
    │   ├── InvalidName           a bookmark or space name that the rules refuse
    │   ├── InvalidRole           a role outside system, developer, user, assistant, tool
    │   ├── InvalidContent        content, options or meta that cannot be kept as they are
    │   │   ├── TooDeep           more nesting than the limit
    │   │   └── TooLarge          more bytes than the limit
    │   ├── InvalidArgument       arguments that do not go together
    │   ├── InvalidBackup         a file to restore that is no backup, or was altered or cut off
    │   ├── OverBudget            what must stay of a window has more tokens than the budget
    │   ├── InvalidImport         a file to import that does not hold what its format says
    │   ├── InvalidConfig         a file of tool servers that cannot be read
    │   ├── InvalidPrices         a table of prices that cannot be read
    │   ├── InvalidCall           a tool call that cannot be run (E-CALL-SCHEMA)
    │   ├── InvalidReply          a provider's answer that cannot be read
    │   ├── InvalidAddress        a base URL that cannot be called, or to which no key may go
    │   ├── InvalidTranscript     text that its format's grammar refuses (``code`` is E-PARSE-…, E-STREAM-TRUNCATED, …)
    │   ├── InvalidInterchange    API JSON that holds what a transcript does not carry (E-MAP-INPUT)
    │   └── UnknownFormat         no emitter or importer of that name
    ├── HiddenMessage             a message that an end user may not see (E-PERM-VISIBILITY)
    ├── Closed                the store or its database was closed before
    │   └── AdapterClosed     an adapter's object was closed before (a RuntimeError too)
    ├── RemovedSpace          the space was removed while a store had it open
    ├── QuotaExceeded         the space may not hold more turns or bytes
    ├── CursorLost            the space no longer holds what a reader has read: read it anew
    ├── BookmarkMoved             the bookmark is not where ``expect`` says: read again, try again
    ├── BookmarkTaken         the name is in use elsewhere: continue it, choose another, or force it
    ├── KeyTaken              the key is that of another turn or conversation
    ├── SummaryFailed             a model was asked for a summary, and none came
    ├── RecordChanged             an object or a conversation has another revision: read again, try again
    ├── ServerFailed              a tool server that does not start, or does not answer
    ├── CallError                 a provider could not be asked, or did not answer
    │   ├── MissingKey            no key for the provider in any of the usual places
    │   ├── InvalidKey            a key that no HTTP header can hold
    │   ├── NoCredentials         a cloud's own credentials are missing, have run out or cannot be renewed
    │   ├── ClockSkewed           a cloud refuses the signature, because this machine's clock is wrong
    │   ├── UncertainBatch        a batch whose creation was cut off: the provider may have it or not
    │   ├── Unreachable           no connection, or it was lost before the answer began
    │   │   └── ConnectTimedOut   no connection within the time allowed
    │   ├── TimedOut              a time allowed passed
    │   │   ├── FirstByteTimedOut no byte of an answer came
    │   │   ├── SilenceTimedOut   an answer began, and then no further byte came
    │   │   └── CallTimedOut      the whole call took too long
    │   ├── CallCancelled         the caller ended the call from another thread or task
    │   ├── CallRefused           the provider answered with an error status
    │   ├── Redirected            the provider's address redirects, and redirects are not followed
    │   ├── UnreadableAnswer      an answer of an unknown kind, or a too large one
    │   └── Interrupted           the connection was lost in the middle of the answer
    ├── Unrepresentable           the outside format cannot carry this thread (``code`` is E-EMIT-…)
    │   ├── HeaderValue           a name, id or attribute that the format's headers cannot hold
    │   ├── Unmappable            API JSON that cannot carry this transcript (E-MAP-UNREPRESENTABLE)
    │   ├── ConversionLoss        a conversion that would not come back (E-CONVERT-LOSS)
    │   └── Unsupported           a provider that cannot take this
    └── DatabaseError             the database cannot do it: mend the place, not the call
        ├── UnknownDatabase       no database there, and headish was not to create one
        │   └── UnknownSpace      no such space in it
        ├── SpaceRestoring        the space is being restored, or a restore of it was cut off
        ├── NotADatabase          something else is there
        ├── DatabaseTooNew        written by a newer headish; left untouched
        ├── DatabaseTooOld        run ``headish db upgrade`` first
        ├── DatabaseLocked        another process held it for longer than the time-out
        ├── DatabaseReadOnly      it cannot be written
        │   ├── ReadOnly          it was opened read-only: open it where, or so, that it can be written
        │   └── RoleMissing       the login has not the role of a secured database that this takes
        ├── NotIsolated           nothing keeps its spaces apart, or nothing that holds this login
        ├── NotEntered            no space was entered that is open to this login
        ├── DatabaseFull          no space left on the disk
        ├── DatabaseCorrupt       the file itself is damaged
        ├── DatabaseUnavailable   the server or file cannot be reached
        ├── NotReplicated         it is not as far as it was to be, within the time allowed
        ├── DatabaseTimedOut      a time limit of the server ended the statement
        ├── DatabaseReplaced      the file was removed or replaced while it was open
        ├── CannotIndex           a SQLite without FTS5, which can keep no search index
        ├── OutcomeUnknown        the connection was lost during the commit: it may be stored
        └── CorruptRecord         stored bytes that do not decode or disagree with their address
            └── CorruptTurn       those of a turn

The facts are attributes, so that a program need not read the sentence. ``code`` is the
specification's word for the error, if it has one.

A value of the wrong Python type is an InputError like any other bad value, and no TypeError: what a program passes on
may come from anywhere, and one ``except`` is enough. Only a call that does not fit the signature (an unknown keyword, a
missing argument) is Python's own TypeError.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

SHOWN_CHARACTERS = 200
"""So much of a value that was given stands in an error."""


def shown(value: object) -> str:
    """A value as an error shows it, whatever it is: in short, and without failing itself."""
    try:
        text = repr(value)
    except Exception:  # one nested too deep, a number of too many digits, a __repr__ that fails
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``did you mean 'main' or 'man'?``; empty where nothing known is like it."""
    from difflib import get_close_matches  # late: only an error needs it

    close = get_close_matches(name[:SHOWN_CHARACTERS], known, 3)
    return f"did you mean {' or '.join(map(repr, close))}?" if close else ""


class HeadishError(Exception):
    """The base of them all. ``code`` is a specification's error code, or None."""

    code: str | None = None

    def __str__(self) -> str:
        return Exception.__str__(self)  # some are a KeyError too, which would show its message as a repr


class InputError(HeadishError):
    """What was given cannot be taken."""


class UnknownTurn(InputError):
    """No turn of this space is named so. A turn of another space is simply unknown."""

    def __init__(self, headish: str, reason: str = "") -> None:
        self.headish = headish
        super().__init__(f"no turn is named {headish!r} in this space" + (f": {reason}" if reason else ""))

    def tell(self, more: str) -> None:
        """Say more of it, at the end of its sentence."""
        self.args = (f"{self}; {more}",)


class Ambiguous(InputError):
    """An id prefix or a handle that more than one turn has; ``candidates`` are ids, oldest first.

    ``described`` says of each candidate of a handle: the handle that names it alone, its id, when it was said, its
    role, names and first words.
    """

    def __init__(self, prefix: str, candidates: tuple[str, ...], described: tuple[str, ...] = ()) -> None:
        self.prefix, self.candidates, self.described = prefix, candidates, described
        if described:
            super().__init__(f"several turns have the handle {prefix!r}; take one of these: {'; '.join(described)}")
        else:
            super().__init__(f"several turns begin with {prefix!r}: {', '.join(candidates)}; give more digits")


class UnknownBookmark(UnknownTurn, KeyError):
    """No bookmark of this name."""

    def __init__(self, name: str, reason: str = "there is no such bookmark") -> None:
        super().__init__(name, reason)


class TurnErased(InputError):
    """What this turn said was erased; ``number`` is that of the erasure."""

    def __init__(self, turn: str, number: int, when: str) -> None:
        self.turn, self.number = turn, number
        super().__init__(f"what turn {turn} said is gone: it was {when} (erasure {number})")


class BarredContent(InputError):
    """These bytes were erased, and are refused since; ``number`` is that of the erasure. Nothing was stored."""

    def __init__(self, hash: str, number: int) -> None:
        self.hash, self.number = hash, number
        super().__init__(f"this content cannot be stored: erasure {number} barred it ({hash[:16]}…)")


class UnknownPointer(InputError, KeyError):
    """No provider pointer of this name; None if nothing names a provider."""

    def __init__(self, name: str | None, hint: str = "") -> None:
        self.name = name
        if name is None:
            super().__init__(
                "no provider is named: give one (to=, --to) or a provider pointer (ptr=, -p), let the thread name a"
                " pointer (provider_ptr=, headish add -p), or set a default ('headish ptr set NAME PROVIDER/MODEL' and"
                " 'headish ptr default NAME')"
            )
        else:
            super().__init__(
                f"no provider pointer is named {name!r} in this space: 'headish ptr set {name} PROVIDER/MODEL' makes it"
                + (f"; {hint}" if hint else "")
            )


class UnknownServer(InputError, KeyError):
    """The tools of this server are not stored."""

    def __init__(self, server: str) -> None:
        self.server = server
        super().__init__(f"no tools are stored for the server {server!r}: 'headish tools set {server} FILE' adds them")


class UnknownStream(InputError):
    """No stream of this id in this space, or it ended long ago."""

    def __init__(self, stream: str) -> None:
        self.stream = stream
        super().__init__(f"no stream {stream!r} is known in this space")


class UnknownObject(InputError, KeyError):
    """No object of this kind has this key."""

    def __init__(self, kind: str, key: str) -> None:
        self.kind, self.key = kind, key
        super().__init__(f"no object of the kind {kind!r} has the key {key!r} in this space")


class UnknownBatch(InputError, KeyError):
    """No batch has this name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no batch is named {name!r} in this space: 'headish batch status' lists them")


class UnknownErasure(InputError, KeyError):
    """No erasure of this space has this number."""

    def __init__(self, number: object) -> None:
        self.number = number
        super().__init__(f"no erasure of this space has the number {shown(number)}")


class UnknownConversation(InputError, KeyError):
    """No conversation has this key, or a turn is in none: only system turns lead to it."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        super().__init__(f"no conversation is named {name!r} in this space: {reason}")


class TurnTaken(InputError):
    """A turn cannot be copied: the other space has its id with another seal, or its key for another turn."""

    def __init__(self, turn: str, how: str) -> None:
        self.turn = turn
        super().__init__(f"turn {turn} cannot be copied: the other space has it already {how}")


class FileTaken(InputError):
    """Something stands where a file is to be written; nothing is overwritten."""

    def __init__(self, file: str) -> None:
        self.file = file
        super().__init__(f"{file} exists already: choose another name, or move it away")


class SpaceTaken(InputError):
    """A space of this name exists already."""

    def __init__(self, space: str) -> None:
        self.space = space
        super().__init__(f"a space {space!r} exists already: choose another name")


class SpaceNotEmpty(InputError):
    """Only a space that never held a turn, a pointer, tools or an object can be removed."""

    def __init__(self, space: str) -> None:
        self.space = space
        super().__init__(
            f"the space {space!r} is not empty: it holds turns, pointers, tools or objects; to erase them all, use"
            " spaces.erase (headish spaces rm --erase --reason TEXT)"
        )


class InvalidHeadish(InputError):
    """Text that is no headish."""

    def __init__(self, headish: str, reason: str) -> None:
        self.headish, self.reason = headish, reason
        super().__init__(f"{headish[:80]!r} is not a headish: {reason}")


class InvalidName(InputError):
    """A bookmark or space name that the rules refuse; ``reason`` is the rule."""

    def __init__(self, kind: str, name: str, reason: str) -> None:
        self.kind, self.name, self.reason = kind, name, reason
        super().__init__(f"{name[:80]!r} cannot be the name of a {kind}: {reason}")


class InvalidRole(InputError):
    """A role outside the list."""

    def __init__(self, role: object) -> None:
        self.role = role
        super().__init__(f"unknown role {shown(role)}: use system, developer, user, assistant or tool")


class InvalidContent(InputError):
    """Content, options or meta that cannot be kept; ``path`` leads to the value (``$[0].text``)."""

    def __init__(self, what: str, reason: str, path: str = "$") -> None:
        self.what, self.reason, self.path = what, reason, path
        super().__init__(f"{what} cannot be kept: {reason} (at {path})")


class TooDeep(InvalidContent):
    """More nesting than ``limits.NESTING_LIMIT``."""


class TooLarge(InvalidContent):
    """More bytes than ``limit_bytes``; the value has at least ``size_bytes``: more if ``is_cut``."""

    def __init__(self, what: str, size_bytes: int, limit_bytes: int, *, is_cut: bool = False) -> None:
        self.size_bytes, self.limit_bytes, self.is_cut = size_bytes, limit_bytes, is_cut
        has = f"{size_bytes:,} bytes or more" if is_cut else f"{size_bytes:,} bytes"
        super().__init__(what, f"it has {has} and the limit is {limit_bytes:,}")


class InvalidArgument(InputError):
    """Arguments that do not go together, or one of the wrong kind."""


class InvalidBackup(InputError):
    """A file to restore that is no backup, was altered or cut off, or holds what cannot be put back."""

    def __init__(self, file: str, reason: str) -> None:
        self.file, self.reason = file, reason
        super().__init__(f"{file}: {reason}")


class OverBudget(InputError):
    """What must stay of a window has more ``tokens`` than the ``budget``. ``turns`` are the largest, by id."""

    def __init__(self, budget: int, tokens: int, turns: Mapping[str, int]) -> None:
        self.budget, self.tokens, self.turns = budget, tokens, dict(turns)
        largest = ", ".join(f"{turn} with {count:,}" for turn, count in self.turns.items())
        told = (
            f"what must stay has about {tokens:,} tokens, and the budget is {budget:,}; the largest turns are {largest}"
        )
        super().__init__(f"{told}: hide, replace or summarize one of them, or give a larger budget")


class InvalidImport(InputError):
    """A file that does not hold what its format says; ``line`` counts from 1."""

    def __init__(self, source: str, line: int | None, reason: str) -> None:
        self.source, self.line, self.reason = source, line, reason
        where = source if line is None else f"{source}, line {line}"
        super().__init__(f"cannot import {where}: {reason}")


class InvalidConfig(InputError):
    """A file of tool servers that cannot be read; ``server`` is the entry that is wrong, if it is one entry."""

    def __init__(self, file: str, server: str | None, reason: str) -> None:
        self.file, self.server, self.reason = file, server, reason
        where = file if server is None else f"{file}, server {server!r}"
        super().__init__(f"the tool servers cannot be read from {where}: {reason}")


class InvalidPrices(InputError):
    """A table of prices that cannot be read; ``file`` is where it is."""

    def __init__(self, file: str, reason: str) -> None:
        self.file, self.reason = file, reason
        super().__init__(f"the prices cannot be read from {file}: {reason}")


class InvalidTranscript(InputError):
    """Text that is no transcript of its format. ``line`` and ``column`` count from 1, in characters.

    ``code`` is E-PARSE-ENCODING, -DETECT, -HEADER, -FRAME or -CHANNEL-MISSING, E-STREAM-TRUNCATED, or
    E-BODY-CONSTRAINT-VIOLATION; ``format`` is the one it was read as, None if none was recognised.
    """

    def __init__(self, code: str, format: str | None, reason: str, line: int, column: int) -> None:
        self.code, self.format, self.reason = code, format, reason
        self.line, self.column = line, column
        what = f"{format} transcript" if format else "transcript"
        super().__init__(f"{code}: this is no {what}: {reason} (line {line}, column {column})")


class InvalidReply(InputError):
    """A provider's answer that cannot be read; ``event`` is the number of the event, counting from 1."""

    def __init__(self, what: str, reason: str, event: int) -> None:
        self.what, self.reason, self.event = what, reason, event
        super().__init__(f"{what} cannot be read: {reason} (event {event})")


class InvalidAddress(InputError):
    """A base URL that cannot be called, or to which no key may go. Parts that may hold a password are not shown."""

    def __init__(self, address: str, reason: str) -> None:
        self.address, self.reason = address, reason
        super().__init__(f"{address!r} cannot be called: {reason}")


class InvalidCall(InputError):
    """A tool call that cannot be run: no such tool, or arguments that do not fit."""

    code = "E-CALL-SCHEMA"

    def __init__(self, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(f"{self.code}: the call of {name[:80]!r} cannot be run: {reason}")


class InvalidInterchange(InputError):
    """API JSON that cannot be read as a transcript; ``path`` leads to the value that prevents it."""

    code = "E-MAP-INPUT"

    def __init__(self, target: str, reason: str, path: str = "$") -> None:
        self.target, self.reason, self.path = target, reason, path
        super().__init__(f"{self.code}: this {target} cannot be read: {reason} (at {path})")


class UnknownFormat(InputError):
    """No emitter, provider or importer of that name; ``known`` are the names that exist."""

    def __init__(self, name: str, known: tuple[str, ...], kind: str = "format") -> None:
        self.name, self.known = name, known
        super().__init__(f"unknown {kind} {shown(name)}: known are {', '.join(known)}")


class HiddenMessage(HeadishError):
    """An end user may see nothing of this message; ``index`` is its place. A debugging view may opt in."""

    code = "E-PERM-VISIBILITY"

    def __init__(self, index: int, role: str | None) -> None:
        self.index, self.role = index, role
        super().__init__(f"E-PERM-VISIBILITY: message {index} ({role}) is hidden from end users; only debug shows it")


class Closed(HeadishError):
    """A store or database that was closed was used again."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"{what} is closed: open it again")


class AdapterClosed(Closed, RuntimeError):
    """An object of an adapter was used after its ``close``, or after its database was closed."""


class RemovedSpace(HeadishError):
    """The space was removed while this store had it open; nothing was stored."""

    def __init__(self) -> None:
        super().__init__("the space of this store was removed; nothing was stored")


class QuotaExceeded(HeadishError):
    """The space may not hold so much; nothing was stored. ``what`` is turns or bytes.

    It may hold ``limit`` of them and holds ``used``; ``more`` were to be stored.
    """

    def __init__(self, what: str, limit: int, used: int, more: int) -> None:
        self.what, self.limit, self.used, self.more = what, limit, used, more
        limited = f"the space is limited to {limit:,} {what.removesuffix('s') if limit == 1 else what}"
        super().__init__(
            f"{limited}, has {used:,} and was given {more:,} more: nothing was stored; "
            f"'headish spaces limit' shows and changes its limits"
        )


class CursorLost(HeadishError):
    """The space does not hold, any more, what lay where a reader has read up to: it was put back, or it is another one.

    ``cursor`` is the reader's, ``now`` the commit number and the number of the last change that the space has.
    """

    def __init__(self, cursor: str, reason: str, now: tuple[int, int]) -> None:
        self.cursor, self.reason, self.now = cursor, reason, now
        super().__init__(f"the cursor {cursor} is lost: {reason}; read the space anew, without a cursor")


class BookmarkMoved(HeadishError):
    """The bookmark is not where ``expect`` says. ``expected`` and ``actual`` are ids; None: no such bookmark."""

    def __init__(self, name: str, expected: str | None, actual: str | None) -> None:
        self.name, self.expected, self.actual = name, expected, actual
        where = f"it names {actual}" if actual else "there is no such bookmark"
        what = f"no longer names {expected}" if expected else "exists already"
        super().__init__(f"bookmark {name!r} {what}: {where}; read it again")


class BookmarkTaken(HeadishError):
    """The name belongs to another line of turns: moving it there would take it from turn ``turn``."""

    def __init__(self, name: str, turn: str, *, is_copy: bool = False) -> None:
        self.name, self.turn = name, turn
        way_out = (
            "set another name here, and remove this one"
            if is_copy
            else f"continue {name!r} (-c {name}), choose another name, or take it (force=True, --force)"
        )
        where = f"{turn} in the other space" if is_copy else turn
        super().__init__(f"bookmark {name!r} names {where}, which this does not continue: {way_out}")


class SummaryFailed(HeadishError):
    """A model was asked for a summary, and what came is none; nothing was stored."""

    def __init__(self, provider: str, reason: str) -> None:
        self.provider, self.reason = provider, reason
        super().__init__(f"no summary came from {provider}: {reason}; nothing was stored")


class KeyTaken(HeadishError):
    """A key is unique in its space, and another turn or conversation has it.

    ``holder`` is the id of that turn, or the bookmark or first turn of that conversation, which ``what`` then says.
    """

    def __init__(self, key: str, holder: str, what: str = "") -> None:
        self.key, self.holder = key, holder
        advice = "which is another turn: give another key; a changed message takes KEY;2 and says supersedes="
        told = f"belongs to {what} {holder!r}" if what else f"is that of {holder}, {advice}"
        super().__init__(f"the key {key!r} {told}")


class RecordChanged(HeadishError):
    """An object, or what is said of a conversation, has not the revision that ``expect`` names.

    ``expected`` and ``actual`` are revisions; None: there is none.
    """

    def __init__(self, what: str, expected: int | None, actual: int | None) -> None:
        self.what, self.expected, self.actual = what, expected, actual
        found = f"it has revision {actual}" if actual else "it is not there"
        wanted = f"has no longer revision {expected}" if expected else "exists already"
        super().__init__(f"{what} {wanted}: {found}; read it again")


class ServerFailed(HeadishError):
    """The tool server ``name`` does not start, or does not answer a call."""

    def __init__(self, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(f"the tool server {name!r} failed: {reason}")


class CallError(HeadishError):
    """A provider could not be asked, or did not answer. ``transient``: the same call may succeed later.

    None of these shows a key: if a provider echoes one, ``***`` replaces it.
    """

    transient = False

    def __init__(self, provider: str, reason: str) -> None:
        self.provider, self.reason = provider, reason
        super().__init__(f"{provider}: {reason}")


class MissingKey(CallError):
    """No key; ``looked_at`` are the places, in order: environment variables, then the keyring's entries."""

    def __init__(self, provider: str, looked_at: tuple[str, ...]) -> None:
        self.looked_at = looked_at
        super().__init__(provider, f"no key found; looked in {', '.join(looked_at)}")


class InvalidKey(CallError):
    """A key with a character that no HTTP header can hold; ``source`` says where it was found."""

    def __init__(self, provider: str, source: str, reason: str) -> None:
        self.source = source
        super().__init__(provider, f"the key in {source} cannot be sent: {reason}")


class NoCredentials(CallError):
    """The credentials of a cloud are missing, have run out or cannot be renewed; ``advice`` says what to do."""

    def __init__(self, provider: str, cloud: str, reason: str, advice: str) -> None:
        self.cloud, self.advice = cloud, advice
        super().__init__(provider, f"no credentials for {cloud}: {reason}; {advice}")


class ClockSkewed(CallError):
    """A signature whose time the cloud does not accept. ``behind_seconds`` is how far this machine's clock is behind
    the server's (negative: ahead), or None where the server's time is unknown."""

    def __init__(self, provider: str, cloud: str, behind_seconds: int | None) -> None:
        self.cloud, self.behind_seconds = cloud, behind_seconds
        off = "is wrong"
        if behind_seconds is not None:
            off = f"is {abs(behind_seconds):,} s {'behind' if behind_seconds > 0 else 'ahead of'} the server's"
        super().__init__(provider, f"{cloud} refuses the signature: the clock of this machine {off}; set the clock")


class UncertainBatch(CallError):
    """A batch whose creation was cut off; ``name`` is what the store calls it. The provider may have it or not."""

    def __init__(self, name: str, provider: str, reason: str) -> None:
        self.name = name
        super().__init__(
            provider,
            f"whether {name!r} was created is not known: {reason}; 'headish batch status {name}' looks for it, and"
            f" 'headish batch drop {name}' forgets it",
        )


class Unreachable(CallError):
    """No connection, or it was lost before the answer began; ``address`` is the server's."""

    transient = True

    def __init__(self, provider: str, address: str, reason: str) -> None:
        self.address = address
        super().__init__(provider, f"{address} cannot be reached: {reason}")


class ConnectTimedOut(Unreachable):
    """No connection within ``limit_seconds``. The call is tried again, since nobody has seen it."""

    def __init__(self, provider: str, address: str, limit_seconds: float) -> None:
        self.limit_seconds = limit_seconds
        super().__init__(provider, address, f"no connection within {limit_seconds:g} s")


class TimedOut(CallError):
    """The time allowed, ``limit_seconds``, passed. What arrived before is kept. The class says which time."""

    def __init__(self, provider: str, limit_seconds: float, reason: str) -> None:
        self.limit_seconds = limit_seconds
        super().__init__(provider, f"{reason} within {limit_seconds:g} s")


class FirstByteTimedOut(TimedOut):
    """No byte of an answer came in time: ``Timeouts.first_byte_seconds``."""


class SilenceTimedOut(TimedOut):
    """An answer began, and no further byte came in time: ``Timeouts.silence_seconds``."""


class CallTimedOut(TimedOut):
    """The whole call took too long, its retries included: ``Timeouts.total_seconds``."""


class CallCancelled(CallError):
    """The call was ended from another thread or task. What arrived before is kept."""


class CallRefused(CallError):
    """An error status, with the provider's own message. ``retry_after_seconds`` is the wait it asks for, or None."""

    def __init__(
        self,
        provider: str,
        status: int,
        message: str,
        retry_after_seconds: float | None = None,
        *,
        transient: bool = False,
    ) -> None:
        self.status, self.message, self.retry_after_seconds = status, message, retry_after_seconds
        self.transient = transient
        hint = "" if retry_after_seconds is None else f" (it asks to wait {retry_after_seconds:g} s)"
        super().__init__(provider, f"status {status}: {message}{hint}")


class Redirected(CallError):
    """A redirect. It is never followed, because the key and the conversation would go with it."""

    def __init__(self, provider: str, status: int, location: str) -> None:
        self.status, self.location = status, location
        where = location or "nowhere"
        super().__init__(provider, f"status {status} redirects to {where}; redirects are not followed")


class UnreadableAnswer(CallError):
    """An answer that headish does not read, because of its content type, its encoding or its size."""


class Interrupted(CallError):
    """The connection was lost in the middle of the answer. What arrived before is kept."""


class Unrepresentable(HeadishError):
    """The outside format cannot carry this.

    ``drop`` is the word that gives it up, None where no word does. ``more`` are further losses of the same text, and
    ``drops`` the words for all of them; ``reason`` is the sentence without the advice.
    """

    code = "E-EMIT-UNREPRESENTABLE"

    def __init__(
        self,
        target: str,
        what: str,
        *,
        turn: str | None = None,
        drop: str | None = None,
        more: Sequence[Unrepresentable] = (),
    ) -> None:
        self.target, self.what, self.turn, self.drop, self.more = target, what, turn, drop, tuple(more)
        self.drops = tuple(dict.fromkeys(loss.drop for loss in (self, *more) if loss.drop))
        losses = [f"{loss.what} (turn {loss.turn})" if loss.turn else loss.what for loss in (self, *more)]
        self.reason = f"{target} cannot carry {', '.join(losses)}"
        super().__init__(self.advise(f"drop={_as_argument(self.drops)}"))

    def advise(self, words: str) -> str:
        """The whole sentence; ``words`` is how the caller spells ``drops``."""
        what = "give it up with" if len(self.drops) == 1 else "give them up with"
        return f"{self.reason}; {what} {words}" if self.drops else self.reason


def _as_argument(words: Sequence[str]) -> str:
    listed = ", ".join(f'"{word}"' for word in words)
    return listed if len(words) == 1 else f"[{listed}]"


class HeaderValue(Unrepresentable):
    """A value that would break out of the format's message header."""

    code = "E-EMIT-HEADER-VALUE"


class Unmappable(Unrepresentable):
    """API JSON that cannot carry this transcript so that it comes back the same."""

    code = "E-MAP-UNREPRESENTABLE"


class ConversionLoss(Unrepresentable):
    """A conversion that would not come back the same; ``drop`` may give up what prevents it."""

    code = "E-CONVERT-LOSS"


class Unsupported(Unrepresentable):
    """A provider that cannot take this."""

    def __init__(self, provider: str, what: str, *, turn: str | None = None) -> None:
        self.provider = provider
        super().__init__(provider, what, turn=turn)


class DatabaseError(HeadishError):
    """The database cannot do it; ``target`` says which one, without its password."""

    def __init__(self, target: str, reason: str) -> None:
        self.target, self.reason = target, reason
        super().__init__(f"{target}: {reason}")


class UnknownDatabase(DatabaseError):
    """No database is there, and headish was not to create one."""


class UnknownSpace(UnknownDatabase):
    """The database has no such space, and headish was not to create it."""

    def __init__(self, target: str, space: str) -> None:
        self.space = space
        super().__init__(target, f"it has no space {space!r}")


class SpaceRestoring(DatabaseError):
    """The space is being restored, or a restore of it was cut off: nobody may read what is not whole."""

    def __init__(self, target: str, space: str) -> None:
        self.space = space
        super().__init__(
            target, f"the space {space!r} is being restored; if no restore runs, one was cut off: restore it again"
        )


class NotADatabase(DatabaseError):
    """Something else is there."""


class DatabaseTooNew(DatabaseError):
    """Written by a newer headish; it was left untouched."""


class DatabaseTooOld(DatabaseError):
    """Written by an older headish, and upgraded only on request."""


class DatabaseLocked(DatabaseError):
    """Another process held the database for longer than the time-out."""


class DatabaseReadOnly(DatabaseError):
    """The database cannot be written."""


class ReadOnly(DatabaseReadOnly):
    """A verb that writes, of a database that was opened read-only: asked for, or the file cannot be written.

    Raised before any statement.
    """


class RoleMissing(DatabaseReadOnly):
    """The login has not the role that this takes in a secured database; nothing was stored. ``role`` names it."""

    def __init__(self, target: str, role: str, told: str = "") -> None:
        self.role = role
        super().__init__(target, f"this takes the role {role}{told or ', which this login has not'}")


class NotIsolated(DatabaseError):
    """Nothing keeps the spaces of the database apart, or nothing that holds this login."""


class NotEntered(DatabaseError):
    """The login may not enter the space any more, or the database was secured since it was opened."""

    def __init__(self, target: str) -> None:
        super().__init__(
            target,
            "no space was entered that is open to this login; if the database was secured just now, open it anew",
        )


class DatabaseFull(DatabaseError):
    """No space is left; the transaction was rolled back."""


class DatabaseUnavailable(DatabaseError):
    """The server or file cannot be reached."""


class DatabaseCorrupt(DatabaseError):
    """The file itself is damaged."""


class CannotIndex(DatabaseError):
    """SQLite was built without FTS5: searches read the turns, and find the same."""

    def __init__(self, target: str) -> None:
        super().__init__(
            target, "its SQLite was built without FTS5, so it keeps no search index; searches read every turn"
        )


class CorruptRecord(DatabaseError):
    """Stored bytes that do not decode, or that disagree with their address: a turn's, a pointer's, a stream's."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(what, reason + "; 'headish verify' lists everything that disagrees")


class CorruptTurn(CorruptRecord):
    """Stored bytes of a turn that do not decode, or that disagree with their address; ``turn`` names it."""

    def __init__(self, turn: str, reason: str) -> None:
        self.turn = turn
        super().__init__(f"turn {turn}", reason)


class DatabaseTimedOut(DatabaseError):
    """A time limit of the server (statement_timeout, lock_timeout) ended the statement; nothing was stored."""


class NotReplicated(DatabaseError):
    """The database is not as far as a cursor says, and did not get there within the time allowed.

    ``cursor`` is what was waited for, ``now`` the commit number and the number of the last change that are there.
    """

    def __init__(self, target: str, cursor: str, now: tuple[int, int], seconds: float) -> None:
        self.cursor, self.now, self.seconds = cursor, now, seconds
        super().__init__(target, f"after {seconds:g} s it is at {now[0]}/{now[1]}, and not yet at the cursor {cursor}")


class DatabaseReplaced(DatabaseError):
    """The file was removed or replaced while it was open, or written while it was read without locks; nothing was
    stored."""


class OutcomeUnknown(DatabaseError):
    """The connection was lost during the commit, and nothing could be asked since.

    ``ids`` are the turns that the call would have stored, in order: all of them are stored, or none.
    """

    ids: tuple[str, ...] = ()
