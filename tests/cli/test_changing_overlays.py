"""The commands that change how turns are seen (``summarize``, ``hide`` …), ``compact`` and ``tokens``, as typed."""

from __future__ import annotations

import pytest

from support.command import Command


@pytest.fixture
def talk(headish: Command) -> Command:
    headish("add", "q0 天気 " + "word " * 30, "-b", "main")
    for number in range(1, 8):
        headish("add", f"m{number} " + "word " * 30, "-c", "main", "--role", "assistant" if number % 2 else "user")
    return headish


def words(talk: Command, *more: str) -> list[str]:
    said = talk("resolve", "main", *more).json["messages"]
    return [message["content"][0]["text"].split()[0] for message in said]


def test_an_overlay_says_its_id_and_what_it_does(talk: Command) -> None:
    done = talk("summarize", "main~5", "main~3", "short")
    assert done.out.strip() == talk("get", "main", "--json").json["id"]
    assert done.err == "Summary of 3 turns, on main\n"
    assert words(talk) == ["q0", "m1", "short", "m5", "m6", "m7"]
    assert words(talk, "--raw")[2:5] == ["m2", "m3", "m4"]
    assert "summary of 3 turns" in talk("resolve", "main").err


def test_text_comes_from_a_pipe_too(talk: Command) -> None:
    talk("summarize", "main~5", "main~3", "-", stdin="piped\n")
    talk("replace", "main~1", stdin="better")
    assert words(talk) == ["q0", "m1", "piped", "m5", "m6", "better"]


def test_json_has_what_the_overlay_covers(talk: Command) -> None:
    record = talk("hide", "main~2", "main~1", "--from", "model", "--json").json
    overlay = record["meta"]["attributes"]["overlay"]
    assert (overlay["does"], overlay["viewer"], len(overlay["covers"])) == ("hide", "model", 2)


def test_a_log_says_how_each_turn_is_seen_and_shows_no_hidden_words(talk: Command) -> None:
    talk("hide", "main~1", "--from", "people")
    talk("keep", "main~3")
    overlay, _, _, hidden, kept, *_ = talk("log", "main").out.splitlines()
    assert "overlay   keeps 1 turn in every budget" in overlay
    assert hidden.endswith("(hidden from people)")
    assert "m6" not in hidden
    assert kept.endswith("(kept)")
    assert "m6" in talk("log", "main", "--raw").out
    assert talk("log", "main", "--json").json_lines[0]["meta"]["type"] == "overlay"


def test_what_was_laid_is_undone_by_naming_it(talk: Command) -> None:
    talk("hide", "main~1")
    assert talk("unhide", "main").err == "No longer hides 1 turn, on main\n"
    talk("replace", "main~4", "better")
    talk("original", "main")
    assert words(talk) == ["q0", *(f"m{number}" for number in range(1, 8))]


def test_what_is_so_already_is_said_and_not_stored(talk: Command) -> None:
    ids = [record["id"] for record in talk("log", "main", "--json").json_lines]
    for verb, told in (
        ("unhide", "nothing there is hidden"), ("hide", "that is hidden so already"),
        ("keep", "every budget keeps that already"), ("original", "that is seen as it was said already"),
    ):  # fmt: skip
        if verb != "unhide":
            talk(verb, ids[2], "-c", "main")
        for more, out in (((), ""), (("--json",), "null\n")):
            done = talk(verb, ids[2], "-c", "main", *more)
            assert (done.out, done.err) == (out, f"Nothing was stored: {told}.\n")
    assert len(talk("log", "main", "--json").json_lines) == len(ids) + 3
    assert talk("replace", ids[2], "so", "-c", "main").out == talk("replace", ids[2], "so", "-c", "main").out


def test_tokens_are_told_with_their_source(talk: Command) -> None:
    said = talk("tokens", "main")
    assert "tokens, ± 25%: guessed by bytes" in said.out
    record = talk("tokens", "main", "--json").json
    assert record.keys() == {"tokens", "source", "error", "tools", "model", "context_window"}
    listed = talk("tokens", "main", "--by", "turn", "--json").json_lines
    assert [each["role"] for each in listed] == ["user", "assistant"] * 4
    assert talk("tokens", "main", "--by", "turn").out.count("\n") == 9


