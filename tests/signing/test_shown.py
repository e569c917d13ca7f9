"""What people see of signatures: at the terminal, and on the page of a thread."""

from __future__ import annotations

from pathlib import Path

import pytest

from headish import Store
from headish.rows.signatures import all_signatures
from support.command import Command
from support.insides import run_sql
from support.serving import serving
from support.signers import Keys, needs_keygen

pytestmark = needs_keygen


@pytest.fixture
def key(keys: Keys) -> str:
    return str(keys.folder / "anna")


@pytest.fixture
def headish(tmp_path: Path) -> Command:
    made = Command(str(tmp_path / "cli.db"))
    made("--author", "Eve", "add", "Hello", "-b", "main")
    made("add", "Hi", "--role", "assistant", "-c", "main")
    return made


class TestTerminal:
    def test_sign_says_whom_and_prints_the_id(self, headish: Command, key: str) -> None:
        done = headish("sign", "main", "--key", key)
        assert done.out.strip() == headish("get", "main", "--json").json["id"]
        assert done.err == "Signed 1 turn.\n"
        assert headish("sign", "main", "--thread", "--key", key, "--json").json["turns"] == 2

    def test_log_has_each_verdict_and_what_is_only_said(self, headish: Command, keys: Keys, key: str) -> None:
        headish("sign", "main", "--key", key)
        signers = str(keys.signers("anna@x {anna}"))
        found = headish("log", "main", "--signatures", "--signers", signers).out.splitlines()
        assert found[1].startswith("    good signature of this turn, anna@x, since 20")
        assert found[3] == "    unsigned; it says that Eve wrote it"
        found = headish("log", "main", "--signatures").out.splitlines()
        assert found[1].startswith("    good signature of this turn, unknown key SHA256:")
        expired = str(keys.signers('anna@x valid-before="20200101" {anna}', name="expired"))
        done = headish.run("log", "main", "--signatures", "--signers", expired)
        assert done.code == 1
        assert "bad signature of this turn: its key is listed" in done.out.splitlines()[1]
        done = headish.run("log", "main", "--signatures", "--signers", expired, "--json")
        assert done.code == 1
        assert [[each["verdict"] for each in line["signatures"]] for line in done.json_lines] == [["bad"], []]
        assert "signatures" not in headish("log", "main", "--json").json_lines[0]

    def test_verify_counts_them_and_ends_with_1_for_a_bad_one(self, headish: Command, keys: Keys, key: str) -> None:
        headish("sign", "main", "--key", key)
        assert "1 signature: 0 good, 1 unknown, 0 bad." in headish("verify", "--signatures").err
        revoked = str(keys.folder / "anna.pub")
        for whole in ([], ["--all"]):
            done = headish.run("verify", *whole, "--signatures", "--revoked", revoked)
            assert done.code == 1
            assert "bad signature of this turn: its key was revoked" in done.out
            found = headish.run("verify", *whole, "--signatures", "--revoked", revoked, "--json")
            assert found.json_lines[-1]["signatures"][0]["verdict"] == "bad"
        assert headish("verify").err.endswith("all in order.\n")
        assert "signatures" not in headish("verify", "--json").json

    def test_a_list_of_signers_or_of_revoked_keys_asks_for_the_check(
        self, headish: Command, keys: Keys, key: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        headish("sign", "main", "--key", key)
        revoked = str(keys.folder / "anna.pub")
        for words in (("log", "main"), ("verify",)):
            done = headish.run(*words, "--revoked", revoked)
            assert (done.code, "bad signature of this turn: its key was revoked" in done.out) == (1, True), words
            signers = str(keys.signers("anna@x {anna}"))
            assert "good signature of this turn, anna@x" in headish(*words, "--signers", signers).out, words
            assert "signatures" in headish(*words, "--signers", signers, "--json").json_lines[0], words
        # Set for every command, the variables ask for nothing.
        monkeypatch.setenv("HEADISH_REVOKED_KEYS", revoked)
        monkeypatch.setenv("HEADISH_SIGNERS", signers)
        for words in (("log", "main"), ("verify",)):
            assert "signature" not in headish(*words).out, words

    def test_no_name_steers_the_terminal(self, headish: Command, keys: Keys, key: str) -> None:
        headish("sign", "main", "--key", key)
        signers = str(keys.signers("e\x1b[31mvil\x07 {anna}"))
        for words in (("log", "main"), ("verify",)):
            done = headish(*words, "--signatures", "--signers", signers)
            assert "\x1b" not in done.out + done.err
            assert "\x07" not in done.out + done.err
            assert "e\\x1b[31mvil" in done.out

    def test_the_configuration_names_key_and_signers(
        self, headish: Command, keys: Keys, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for each in ("HEADISH_SIGNING_KEY", "HEADISH_SIGNERS"):
            monkeypatch.setenv(each, "")  # so that it is as before at the end
            monkeypatch.delenv(each)
        monkeypatch.setenv("HEADISH_CONFIG", str(tmp_path / "config.toml"))
        headish("config", "set", "signing_key", key)
        headish("config", "set", "signers", str(keys.signers("anna@x {anna}")))
        headish("sign", "main")
        assert "anna@x" in headish("log", "main", "--signatures").out


class TestPage:
    def test_each_verdict_is_at_its_turn(
        self, tmp_path: Path, keys: Keys, key: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        signers = keys.signers("a<b>nna@x {anna}")
        monkeypatch.setenv("HEADISH_SIGNERS", str(signers))
        with Store.open(tmp_path / "page.db") as store:
            store.add_turn("Hello", bookmark="main")
            store.sign("main", key=key)
            with serving(tmp_path / "page.db", tmp_path / "state") as served:
                client = served.client()
                client.headers |= {"accept": "text/html", "origin": served.url}
                page = client.get("/c/main").text
                assert 'class="signed good"><bdi>good signature of this turn, a&lt;b&gt;nna@x, since' in page
                assert client.get("/api/v1/signatures", params={"ids": store.get("main").id}).json()[0]["name"] == (
                    "a<b>nna@x"
                )
                signers.write_text("")
                assert 'class="signed unknown"><bdi>good signature of this turn, unknown key SHA256' in (
                    client.get("/c/main").text
                )
                signers.write_text(f'anna@x valid-before="20200101" {keys.public("anna")}\n')
                assert 'class="signed bad" role="alert"><bdi>bad signature of this turn' in client.get("/c/main").text
                signers.unlink()
                page = client.get("/c/main").text
                assert "could not be checked" in page
                assert str(signers) not in page


class TestSecret:
    def test_nothing_of_a_signature_stays_in_the_file(self, tmp_path: Path, keys: Keys) -> None:
        path = tmp_path / "secret.db"
        with Store.open(path) as store:
            turn = store.add_turn("Hello").id
            store.sign("@", key=keys.folder / "anna")
            [row] = store._read(lambda connection: list(all_signatures(connection, store._number)))
            run_sql(store, "PRAGMA wal_checkpoint(TRUNCATE)")
            assert row.data in path.read_bytes()
            store.erase(turn, reason="r", meta=True)
            store.erase(turn, reason="r", meta=True, scrub=True)
        written = b"".join(each.read_bytes() for each in tmp_path.glob("secret.db*"))
        for secret in (row.data, row.data[-40:], row.key.encode()):
            assert secret not in written
