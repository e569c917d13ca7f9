"""Usage: the tokens of answers. Each answer counts once, however many branches share it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from headish.database.query import Connection, Query
from headish.errors import InvalidArgument, shown
from headish.history.reading.decode import decode_mapping, read_mapping
from headish.history.reading.walk import walk_backwards
from headish.providers.shared.values import Usage
from headish.rows.keys import turns_by_ids
from headish.rows.objects import list_objects
from headish.rows.turns import StoredTurn
from headish.values.ids import TurnId
from headish.values.names import stored_name
from headish.values.places import Place
from headish.values.results.objects import USAGE
from headish.values.turns import reply_of, said_at_of

PAGE_TURNS = 1000


class CountedReply(NamedTuple):
    """The parts of a turn that counting its tokens needs."""

    id: TurnId
    head: bytes | None
    system: Mapping[str, Any]

    @property
    def reply(self) -> Mapping[str, Any]:
        """The stored facts of the answer; empty if the turn is not an answer."""
        return reply_of(self.system)

    @property
    def is_paid(self) -> bool:
        """Whether a provider gave this answer. An edited answer or a copy made by an edit was paid for elsewhere."""
        return bool(self.reply) and not self.reply.get("edited") and "copy_of" not in self.system


class Count(Struct, frozen=True):
    """The tokens of some replies. ``key`` is their common model, day …; None if they have none.

    ``silent`` counts the ``replies`` whose provider reported no tokens.
    """

    key: str | None
    replies: int
    silent: int
    usage: Usage

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the key, the numbers of replies, and every kind of token, None if no reply reported any.
        ``cache_creation_1h_input_tokens``, ``input_audio_tokens`` and ``output_audio_tokens``, which are parts of
        others, are left out if they are zero."""
        unknown = None if self.silent == self.replies else 0
        counts = {name: getattr(self.usage, name) or unknown for name in Usage.__struct_fields__}
        counts = {name: count for name, count in counts.items() if count or name not in _RARE}
        return {"key": self.key, "replies": self.replies, "silent": self.silent, **counts}


def read_replies(connection: Connection, space: int, places: Sequence[Place]) -> list[CountedReply]:
    """The answers on the way to the places, each once: incomplete ones, the others, and those whose usage objects
    report later."""
    answers: list[CountedReply] = []
    ids: set[TurnId] = set()
    for each in walk_backwards(connection, space, list(dict.fromkeys(places))):
        ids.add(each.id)
        if each.system is not None:
            answers.append(_counted(each.id, each.head, each.system))
    later: list[CountedReply] = []
    after: bytes | None = b""
    while after is not None:
        page, after = read_later_page(connection, space, after, ids)
        later += page
    paid = [answer for answer in reversed(answers) if answer.is_paid]
    # ``each_once`` drops a half when its whole comes; the walk has them in the order of the places.
    return [*sorted(paid, key=lambda answer: not answer.reply.get("incomplete")), *later]


KEPT_AFTER = Query(
    "turns after a commit number that keep something beside what they say",
    """
    SELECT seq, id, head, system FROM turn WHERE space = :space AND seq > :seq AND system IS NOT NULL ORDER BY seq
    LIMIT :limit
    """,
)


def read_page(connection: Connection, space: int, seq: int) -> tuple[list[CountedReply], int | None]:
    """A page of the space's answers in commit order, and where the next one begins."""
    rows = connection.rows(KEPT_AFTER, space=space, seq=seq, limit=PAGE_TURNS)
    answers = [answer for _, *row in rows if (answer := _counted(*row)).is_paid]
    return answers, rows[-1][0] if len(rows) == PAGE_TURNS else None


def read_later_page(
    connection: Connection, space: int, after: bytes, ids: Collection[TurnId] | None = None
) -> tuple[list[CountedReply], bytes | None]:
    """A page of the answers whose usage an object reports, and where the next page begins; pages go by turn id. ``ids``
    limits the answers. One that has usage of its own is left out, so that it does not count twice.

    Some programs learn the usage only after a run of several answers, when the turns cannot change any more.
    """
    rows = list_objects(connection, space, USAGE, prefix=b"", after=after, limit=PAGE_TURNS)
    # A damaged key matches no turn, and must not end the count.
    reports = {TurnId(bytes(row[1]).decode(errors="replace")): row[3] for row in rows}
    turns = turns_by_ids(connection, space, [each for each in reports if ids is None or each in ids])
    answers = [_told_later(turn, reports[turn.id]) for turn in turns.values()]
    counted = [each for each in answers if each is not None]
    return counted, bytes(rows[-1][1]) if len(rows) == PAGE_TURNS else None


