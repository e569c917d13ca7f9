"""``HeadishConversationStore``: Pydantic AI's conversations as turns that everything else of headish can read."""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord, ConversationStore

from headish.adapters.hiding import check_erase, erases
from headish.adapters.holding import DatabaseHold, Db, Scoped
from headish.aio import finish
from headish.integrations.pydantic_ai import storing


class HeadishConversationStore(ConversationStore, Scoped):
    """A durable ``ConversationStore`` of Pydantic AI. A context manager.

    Each message is a turn, and the bookmark of the conversation is ``integrations.safe_name`` of its id, so ``headish
    log`` shows the conversation, and ``branch`` and ``fork`` are branches.

    - ``db``: a path, a URL, ``":memory:"`` or an open ``Database``.
    - ``erase``: with False, ``delete`` leaves the messages in the database. Otherwise it erases those that no other
      conversation has and that no branch or bookmark leads to.

    A save compares and replaces in one transaction, so its check of the revision holds across processes. Safe for
    several loops and threads. When a task learns that its call was cancelled, the call has ended.
    Raises: AdapterClosed (a RuntimeError) after ``close``.
    """

    def __init__(self, db: Db, *, erase: bool | None = None, space: str = "default") -> None:
        self._erase = check_erase(erase)
        self._held = DatabaseHold(db, "the conversation store", space)

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """The record of a conversation; None if there is none. If somebody moved its bookmark, as an edit in headish
        does, the record's head follows. Cost: three statements."""
        return await finish(self._find_one, conversation_id)

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        """The records, the one saved last first. Cost: looks at every record of the space."""
        return await finish(self._list_all, scope, limit)

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Store a record and its new entries, all or nothing. Cost: one transaction.

        Raises: ConversationConflict; TooLarge.
        """
        await finish(self._put_one, record, tuple(new_entries), expected_revision)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Delete a record, and erase the entries that only it has. Their bytes leave a SQLite file with
        ``Database.gc``.
        Raises: ConversationConflict."""
        await finish(self._take_away, conversation_id, expected_revision)

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """The entry with an id. Raises: KeyError if there is none, or if it was erased."""
        return (await finish(self._walk_back, entry_id, 1))[-1]

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """The entries that lead to ``head_id``, or the last ``limit`` of them. Cost: a few statements, however many
        there are.

        Raises: KeyError if one is missing or was erased.
        """
        if head_id is None or limit == 0:
            return []
        return await finish(self._walk_back, head_id, limit)

    async def begin(self, conversation_id: str, headish: str, *, scope: str | None = None) -> None:
        """Make a conversation that begins with a thread of headish: a branch, an edit, an import. Then ``load`` it.
        Both share its turns, and each continues by itself.

        Raises: ConversationConflict if the conversation exists; UnknownTurn, Ambiguous, InvalidHeadish.
        """
        await finish(self._begin, conversation_id, headish, scope)

    def close(self) -> None:
        """Release the database. A second call does nothing."""
        self._held.close()

    # These run in a thread of a pool.

    def _find_one(self, id: str) -> ConversationRecord | None:
        with self._held.use() as store:
            stored = store.read(lambda read: storing.find_record(read, id))
        return None if stored is None else stored.record

    def _list_all(self, scope: str | None, limit: int | None) -> list[ConversationRecord]:
        with self._held.use() as store:
            records = store.read(storing.all_records)
        fitting = [each.record for each in records if scope is None or each.record.scope == scope]
        return sorted(fitting, key=lambda record: record.updated_at, reverse=True)[:limit]

    def _put_one(self, record: ConversationRecord, entries: Sequence[ConversationEntry], expected: str | None) -> None:
        with self._held.use() as store:
            # Before the transaction, so that other writers do not wait for the encoding.
            drafts = [(entry, storing.make_entry_draft(entry, store.payload_limit_bytes)) for entry in entries]
            store.write(lambda write: storing.write_record(write, record, drafts, expected))

    def _begin(self, id: str, headish: str, scope: str | None) -> None:
        with self._held.use() as store:
            store.write(lambda write: storing.begin_record(write, id, headish, scope))

    def _take_away(self, id: str, expected: str) -> None:
        is_final = erases(self._erase, "HeadishConversationStore", "delete", deletes=True)
        with self._held.use() as store:
            store.write(lambda write: storing.delete_record(write, id, expected, is_final=is_final))

    def _walk_back(self, head: str, limit: int | None) -> list[ConversationEntry]:
        with self._held.use() as store:
            return store.read(lambda read: storing.read_history(read, head, limit))
