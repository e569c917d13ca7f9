"""``headish spaces``: the histories that a database keeps apart, at a terminal."""

from __future__ import annotations

import json

from support.command import Command


def test_a_space_is_made_filled_renamed_and_kept(headish: Command) -> None:
    assert "Made the space work" in headish("spaces", "add", "work").err
    headish("--space", "work", "add", "hello", "-b", "main")
    headish("spaces", "rename", "work", "office")
    assert headish("spaces", "list").out == "office\n"
    assert headish("spaces", "list", "--json").json == {"name": "office"}
    assert headish("--space", "office", "get", "main").out == "hello\n"
    assert headish.fails("spaces", "rm", "office") == (
        "the space 'office' is not empty: it holds turns, pointers, tools or objects; to erase them all, use"
        " spaces.erase (headish spaces rm --erase --reason TEXT)"
    )


def test_an_empty_one_goes(headish: Command) -> None:
    headish("spaces", "add", "a")
    assert headish("spaces", "rm", "a").err == "Removed the space a.\n"
    assert headish("spaces", "list").out == ""
    assert "it has no space 'a'" in headish.fails("spaces", "rm", "a")


def test_lists_come_in_pages(headish: Command) -> None:
    for name in "abc":
        headish("spaces", "add", name)
        headish("--space", "a", "add", name, "-b", name)
    assert headish("spaces", "list", "-n", "2").out == "a\nb\n"
    assert headish("spaces", "list", "-n", "2", "--after", "b").out == "c\n"
    listed = headish("--space", "a", "bookmark", "list", "-n", "2", "--json").out
    assert [json.loads(line)["name"] for line in listed.splitlines()] == ["a", "b"]
    assert headish("--space", "a", "bookmark", "list", "-n", "1", "--recent", "--json").json["name"] == "c"


def test_a_conversation_moves(headish: Command) -> None:
    headish("spaces", "add", "office")
    headish("add", "hello", "-b", "main")
    tip = headish("add", "again", "-c", "main").out
    moved = headish("spaces", "move", "main", "--to", "office")
    assert moved.out == tip
    assert "Moved 2 turns to the space office." in moved.err
    assert "These bookmarks went along: main" in moved.err
    assert headish("--space", "office", "get", "main").out == "again\n"
    assert headish("bookmark", "list").out == ""
    assert "it has no space 'nowhere'" in headish.fails("spaces", "move", tip.strip(), "--to", "nowhere")


def test_a_part_of_a_tree_says_where_it_is_cut_off(headish: Command) -> None:
    for text in "abcd":
        headish("add", text, "-b" if text == "a" else "-c", "main")
    drawn = headish("tree", "main~1", "-n", "2").out
    assert "⋮ continues" in drawn
    assert drawn.count("\n") == 2
    assert "⋮ 1 more" in headish("tree", "main~2", "-n", "2").out


def test_what_a_space_may_hold_is_shown_and_set(headish: Command) -> None:
    headish("--space", "work", "add", "hello")
    assert headish("spaces", "limit", "work").out == (
        "turns                 1 of any number\nbytes                32 of any number\n"
    )
    headish("spaces", "limit", "work", "--turns", "1", "--bytes", "1000")
    assert headish("spaces", "limit", "work", "--json").json == {
        "limit_turns": 1, "limit_bytes": 1000, "turns": 1, "bytes": 32,
    }  # fmt: skip
    assert "the space is limited to 1 turn, has 1" in headish.fails("--space", "work", "add", "more")
    assert "1 of any number" in headish("spaces", "limit", "work", "--turns", "none").out
    headish("--space", "work", "add", "more")
    assert "'lots' is not a valid integer" in headish.misused("spaces", "limit", "work", "--bytes", "lots")
