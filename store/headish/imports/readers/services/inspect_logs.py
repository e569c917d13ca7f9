"""Logs of Inspect AI: ``.eval`` (a ZIP with a member for each sample), or ``.json``.

A sample of an epoch is a conversation, and its messages have the bookmark. The model was asked with a whole list of
messages each time: what those lists have in common is one path; sub-agents, retries and compactions are branches. A log
keeps long texts apart; they are put back where they belong. Scores, target and metadata are kept with the conversation;
other events are left out.

Keys: ``inspect:EVAL/SAMPLE/EPOCH:MESSAGE``.

Source: UKGovernmentBEIS/inspect_ai 0.3.285, read and run 2026-11-22; logs of 2024 as its own reader takes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from headish.errors import InvalidImport
from headish.imports.archives import ZIP, Archive
from headish.imports.cleaning import NotJson, decode_noted
from headish.imports.reader import ImportSource, SourceConversation
from headish.imports.readers.services.inspect_samples import InspectSample
from headish.imports.readers.shared.json_records import read_values
from headish.imports.unpacking import peek
from headish.values import shapes
from headish.values.limits import IMPORT_LINE_BYTES

FORMAT = "inspect"
_SAMPLE = re.compile(r"samples/[^/]+\.json")
# The second alone is in the log of a run that has not ended.
_HEADERS = ("header.json", "_journal/start.json")
_KEPT = ("target", "scores", "metadata", "error", "limit", "uuid", "choices", "files")


def read_conversations(given: ImportSource) -> Iterator[SourceConversation]:
    """Yield the samples of a log, one at a time.

    Raises: InvalidImport for an archive or JSON that cannot be read. A log in JSON is held in memory as a whole.
    """
    is_archive = peek(given.file, len(ZIP)) == ZIP
    for where, header, sample in _of_archive(given) if is_archive else _of_json(given):
        if not isinstance(sample, Mapping) or not isinstance(sample.get("messages"), list):
            given.notes.break_off(where, "a sample is an object with `messages`")
            continue
        yield _conversation(given, where, header, sample)


def _of_archive(given: ImportSource) -> Iterator[tuple[str, Mapping[str, Any], Any]]:
    archive = Archive(given.file, given.name)
    if not any(name in archive.members for name in _HEADERS):
        raise InvalidImport(given.name, None, "it is not a log of Inspect AI: no header.json is in this archive")
    header = shapes.record(next((_member(given, archive, name) for name in _HEADERS if name in archive.members), None))
    for member in archive.members:
        if _SAMPLE.fullmatch(member):
            sample = _member(given, archive, member)
            if sample is not None:
                yield member, header, sample


def _member(given: ImportSource, archive: Archive, member: str) -> Any:
    """Return the value of a member; None if it cannot be read, which is noted as broken."""
    try:
        with archive.open_zstd(member) as file:
            data = file.read(IMPORT_LINE_BYTES + 1)
        if len(data) > IMPORT_LINE_BYTES:
            raise NotJson(f"it is longer than {IMPORT_LINE_BYTES:,} bytes")
        return decode_noted(data, given.notes, member)
    except (NotJson, InvalidImport) as error:
        if isinstance(error, InvalidImport) and ("the extra" in error.reason or "its archive" in error.reason):
            raise  # no further member can be unpacked either: the extra is missing, or the allowance is used up
        given.notes.break_off(member, str(error))
        return None


def _of_json(given: ImportSource) -> Iterator[tuple[str, Mapping[str, Any], Any]]:
    for where, log in _logs(given):
        samples = shapes.record(log).get("samples")
        if not isinstance(samples, list):
            given.notes.break_off(where, "a log is an object with `eval` and `samples`")
            continue
        for number, sample in enumerate(samples, 1):
            yield f"sample {number}", log, sample


def _logs(given: ImportSource) -> Iterator[tuple[str, Any]]:
    """Yield the logs. Raises: InvalidImport; for a log that is too large, with the command that makes it readable."""
    try:
        yield from read_values(given)
    except InvalidImport as error:
        if "longer than" not in error.reason:
            raise
        limit = f"a log as one JSON value may have {IMPORT_LINE_BYTES:,} bytes"
        reason = f"{limit}; write it as .eval, which is read sample by sample: inspect log convert LOG --to eval"
        raise InvalidImport(given.name, None, f"{reason} --output-dir FOLDER") from None


def _conversation(
    given: ImportSource, where: str, log: Mapping[str, Any], record: Mapping[str, Any]
) -> SourceConversation:
    facts = shapes.record(log.get("eval"))
    task, model = facts.get("task"), facts.get("model")
    task = task if isinstance(task, str) and task else "eval"
    id, epoch = record.get("id"), record.get("epoch", 1)
    run = shapes.first(facts, ("eval_id", "run_id", "task_id", "created"), str)
    sample = InspectSample(record, f"{run or ''}/{id}/{epoch}", where, given)
    tip = sample.read()
    kept = {key: record[key] for key in _KEPT if record.get(key) not in (None, [], {}, "")}
    kept |= {key: facts[key] for key in ("task", "model", "created", "run_id") if facts.get(key)}
    return SourceConversation(
        format=FORMAT, id=sample.owner, title=f"{task} {id}" + (f" epoch {epoch}" if epoch != 1 else ""), tip=tip,
        tags=[FORMAT, task, *([model] if isinstance(model, str) else [])], app={FORMAT: {**kept, "epoch": epoch}},
        messages=sample.paths.nodes,
    )  # fmt: skip
