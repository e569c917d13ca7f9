"""Codes and sessions: used once, expired in time, kept in a file that is nobody else's."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from headish.serve.access.logins import CODE_SECONDS, SESSION_SECONDS, Logins


class Clock:
    """Unix seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_code_logs_in_once(tmp_path: Path) -> None:
    logins = Logins(tmp_path, Clock())
    code = logins.make_code()
    session = logins.redeem(code)
    assert session is not None
    assert logins.is_session(session)
    assert logins.redeem(code) is None
    assert logins.redeem("") is None
    assert logins.redeem("\ud800") is None
    assert not logins.is_session(code)


def test_a_code_lasts_five_minutes_and_a_session_thirty_days(tmp_path: Path) -> None:
    clock = Clock()
    logins = Logins(tmp_path, clock)
    early, late = logins.make_code(), logins.make_code()
    clock.now += CODE_SECONDS - 1
    session = logins.redeem(early) or ""
    clock.now += 1
    assert logins.redeem(late) is None
    clock.now += SESSION_SECONDS - 2
    assert logins.is_session(session)
    clock.now += 1
    assert not logins.is_session(session)


def test_another_process_knows_the_same_logins(tmp_path: Path) -> None:
    clock = Clock()
    printing, web = Logins(tmp_path, clock), Logins(tmp_path, clock)
    assert not web.is_session("nothing yet")
    session = web.redeem(printing.make_code()) or ""
    assert printing.is_session(session)
    assert Logins(tmp_path, clock).is_session(session)
    printing.end(session)
    assert not web.is_session(session)


def test_two_who_redeem_one_code_at_once_get_one_session(tmp_path: Path) -> None:
    code = Logins(tmp_path, Clock()).make_code()
    with ThreadPoolExecutor(8) as pool:
        sessions = list(pool.map(lambda _: Logins(tmp_path, Clock()).redeem(code), range(16)))
    assert len([each for each in sessions if each]) == 1


def test_the_file_is_nobody_elses_and_holds_no_secret(tmp_path: Path) -> None:
    folder = tmp_path / "served"
    logins = Logins(folder, Clock())
    code = logins.make_code()
    session = logins.redeem(logins.make_code()) or ""
    files = list(folder.iterdir())
    assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    kept = b"".join(each.read_bytes() for each in files)
    assert kept
    assert code.encode() not in kept
    assert session.encode() not in kept


def test_a_damaged_file_logs_everybody_out_and_takes_new_logins(tmp_path: Path) -> None:
    logins = Logins(tmp_path, Clock())
    session = logins.redeem(logins.make_code()) or ""
    (tmp_path / "logins.json").write_bytes(b"\0{")
    assert not logins.is_session(session)
    assert logins.is_session(logins.redeem(logins.make_code()) or "")
