"""``headish token``: shown once, listed without what it is, removed."""

from __future__ import annotations

from headish.values.access.tokens import is_token
from support.command import Command


def test_a_token_is_shown_once_listed_and_removed(headish: Command) -> None:
    headish("spaces", "add", "work")
    token = headish("--space", "work", "token", "add", "laptop", "--right", "read", "--right", "write").out.strip()
    assert is_token(token)
    made = headish("--space", "work", "token", "add", "ci", "--right", "gateway", "--expires", "90d", "--json").json
    assert is_token(made["token"])
    listed = headish("token", "list").out
    assert token not in listed
    assert [line.split()[:3] for line in listed.splitlines()] == [
        ["ci", "work", "gateway"],
        ["laptop", "work", "read,write"],
    ]
    assert "until 2" in listed.splitlines()[0]
    assert headish("--space", "work", "token", "remove", "ci").err == "Removed the token ci.\n"
    assert headish("token", "list", "--json").json["label"] == "laptop"
    assert headish.fails("--space", "work", "token", "remove", "ci") == "no token of this space is called 'ci'"


def test_a_time_and_a_right_are_checked(headish: Command) -> None:
    headish("spaces", "add", "default")
    for wrong in ("90", "0d", "1w", "d", "-1d", "999999d"):
        assert headish.run("token", "add", "a", "--right", "read", "--expires", wrong).code == 2
    assert headish.run("token", "add", "a", "--right", "admin").code == 2
    assert headish.run("token", "add", "a").code == 2
    assert headish("token", "list").out == ""
