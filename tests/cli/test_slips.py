"""What a person mistypes, or forgets, is told: nothing is taken in silence, and no advice leads nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from headish_cli.main import main
from support.command import Command


def test_nothing_empty_is_stored(headish: Command) -> None:
    assert "the text is empty" in headish.misused("add", "")


def test_a_space_that_nobody_made_is_said_once(headish: Command) -> None:
    assert headish("add", "Hello").err == ""
    assert headish("--space", "work", "add", "Hello").err == "There was no space work: it is made now.\n"
    assert headish("--space", "work", "add", "Hello").err == ""


def test_after_a_rename_of_the_space_the_next_step_is_said(headish: Command) -> None:
    headish("add", "Hello")
    assert "--space other" in headish("spaces", "rename", "default", "other").err
    headish("spaces", "add", "third")
    assert "--space" not in headish("spaces", "rename", "third", "fourth").err


def test_a_backup_that_is_missing_is_not_made_by_add(headish: Command, tmp_path: Path) -> None:
    assert "make one" not in headish.fails("restore", str(tmp_path / "none"), str(tmp_path / "new.db"))
    assert "make one" in headish.fails("list")


def test_a_graph_has_no_json(headish: Command) -> None:
    headish("add", "Hello", "-b", "main")
    assert "--graph" in headish.misused("log", "--json", "--graph", "main")


def test_stored_bytes_are_not_json(headish: Command) -> None:
    headish("add", "Hello", "-b", "main")
    assert "--payload" in headish.misused("get", "main", "--payload", "--json")


def test_blanks_are_neither_a_title_nor_a_question(headish: Command) -> None:
    headish("add", "Hello", "-b", "main")
    headish("title", "main", "  ")
    assert "Hello" in headish("list").out
    assert "there is nothing to search for" in headish.misused("search", "")
    assert "there is nothing to search for" in headish.misused("search", " ", "")
    assert "Hello" in headish("search", "", "--role", "user").out


def test_an_erasure_has_one_extent(headish: Command) -> None:
    headish("add", "Hello", "-b", "main")
    for words in (("--thread", "--branch"), ("--branch", "--thread")):
        assert "--thread and --branch" in headish.misused("erase", "main", *words, "--reason", "asked", "--yes")
    assert "not --thread beside it" in headish.misused("erase", "--bookmark", "main", "--thread", "--dry-run")
    assert headish("get", "main").out == "Hello\n"


def test_without_bookmarks_of_others_no_advice_leads_to_ones_own(headish: Command) -> None:
    headish("add", "Hello", "-b", "main")
    assert headish("bookmark", "list", "--remotes").err == "Nothing was found.\n"


def test_an_option_that_would_do_nothing_is_refused(headish: Command, tmp_path: Path) -> None:
    headish("add", "Hello", "-b", "main")
    (tmp_path / "chat.jsonl").touch()
    watched = ("import", str(tmp_path), "--watch")
    for words, option, partner in (
        (("ask", "hi", "--yes"), "--yes", "--tool-loop"),
        (("ask", "hi", "--rounds", "3"), "--rounds", "--tool-loop"),
        (("ask", "hi", "--mcp-config", "servers.json"), "--mcp-config", "--tool-loop"),
        (("ask", "hi", "-c", "main", "--force"), "--force", "--bookmark"),
        (("add", "hi", "-c", "main", "--force"), "--force", "--bookmark"),
        (("doc", "-", "--keep-path"), "--keep-path", "a file"),
        (("tag", "main", "--remove"), "--remove", "TAG"),
        (("recover", "--wait", "3"), "--wait", "--remote"),
        (("restore", "none.hbackup", str(tmp_path / "new.db"), "--as", "other"), "--as", "--only"),
        (("follow", "--no-wait", "--content"), "--content", "--json"),
        (("follow", "--no-wait", "--pulse", "1"), "--pulse", "--json"),
        ((*watched, "--relaxed"), "--relaxed", "--watch"),
        ((*watched, "--start-role", "user"), "--start-role", "--watch"),
        ((*watched, "--once", "--every", "3"), "--every", "--once"),
        (("export", "main", "--policy", "harmony"), "--policy", "--for-completion"),
        (("export", "main", "--tight"), "--tight", "--to v0.1"),
        (("export", "main", "--to", "html", "--relaxed"), "--relaxed", "a transcript"),
        (("convert", "-", "--to", "chat", "--tight"), "--tight", "--to v0.1"),
    ):  # fmt: skip
        told = headish.misused(*words, stdin="x").splitlines()[-1]
        assert option in told, words
        assert partner in told, words
    assert headish("stats", "--json").json["turns"] == 1


def test_a_variable_is_there_for_every_command(headish: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADISH_MCP_CONFIG", "servers.json")
    assert "--tool-loop" not in headish.run("ask", "hi").err


def test_an_erased_name_is_not_said_to_stay(headish: Command) -> None:
    headish("add", "Hello", "-b", "main")
    done = headish("erase", "--bookmark", "main", "--reason", "asked", "--yes")
    assert "stay: main" not in done.err
    assert "main" not in headish("list").out


def test_of_one_parent_the_error_speaks_in_the_singular(headish: Command) -> None:
    headish("add", "a", "-b", "main")
    headish("add", "b", "-c", "main")
    assert headish.fails("log", "main^7").endswith("continues 1 turn")


def test_a_call_that_can_never_be_made_stores_nothing(headish: Command) -> None:
    headish("add", "before", "-b", "main")
    for address in ("nonsense", "ftp://x", "http://"):
        told = headish.fails("ask", "hi", "--to", "openai", "--model", "m", "--base-url", address)
        assert "cannot be called" in told
        assert "what you said is kept" not in told
    assert len(headish("list").out.splitlines()) == 1


def test_a_key_that_is_nearly_one_is_noted_and_taken(headish: Command) -> None:
    done = headish("add", "hi", "--set", "parms.temperature=1")
    assert done.err == "note: --set parms is not an option that headish knows; did you mean params?\n"
    assert headish("get", "--json").json["options"] == {"parms": {"temperature": 1}}
    assert headish("add", "hi", "--set", "params.temperature=1", "--set", "my_app=1").err == ""


def test_the_title_of_a_page_may_be_given(headish: Command) -> None:
    headish("add", "hi", "-b", "main")
    assert "<title>A greeting" in headish("export", "main", "--to", "html", "--title", "A greeting").out
    assert "--title is for" in headish.misused("export", "main", "--to", "chat", "--title", "x")


def test_export_completes_what_it_takes(headish: Command) -> None:
    headish("add", "hi", "-b", "main")
    offered = [each.value for each in ShellComplete(main, {}, "headish", "_X").get_completions(["export", "--to"], "")]
    assert {"2.2", "chat", "sharegpt", "html", "markdown"} <= set(offered)
    assert len(offered) == len(set(offered))
    for target in offered:
        done = headish.run("export", "main", "--to", target)
        assert "unknown" not in done.err, target
        assert "Traceback" not in done.err
