"""Write the pages of the dialects, and the list of what is refused, from the table and from what the code does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from difflib import unified_diff
from typing import Any

from provider_pages import BLOCKS, EXAMPLES, NOTE, OPTIONS, TEXT, TOOL

from headish.providers import PROVIDERS, lint, prepare_request
from headish.providers.dialects.choosing import OPENAI_LIMIT, describe_dialect
from headish.providers.dialects.table import DIALECTS
from headish.providers.dialects.values import Dialect
from headish.providers.shared.parameters import PARAMETERS
from headish.providers.shared.values import Request

ANSWER = [
    {"type": "thinking", "text": "A height: I look it up.", "provider": "openai"},
    {"type": "tool_use", "id": "call_1", "name": "f", "input": {"a": 1}},
]
THREAD = [
    {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
    {"role": "user", "content": [{"type": "text", "text": "How high is K2?"}]},
    {"role": "assistant", "content": ANSWER},
    {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": [TEXT]}]},
]


def write_dialect(name: str) -> str:
    """Return the text of a dialect's page."""
    dialect = DIALECTS[name]
    parts = [f"# `{name}`: {dialect.title}\n\n", NOTE, f"A pointer speaks it {_chosen(name, dialect)}\n\n"]
    parts += [f"- {_tags(sentence[0].upper() + sentence[1:])}.\n" for sentence in describe_dialect(name)]
    parts += ["\n## A thread with reasoning and a call\n\n", _shown_body(name)]
    parts += [f"\n*{note.what}*\n" for note in _request(name).notes]
    parts += ["\n## Sources\n\n| what it says | page | as of |\n|---|---|---|\n"]
    parts += [f"| {_cell(each.says)} | {each.page} | {each.date} |\n" for each in dialect.sources]
    return "".join(parts)


def _request(dialect: str) -> Request:
    window = {"messages": THREAD, "options": {"params": {"max_tokens": 99}}}
    return prepare_request("openai", window, tools=[TOOL], model="m", dialect=dialect)


def _shown_body(dialect: str) -> str:
    """The body of a request; for other dialects than OpenAI's own, only the differences from that."""
    usual, body = (json.dumps(_request(name).body, indent=1, ensure_ascii=False) for name in ("openai", dialect))
    if dialect == "openai":
        return f"```json\n{body}\n```\n"
    as_usual = "[as `openai` sends it](openai.md#a-thread-with-reasoning-and-a-call)"
    if body == usual:
        return f"The body is {as_usual}.\n"
    lines = list(unified_diff(usual.splitlines(), body.splitlines(), lineterm="", n=1))[2:]
    changes = "\n".join("…" if line.startswith("@@") else line for line in lines)
    return f"The body is {as_usual}, except:\n\n```diff\n{changes}\n```\n"


def _tags(sentence: str) -> str:
    """Mark tags as code: otherwise the page takes them for HTML and shows nothing."""
    return re.sub(r"(<\w+>)", r"`\1`", sentence)


def write_dialects() -> str:
    """Return the text of the page with one table of all dialects."""
    parts = ["# Dialects\n\n", NOTE]
    parts += ["How servers that speak like OpenAI's Chat Completions differ from it. A pointer's host chooses the ",
              "dialect; `headish ptr set --dialect NAME` overrides it, `headish ptr list` and `ptr show` say which it ",
              "is and why. See [how to use any compatible server](../../../how-to/use-any-compatible-server.md).",
              "\n\n",
              "Signed or encrypted reasoning goes back to servers of the dialect that gave it, and to no other. A ",
              "server that is neither named nor a known host gets back all that was said: it may be a gateway.",
              "\n\n"]  # fmt: skip
    parts += ["| | hosts | reasoning goes back as | read from tags | limit | refused | left out |\n"]
    parts += ["|---|---|---|---|---|---|---|\n"]
    for name, dialect in DIALECTS.items():
        hosts = ", ".join(f"`{_host(host)}`" for host in dialect.hosts) or "by name"
        reasoning = "`reasoning_details`, else " if dialect.details else ""
        reasoning += f"`{dialect.reasoning}`" if dialect.reasoning else "nothing"
        cells = [f"[`{name}`]({name}.md)", hosts, reasoning, ", ".join(f"`<{tag}>`" for tag in dialect.tags)]
        cells += [f"`{dialect.places.get('max_tokens', OPENAI_LIMIT)}`"]
        cells += [", ".join(f"`{each}`" for each in told) for told in (dialect.refused, dialect.ignored)]
        parts.append("| " + " | ".join(cells) + " |\n")
    return "".join(parts)


