"""``headish spaces``: the histories that a database keeps apart, at a terminal."""

from __future__ import annotations

from support.command import Command


def test_a_space_is_made_filled_renamed_and_kept(headish: Command) -> None:
    assert "Made the space work" in headish("spaces", "add", "work").err
    headish("--space", "work", "add", "hello", "-b", "main")
    headish("spaces", "rename", "work", "office")
    assert headish("spaces", "list").out == "office\n"
    assert headish("spaces", "list", "--json").json == {"name": "office"}
    assert headish("--space", "office", "get", "main").out == "hello\n"
    assert headish.fails("spaces", "rm", "office") == (
        "the space 'office' is not empty: it holds turns, pointers, tools or objects"
    )


def test_an_empty_one_goes(headish: Command) -> None:
    headish("spaces", "add", "a")
    assert headish("spaces", "rm", "a").err == "Removed the space a.\n"
    assert headish("spaces", "list").out == ""
    assert "it has no space 'a'" in headish.fails("spaces", "rm", "a")
