"""``headish db secure``, ``spaces grant``, ``revoke`` and ``members``, ``--isolation``; and what the how-to shows."""

from __future__ import annotations

import json
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from headish import Database
from support.command import Command
from support.secured import Logins

PAGE = Path(__file__).parents[3] / "docs/how-to/many-tenants.md"


def test_a_database_is_secured_checked_opened_and_listed(new_postgresql: str) -> None:
    logins, admin = Logins(new_postgresql), Command(new_postgresql)
    app, ana = logins.make("app"), logins.make("ana")
    try:
        admin("db", "init")
        before = admin.run("db", "secure", "--check")
        assert (before.code, before.out) == (1, "")
        assert before.err.startswith("Nothing keeps its spaces apart")
        assert len(json.loads(admin.run("db", "secure", "--check", "--json").out)["missing"]) > 100
        assert "policies guard 24 tables. Whoever" in admin("db", "secure", "--app", app).err
        assert "nothing is missing" in admin("db", "secure", "--app", app).err
        checked = admin.run("db", "secure", "--check")
        assert checked.code == 1
        assert checked.out.endswith("it is a superuser, whom no policy holds\n")
        assert Command(logins.at("app"))("db", "secure", "--check").out == ""
        found = json.loads(admin("db", "secure", "--check", "--app", app, "--json").out)
        assert (found["done"], found["missing"], len(found["tables"])) == ([], [], 24)
        admin("spaces", "add", "ana")
        assert "may enter the space ana, as a reader" in admin("spaces", "grant", "ana", ana, "--role", "reader").err
        listed = [json.loads(line) for line in admin("spaces", "members", "--json").out.splitlines()]
        assert listed == [
            {"login": ana, "space": "ana", "role": "reader"},
            {"login": app, "space": None, "role": "writer"},
        ]
        assert "(every space)" in admin("spaces", "members").out
        reader = Command(logins.at("ana"))
        assert reader("--space", "ana", "--isolation", "required", "list").out == ""
        assert "replicated" not in reader.fails("--space", "ana", "log")
        assert "takes the role headish_writer" in reader.fails("--space", "ana", "add", "no")
        assert "it has no space 'b'" in reader.fails("--space", "b", "log")
        admin("spaces", "revoke", "ana", ana)
        assert reader.fails("--space", "ana", "log")
        assert "is a superuser" in admin.fails("--isolation", "required", "list")
    finally:
        logins.drop()


def test_what_the_how_to_shows_is_what_happens(own: Logins, monkeypatch: pytest.MonkeyPatch) -> None:
    [shown] = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    monkeypatch.setenv("HEADISH_DB", own.at("ana"))
    with redirect_stdout(StringIO()) as printed:
        exec(shown[0], {})
    assert printed.getvalue() == shown[1]
    with Database.open(own.url) as database:
        assert all(not report.problems for report in database.verify().values())