def test_a_branch_is_compacted_and_a_request_is_cut(talk: Command) -> None:
    whole = talk("tokens", "main", "--json").json["tokens"]
    assert "left out" in talk("resolve", "main", "--budget", str(whole - 1)).err
    assert "left out" in talk("request", "main", "--to", "anthropic", "--model", "m", "--budget", str(whole - 1)).err
    done = talk("compact", "main", "--to", "60%")
    assert "from the model: about" in done.err
    assert talk("tokens", "main", "--json").json["tokens"] < 0.7 * whole
    assert "Nothing to do" in talk("compact", "main", "--to", "99,999").err
    assert talk("compact", "main", "--to", "99,999", "--json").out == "null\n"


def test_lint_tells_what_a_budget_cuts_and_what_it_cannot(talk: Command) -> None:
    whole = talk("tokens", "main", "--json").json["tokens"]
    assert "left out" in talk("lint", "main", "--for", "anthropic", "--budget", str(whole - 1)).out
    refused = talk.run("lint", "main", "--for", "anthropic", "--budget", "9")
    assert refused.code == 1
    assert refused.out.startswith("refused: what must stay has about")


def test_a_pointer_keeps_its_context_window(talk: Command) -> None:
    talk("ptr", "set", "milli", "anthropic/small", "--context-window", "100000")
    assert "takes 100,000 tokens" in talk("ptr", "list").out
    assert talk("ptr", "list", "--json").json_lines[0]["context_window"] == 100_000
    assert "of 100,000 (0%)" in talk("tokens", "main", "-p", "milli").out


@pytest.mark.parametrize(("typed", "told"), [
    (("summarize", "main~2", "main", "text", "--ask", "milli"), "not both"),
    (("hide", "main", "--from", "me"), "'me' is not one of"),
    (("compact", "main", "--to", "half"), "neither a share such as 40% nor a number"),
    (("resolve", "main", "--budget", "0"), "neither a number of tokens nor auto"),
    (("resolve", "main", "--budget", "9", "--raw"), "does not go with --raw"),
    (("export", "main", "--to", "html", "--raw"), "--raw is for transcripts"),
])  # fmt: skip
def test_what_does_not_go_together_is_wrong_usage(talk: Command, typed: tuple[str, ...], told: str) -> None:
    assert told in " ".join(talk.misused(*typed).split())


@pytest.mark.parametrize(("typed", "told"), [
    (("hide", "nobody"), "no turn is named 'nobody'"),
    (("hide", "main", "main~2"), "name the first of them first"),
    (("resolve", "main", "--budget", "9"), "what must stay has about"),
    (("resolve", "main", "--budget", "auto"), "--context-window"),
    (("summarize", "main~2", "main", "--ask", "nobody"), "nobody"),
])  # fmt: skip
def test_what_cannot_be_done_is_one_line(talk: Command, typed: tuple[str, ...], told: str) -> None:
    assert told in talk.fails(*typed)


def test_every_list_tells_an_overlay_by_what_it_does(talk: Command) -> None:
    talk("hide", "main~1", "--from", "model")
    told = "hides 1 turn from the model"
    listed = [("log", "main"), ("tree", "main"), ("heads",), ("siblings", "main"), ("follow", "--no-wait")]
    for words in listed:
        shown = next(line for line in talk(*words).out.splitlines() if told in line)
        assert " overlay " in shown, words
    assert talk("bookmark", "list").out.endswith(f"  {told}\n")
    assert talk("show", "main").out.splitlines()[0].split()[1] == "overlay"
    assert f"Overlay:      {told}\n" in talk("show", "main").out
    assert f" · overlay: {told} · " in talk("get", "main").err
    assert talk("tree", "main", "--json").json_lines[-1]["attributes"]["overlay"]["does"] == "hide"
    assert talk("list").out.endswith(f"  (overlay: {told})\n")
    shown = talk("diff", "main~1", "main").out
    assert "+ overlay" in shown
    assert f"{{+({told})+}}" in shown
