"""One database has one spool, however its address is spelled, and another database another one."""

from __future__ import annotations

import pytest

from headish.store.keeping.spooled import find_serve_folder

SAME = [
    "postgresql://ada:first@db.example/talk",
    "postgresql://ada:second@db.example/talk",
    "postgresql+psycopg://ada@DB.example:5432/talk?sslmode=require",
    "postgresql://secure_app@db.example/talk?application_name=x&password=third",
    "postgresql:///talk?host=db.example&user=ada",
    "postgresql://db.example/t%61lk",
]
OTHERS = [
    "postgresql://ada@db.example/talk2",
    "postgresql://ada@db.example:5433/talk",
    "postgresql://ada@db2.example/talk",
    "postgresql:///talk?host=/run/postgresql",
    "postgresql:///talk",
    "postgresql:///?service=talk",
    "postgresql:///?service=other",
]


def test_a_new_password_or_another_login_finds_the_same_spool() -> None:
    assert len({find_serve_folder(url) for url in SAME}) == 1


def test_another_database_has_another_spool() -> None:
    folders = {url: find_serve_folder(url) for url in [SAME[0], *OTHERS]}
    assert len(set(folders.values())) == len(folders)
    assert find_serve_folder("postgresql://ada@db.example") == find_serve_folder("postgresql://db.example/ada")


@pytest.mark.parametrize("url", ["postgresql://db.example?host=a:1&port=2", "postgresql://a:b:c:d"])
def test_what_is_refused_where_it_is_opened_has_a_folder_all_the_same(url: str) -> None:
    assert find_serve_folder(url) is not None