def _told_later(turn: StoredTurn, data: bytes) -> CountedReply | None:
    system, reply = read_mapping(turn, "system"), decode_mapping(data, turn.id, "usage")
    if usage_of(reply_of(system)) is not None:
        return None
    return CountedReply(turn.id, turn.head, {**system, "reply": reply})


def count_usage(replies: Iterable[CountedReply], by: str | None) -> list[Count]:
    """Add up the tokens of replies by key, in the order of the keys, None last.

    A reply that was recovered in part and stored whole later counts once.
    Raises: InvalidArgument if ``by`` is neither a key of ``KEYS`` nor None, which counts all together.
    """
    if by is not None and by not in KEYS:
        raise InvalidArgument(f"usage is counted by {', '.join(KEYS)}, not by {shown(by)}")
    tallies: dict[str | None, UsageTally] = {} if by else {None: UsageTally()}
    for reply in each_once(replies):
        tallies.setdefault(KEYS[by](reply) if by else None, UsageTally()).add(reply.reply)
    return [tallies[key].count(key) for key in sorted(tallies, key=lambda key: (key is None, key or ""))]


def each_once(replies: Iterable[CountedReply]) -> Iterator[CountedReply]:
    """The replies without recovered halves of others. Keeps only the incomplete ones in memory, which are few."""
    halves: dict[tuple[str, str], CountedReply] = {}
    for each in replies:
        key = (str(each.reply.get("provider")), str(each.reply.get("response_id")))
        # A half has the response id of the whole. Without an id nothing tells the two apart from two replies.
        if each.reply.get("incomplete") and each.reply.get("response_id"):
            halves[key] = each
            continue
        halves.pop(key, None)
        yield each
    yield from halves.values()


class UsageTally:
    """Adds up tokens in constant memory: one number for each kind."""

    def __init__(self) -> None:
        self._replies = self._silent = 0
        self._totals: dict[str, int | None] = dict.fromkeys(Usage.__struct_fields__)

    def add(self, reply: Mapping[str, Any]) -> Usage | None:
        """Count an answer, and return the tokens that it reports, None if it reports none."""
        usage = usage_of(reply)
        self._replies += 1
        self._silent += usage is None
        for name, total in self._totals.items():
            tokens = None if usage is None else getattr(usage, name)
            # None stays None until a reply reports the kind: unknown is not zero.
            self._totals[name] = total if tokens is None else (total or 0) + tokens
        return usage

    def count(self, key: str | None) -> Count:
        """The sums so far."""
        return Count(key, self._replies, self._silent, Usage(**self._totals))


def _counted(id: TurnId, head: bytes | None, system: bytes) -> CountedReply:
    return CountedReply(id, head, decode_mapping(system, id, "system"))


def usage_of(reply: Mapping[str, Any]) -> Usage | None:
    """The tokens that a reply reports; None if it reports none, or something else in their place."""
    try:
        return msgspec.convert(reply.get("usage"), Usage | None)
    except msgspec.ValidationError:
        return None


def text_of(value: object) -> str | None:
    """The value if it is text, else None."""
    return value if isinstance(value, str) else None


_RARE = ("cache_creation_1h_input_tokens", "input_audio_tokens", "output_audio_tokens")

KEYS: dict[str, Callable[[CountedReply], str | None]] = {
    "model": lambda answer: text_of(answer.reply.get("model")),
    "provider": lambda answer: text_of(answer.reply.get("provider")),
    "day": lambda answer: said_at_of(answer.system, answer.id).date().isoformat(),
    "bookmark": lambda answer: stored_name(answer.head) if answer.head else None,
}
"""The keys of counts: the model that answered, its provider, the day of the answer (UTC), and the bookmark that the
answer moved."""