def write_refusals() -> str:
    """Return the text of the page that lists what is refused before anything is sent, by provider and dialect."""
    parts = ["# What is refused, and why\n\n", NOTE]
    parts += ["`Unsupported` names it before anything is sent. headish sends parameters under the provider's own name ",
              "(`params.openai.…`) as they are.\n\n",
              "| what | why | in requests to |\n|---|---|---|\n"]  # fmt: skip
    whose: dict[tuple[str, str], list[str]] = {}
    for provider in PROVIDERS:
        for what, why in _refused(provider):
            reason = why.removeprefix(f"{what.strip('`')}: ")
            whose.setdefault((what, _cell(reason)), []).append(f"[`{provider}`]({provider}.md)")
    for name, dialect in DIALECTS.items():
        for feature, why in dialect.refused.items():
            # headish adds this option itself, and leaves it out for such a server: no request is refused.
            if feature != "stream_options":
                place = f"[`openai`, dialect `{name}`](dialects/{name}.md)"
                whose.setdefault((f"`{feature}`", _cell(why)), []).append(place)
    everywhere = [f"[`{provider}`]({provider}.md)" for provider in PROVIDERS]
    rows: dict[tuple[str, str], list[str]] = {}
    for (what, why), listed in whose.items():
        places = "all of them" if listed == everywhere else ", ".join(listed)
        rows.setdefault((why, places), []).append(what)
    return "".join(
        [*parts, *(f"| {'; '.join(refused)} | {why} | {places} |\n" for (why, places), refused in rows.items())]
    )


def _refused(provider: str) -> Iterator[tuple[str, str]]:
    for what, messages in BLOCKS.items():
        # The blocks are the same for all providers; a provider's own are marked OWN, at any depth.
        own = json.loads(json.dumps(messages).replace('"OWN"', json.dumps(provider)))
        yield from _found(provider, what, {"messages": own}, [TOOL])
    asked = [{"role": "user", "content": [TEXT]}]
    for what, (options, tools) in OPTIONS.items():
        yield from _found(provider, what, {"messages": asked, "options": options}, [TOOL] if tools else None)
    for name in PARAMETERS:
        window = {"messages": asked, "options": {"params": {name: EXAMPLES[name]}}}
        yield from _found(provider, f"`params.{name}`", window, [TOOL])


def _found(provider: str, what: str, window: dict[str, Any], tools: Any) -> Iterator[tuple[str, str]]:
    refused = [each.what for each in lint(provider, window, tools) if each.kind == "refused"]
    if refused:
        yield what, refused[0]


def _chosen(name: str, dialect: Dialect) -> str:
    if name == "openai":
        return "at `api.openai.com`, and at every server that is not a host of another dialect."
    if not dialect.hosts:
        return f"where it is named: `headish ptr set NAME openai/MODEL --base-url URL --dialect {name}`."
    return f"at {', '.join(f'`{_host(host)}`' for host in dialect.hosts)}, or where it is named."


def _host(host: str) -> str:
    if host.startswith("loopback:"):
        return f"127.0.0.1{host.removeprefix('loopback')}"
    return f"*{host}" if host.startswith(".") else host


def _cell(text: str) -> str:
    return _tags(text.replace("|", "\\|"))
