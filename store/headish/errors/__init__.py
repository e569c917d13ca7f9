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
    │   ├── UnknownCall           no call of that id (a KeyError too)
    │   ├── UnknownObject         no object of that kind and key
    │   ├── UnknownBatch          no batch of that name
    │   ├── UnknownToken          no token of that label in the space
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
    │   ├── InvalidBundle         a bundle that is none, was altered or cut off, or holds what no store takes
    │   │   ├── NotADevice        something at a remote that no device with its key has written
    │   │   └── NotSigned         a bundle that no listed signer has signed, where that is required
    │   ├── ForeignConflict       a turn that arrived, and that is here with another seal
    │   ├── MissingParents        a bundle that continues turns which are not here
    │   ├── SecretsFound          what looks like a key, in turns that were to leave this machine
    │   ├── UnknownRemote         no remote of that name (a KeyError too)
    │   ├── RemoteTaken           a name of another remote, or a place that is used in another way
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
    ├── TokenTaken            a token of the space has that label
    ├── RightMissing          a server's caller has other rights in the space, and not this one
    ├── QuotaExceeded         the space may not hold more turns or bytes
    ├── CursorLost            the space no longer holds what a reader has read: read it anew
    ├── BookmarkMoved             the bookmark is not where ``expect`` says: read again, try again
    ├── BookmarkTaken         the name is in use elsewhere: continue it, choose another, or force it
    ├── KeyTaken              the key is that of another turn or conversation
    ├── SummaryFailed             a model was asked for a summary, and none came
    ├── RecordChanged             an object or a conversation has another revision: read again, try again
    ├── BrokenExtension           a reader or adapter of another package that does not load, or fails
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
    ├── RemoteUnavailable         a remote cannot be reached, or refuses
    ├── RemoteRefused             the store at the other end of a live remote refused something
    ├── RemoteRolledBack          a remote is not as far as it was: somebody put an old state there
    ├── NoRemoteKey               this machine does not have the key of an encrypted remote
    ├── SigningFailed             ssh-keygen did not sign, or cannot be asked
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

The facts are attributes. ``code`` is the specification's word for the error, if it has one.

A value of the wrong Python type is an InputError, too. Only a call that does not fit the signature (an unknown keyword,
a missing argument) is Python's own TypeError.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

# In the order of the tree above.
from headish.errors.base import *
from headish.errors.naming import *
from headish.errors.invalid import *
from headish.errors.state import *
from headish.errors.database import *

if TYPE_CHECKING:
    from headish.errors.beside import *
    from headish.errors.calls import *
    from headish.errors.formats import *
    from headish.errors.outside import *
    from headish.errors.records import *
    from headish.errors.remotes import *

_LATE = ("formats", "records", "outside", "beside", "calls", "remotes")
"""The modules that are loaded on demand: for an unknown name in this order, up to the first that has it; for
``import *`` all of them. A command that reads or adds a turn raises none of their errors, and making the classes would
take a thirtieth of its start."""


def _name_as_one(kinds: Iterable[object]) -> None:
    """Set the module of error classes to this package, where programs import them from: tracebacks, pickles and the
    reference name it."""
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, HeadishError):
            kind.__module__ = __name__


def _load(late: str) -> None:
    members = vars(import_module(f"{__name__}.{late}"))
    kinds = {name: each for name, each in members.items() if isinstance(each, type)}
    _name_as_one(kinds.values())
    globals().update(kinds)


def __getattr__(name: str) -> Any:
    if name == "__all__":  # which ``import *`` asks for
        return [each for each in __dir__() if not each.startswith("_")]
    # Python and its tools ask modules for private names, and no error has one.
    for late in () if name.startswith("_") else _LATE:
        _load(late)
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    for late in _LATE:
        _load(late)
    return list(globals())


_name_as_one(list(globals().values()))
