"""``HttpStore``: the verbs of a store, each a request to ``/api/v1``.

It is no store of its own: it binds arguments as the store's own method does, sends them, and reads what comes back into
the values and errors that the store gives. So a test of the store judges the API. What the API does not offer, by the
table's own word, skips the test with that reason.
"""

from __future__ import annotations

import inspect
import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from headish import Store, errors
from headish.errors import HeadishError, TurnErased, UnknownBookmark, UnknownErasure, UnknownPointer, UnknownServer
from headish.providers.pointers import Pointer
from headish.providers.shared.values import Request
from headish.serve.api.fields import LIST_LIMIT
from headish.serve.api.table import ARGUMENTS_NOT_SERVED, NOT_SERVED, VERBS, ApiVerb, BodyForm
from headish.values.blocks import Erased
from headish.values.forking import cached_property
from headish.values.names import ABSENT
from headish.values.turns import Turn
from support.over_http.results import Reader, plain_of
from support.over_http.schemas import problems_of, problems_of_event, statuses_of

API = "/api/v1"
TABLE = {verb.name: verb for verb in VERBS}
PARTS = {name.partition(".")[0] for name in (*TABLE, *NOT_SERVED) if "." in name}


class HttpStore:
    """One space of a served database."""

    def __init__(self, client: httpx.Client, space: str, target: str) -> None:
        """``target`` is where the database is, for what its owner does beside the server."""
        self._client, self.space, self._target = client, space, target
        self._reader = Reader(_OnDemand(self))

    @cached_property
    def _owner(self) -> Store:
        """The store beside the server, for what only the owner of a database does."""
        return Store.open(self._target, space=self.space)

    def __enter__(self) -> HttpStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close what was opened beside the server."""
        if "_owner" in vars(self):
            self._owner.close()

    def __getattr__(self, name: str) -> Any:
        if name in ("_backend", "_number"):  # a test that compares the rows before and after
            return getattr(self._owner, name)
        if name in PARTS:
            return _PARTS.get(name, _Part)(self, name)
        return self._verb(name, getattr(Store, name, None))

    def _verb(self, name: str, method: Any) -> Any:
        if name in NOT_SERVED:
            pytest.skip(f"{name} has no route: it {NOT_SERVED[name]}")
        if name not in TABLE:
            pytest.skip(f"the test looks inside of a store: {name}")
        if isinstance(method, property):
            return self._send(TABLE[name], {})
        signature = inspect.signature(method)

        def call(*args: Any, **kwargs: Any) -> Any:
            given = dict(signature.bind(self, *args, **kwargs).arguments)
            given.pop(next(iter(signature.parameters)))
            for parameter in signature.parameters.values():
                if parameter.kind is parameter.VAR_KEYWORD:
                    given |= given.pop(parameter.name, {})
            return self._send(TABLE[name], given)

        return call

    def _send(self, verb: ApiVerb, given: dict[str, Any]) -> Any:
        method = _method_of(verb)
        defaults = {} if isinstance(method, property) else inspect.signature(method).parameters
        given = {name: value for name, value in given.items()
                 if name not in defaults or value is not defaults[name].default}  # fmt: skip
        headers = {"If-None-Match": "*"} if given.get("expect") is ABSENT else {}
        if headers:
            del given["expect"]
        body = given.pop("document", given.pop("source", None)) if verb.form is BodyForm.BODY else None
        for name in set(given) - set(verb.arguments.__struct_fields__):
            reason = ARGUMENTS_NOT_SERVED.get(f"{verb.name}.{name}", ARGUMENTS_NOT_SERVED.get(name, "is of a model"))
            pytest.skip(f"{verb.name} takes no {name}: it {reason}")
        if isinstance(given.get("content"), bytes):
            pytest.skip("bytes are stored by add_document")
        if verb.form is BodyForm.EVENTS:
            return self._follow(verb, given)
        limit = given.get("limit")
        if limit == 0 or (type(limit) is int and limit > LIST_LIMIT):
            pytest.skip(f"a limit is 1 to {LIST_LIMIT} over HTTP")
        if "limit" in verb.arguments.__struct_fields__ and limit is None:
            return self._pages(verb, given)
        return self._reader(verb.name, self._ask(verb, given, headers, body))

    def _pages(self, verb: ApiVerb, given: dict[str, Any]) -> Any:
        """What has no limit: as much as one request gets."""
        found = self._ask(verb, given | {"limit": LIST_LIMIT}, {}, None)
        if isinstance(found, list) and len(found) == LIST_LIMIT:
            pytest.skip(f"{verb.name} gives at most {LIST_LIMIT} at once over HTTP")
        return self._reader(verb.name, found)

    def _ask(self, verb: ApiVerb, given: dict[str, Any], headers: dict[str, str], body: Any) -> Any:
        space, url = {"space": self.space}, f"{API}{verb.path}"
        if verb.method == "GET":
            answer = self._client.get(url, params=space | _query(given), headers=headers)
        elif verb.form is BodyForm.BODY:
            if not isinstance(body, bytes):
                body = body.read() if hasattr(body, "read") else pytest.skip("a path is the server's own")
            answer = self._client.post(url, params=space | _query(given), content=body, headers=headers)
        else:
            if isinstance(given.get("response"), bytes):
                given["response"] = given["response"].decode()
            sent = {name: _json(value) for name, value in given.items()}
            content = json.dumps(sent, ensure_ascii=True).encode()
            headers = headers | {"Content-Type": "application/json"}
            answer = self._client.post(url, params=space, content=content, headers=headers)
        if answer.status_code >= 400:
            assert str(answer.status_code) in statuses_of(verb.name), (verb.name, answer.text)
            raise error_of(answer.json())
        if verb.form is BodyForm.RAW:
            return answer.content
        found = answer.json()
        assert not (told := problems_of(verb.name, found)), (verb.name, told[:3])
        return found

    def _follow(self, verb: ApiVerb, given: dict[str, Any]) -> Iterator[Any]:
        """The changes of a stream that ends. A test that waits for some would wait for those of other tests, too."""
        if given.get("wait", True):
            pytest.skip("a server's stream does not end")
        answer = self._client.get(f"{API}{verb.path}", params={"space": self.space} | _query(given))
        if answer.status_code >= 400:
            raise error_of(answer.json())
        events = [each for each in answer.text.split("\n\n") if each and not each.startswith(":")]
        told = [dict(line.split(": ", 1) for line in each.split("\n")) for each in events]
        changes = [(each["event"], json.loads(each["data"])) for each in told]
        for kind, data in changes:
            assert not (wrong := problems_of_event(verb.name, kind, data)), (kind, wrong[:3])
        return iter([self._reader.change(kind, data) for kind, data in changes])


def _method_of(verb: ApiVerb) -> Any:
    return getattr(_class_of(verb.part) if verb.part else Store, verb.function)


def _class_of(part: str) -> Any:
    """The class of a part of the store: what its property gives."""
    import typing

    from headish.store.asking import batches, pointers, streams, tools
    from headish.store.keeping import bookmarks, bundles, calls, conversations, erase, objects, remotes

    modules = (batches, pointers, streams, tools, bookmarks, bundles, calls, conversations, erase, objects, remotes)
    known = {name: each for module in modules for name, each in vars(module).items()}
    return typing.get_type_hints(getattr(Store, part).fget, localns=known)["return"]


class _Part:
    """A part of the store."""

    def __init__(self, store: HttpStore, part: str) -> None:
        self._store, self._part = store, part

    def __getattr__(self, name: str) -> Any:
        return self._store._verb(f"{self._part}.{name}", getattr(_class_of(self._part), name, None))


class _Names(_Part, Mapping[str, Any]):
    """A part that is a mapping, of what ``list`` gives."""

    def _all(self) -> dict[str, Any]:
        raise NotImplementedError

    def _unknown(self, name: str) -> HeadishError:
        raise NotImplementedError

    def __getitem__(self, name: str) -> Any:
        found = self._all()
        if name not in found:
            raise self._unknown(name)
        return found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


class _Bookmarks(_Names):
    def _all(self) -> dict[str, Any]:
        return {each.name: each.turn for each in self._store.bookmarks.list()}

    def _unknown(self, name: str) -> HeadishError:
        return UnknownBookmark(name)


class _Pointers(_Names):
    """Addresses and keys are set by the owner of the database, beside the server."""

    def __getattr__(self, name: str) -> Any:
        if name not in ("set", "remove", "set_default"):
            return super().__getattr__(name)

        return getattr(self._store._owner.pointers, name)

    def _all(self) -> dict[str, Pointer]:
        return {each.name: each.pointer for each in self._store.pointers.list()}

    def _unknown(self, name: str) -> HeadishError:
        return UnknownPointer(name)


class _Tools(_Names):
    def _all(self) -> dict[str, Any]:
        found: dict[str, Any] = self._store.tools.list()
        return found

    def _unknown(self, name: str) -> HeadishError:
        return UnknownServer(name)


class _Erasures(_Part):
    def __getitem__(self, number: int) -> Any:
        found = [each for each in self._store.erasures.list() if each.number == number]
        if not found:
            raise UnknownErasure(number)
        return found[0]

    def __len__(self) -> int:
        found: int = self._store._ask(TABLE["erasures.count"], {}, {}, None)
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self._store.erasures.list())


_PARTS: dict[str, type[_Part]] = {
    "erasures": _Erasures,
    "bookmarks": _Bookmarks,
    "pointers": _Pointers,
    "tools": _Tools,
}


class _OnDemand:
    """What a turn reads its content and options with."""

    def __init__(self, store: HttpStore) -> None:
        self._store = store

    def __call__(self, turn: str) -> Any:
        return self._store.options(turn)

    def turn(self, turn: str) -> Turn:
        found: Turn = self._store.get(turn)
        return found

    def blocks(self, turn: str) -> Any:
        try:
            return self._store.blocks(turn)
        except TurnErased:
            (record,) = [each for each in self._store.thread(turn) if each.id == turn]
            assert isinstance(record.content[0], Erased)
            return record.content


def _query(given: dict[str, Any]) -> dict[str, Any]:
    """Arguments as a query says them: ``NAME=`` is an empty list, or no headish at all."""
    return {name: _in_query(name, _json(value)) for name, value in given.items() if value is not None or name in _NONES}


_NONES = {"headish": "", "archived": "null"}
"""What a query says for None, where None says something."""


def _in_query(name: str, plain: Any) -> Any:
    if plain is None:
        return _NONES[name]
    if plain == []:
        return ""
    return str(plain).lower() if isinstance(plain, bool) else plain


def _json(value: Any) -> Any:
    if isinstance(value, Path):
        pytest.skip("a path is the server's own")
    if isinstance(value, Request):
        pytest.skip("a request is a value of the program")
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Iterator | set | frozenset | range):
        value = list(value)
    if isinstance(value, list | tuple):
        return [_json(each) for each in value]
    return {name: _json(each) for name, each in value.items()} if isinstance(value, Mapping) else plain_of(value)


def error_of(problem: Mapping[str, Any]) -> HeadishError:
    """The error that a problem says: its class, its sentence and its facts."""
    kind = getattr(errors, problem["code"])
    made: HeadishError = kind.__new__(kind, problem["detail"])
    made.__dict__.update(problem.get("facts", {}))
    return made
