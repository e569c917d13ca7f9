"""The caller's fault: a name of something beside the turns that names nothing here, and a name that is taken.

Mend the call: give another name, or make what it should name.
"""

from __future__ import annotations

from headish.errors.base import InputError, shown


class UnknownPointer(InputError, KeyError):
    """No provider pointer of this name, or a request that names no provider: then the name is None."""

    def __init__(self, name: str | None, hint: str = "") -> None:
        self.name = name
        if name is None:
            super().__init__(
                "no provider is named: give one (to=, --to) or a provider pointer (ptr=, -p), name a pointer in"
                " the thread (provider_ptr=, headish add -p), or set a default ('headish ptr set NAME PROVIDER/MODEL'"
                " and 'headish ptr default NAME')"
            )
        else:
            super().__init__(
                f"no provider pointer is named {name!r} in this space: 'headish ptr set {name} PROVIDER/MODEL' makes it"
                + (f"; {hint}" if hint else "")
            )


class UnknownServer(InputError, KeyError):
    """The tools of this server are not stored."""

    def __init__(self, server: str, hint: str = "") -> None:
        self.server = server
        more = f"; {hint}" if hint else ""
        super().__init__(
            f"no tools are stored for the server {server!r}: 'headish tools set {server} FILE' adds them{more}"
        )


class UnknownStream(InputError):
    """No stream of this id in this space, or it ended long ago."""

    def __init__(self, stream: str) -> None:
        self.stream = stream
        super().__init__(f"no stream {stream!r} is known in this space")


class UnknownCall(InputError, KeyError):
    """No call of this id passed the gateway into this space, or what it said was erased."""

    def __init__(self, call: str) -> None:
        self.call = call
        super().__init__(f"no call {call!r} is known in this space")


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


class UnknownToken(InputError, KeyError):
    """No token of this space has this label."""

    def __init__(self, label: str, hint: str = "") -> None:
        self.label = label
        super().__init__(f"no token of this space is called {shown(label)}" + (f": {hint}" if hint else ""))


class TurnTaken(InputError):
    """A turn cannot be copied: the other space has its id with another seal."""

    def __init__(self, turn: str, how: str) -> None:
        self.turn = turn
        super().__init__(f"turn {turn} cannot be copied: the other space has it already {how}")


class FileTaken(InputError):
    """The place of a new file is taken; nothing is overwritten."""

    def __init__(self, file: str) -> None:
        self.file = file
        super().__init__(f"{file} exists already: choose another name, or move it away")


class SpaceTaken(InputError):
    """A space of this name exists already."""

    def __init__(self, space: str) -> None:
        self.space = space
        super().__init__(f"a space {space!r} exists already: choose another name")


class SpaceNotEmpty(InputError):
    """Only a space that never held a turn, a pointer, tools or an object can be removed, or restored into."""

    def __init__(self, space: str, way: str = "") -> None:
        self.space = space
        way = way or "to erase them all, use spaces.erase (headish spaces rm --erase --reason TEXT)"
        super().__init__(f"the space {space!r} is not empty: it holds turns, pointers, tools or objects; {way}")
