"""Signatures by the real ssh-keygen: who signed, with which key, and what proves nothing."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from headish import Store
from headish.bundles.records import SentSignature
from headish.errors import InvalidArgument, InvalidContent, SigningFailed, TurnErased
from headish.history.signatures import message_of, store_signatures
from headish.rows.signatures import all_signatures
from headish.rows.turns import turn_by_id
from headish.signing import judging
from headish.signing.sshsig import from_armour, read_signature, signed_message
from headish.values.limits import SIGNATURE_LIMIT_BYTES, SIGNATURES_LIMIT
from support.growing import grow
from support.insides import run_sql
from support.places import Place
from support.signers import Keys, agent, needs_keygen, run

pytestmark = needs_keygen


@pytest.fixture
def store(place: Place) -> Store:
    made = place.open()
    grow(made, "q? <- a <- r? <- b")
    return made


def told(store: Store, **trust: object) -> list[tuple[str, str | None]]:
    return [(each.verdict, each.name) for each in store.signatures(**trust)]  # type: ignore[arg-type]


def reasons(store: Store, **trust: object) -> list[str]:
    return [each.reason or "" for each in store.signatures(**trust)]  # type: ignore[arg-type]


def insert(store: Store, turn: str, data: bytes, kind: str = "turn", milliseconds: int | None = None) -> None:
    """Store a signature as it would arrive."""
    now = int(datetime.now(UTC).timestamp() * 1000) if milliseconds is None else milliseconds
    sent = SentSignature(turn, kind, data, now)
    store._write(lambda connection: store_signatures(connection, store._number, [sent]))


class TestGood:
    def test_a_listed_key_is_its_persons(self, store: Store, keys: Keys) -> None:
        before = datetime.now(UTC) - timedelta(seconds=1)
        signed = store.sign("@", key=keys.folder / "anna")
        assert (signed.scope, signed.turns) == ("turn", 1)
        assert signed.key in run("ssh-keygen", "-l", "-f", keys.folder / "anna.pub").decode()
        [judged] = store.signatures(signers=keys.signers("anna@example.com {anna}"))
        assert (judged.verdict, judged.name, judged.turn) == ("good", "anna@example.com", store.get("@").id)
        assert before <= judged.time <= datetime.now(UTC)
        assert store.verify().problems == ()

    def test_the_bytes_are_those_that_anybody_can_make(self, store: Store, keys: Keys) -> None:
        """The format is a promise: the message is built here without the library."""
        store.sign("@", thread=True, key=keys.folder / "anna")
        seals = [turn.seal for turn in reversed(store.log("@"))]
        message = "\n".join(["headish-sign-1", "thread", *seals, ""]).encode()
        [row] = store._read(lambda connection: list(all_signatures(connection, store._number)))
        stored = store._read(lambda connection: turn_by_id(connection, store._number, row.turn))
        assert stored is not None
        assert store._read(lambda connection: message_of(connection, store._number, "thread", stored)) == message
        armoured = run("ssh-keygen", "-Y", "sign", "-q", "-n", "headish", "-f", keys.folder / "anna", message=message)
        assert from_armour(armoured) == row.data

    def test_a_thread_of_a_merge(self, place: Place, keys: Keys) -> None:
        store = place.open()
        first, second = store.add_turn("one"), store.add_turn("two")
        store.add_turn("both", continues=[first.id, second.id])
        assert store.sign("@", thread=True, key=keys.folder / "anna").turns == 3
        assert told(store, signers=keys.signers("anna@x {anna}")) == [("good", "anna@x")]

    @pytest.mark.parametrize("kind", ["rsa", "ecdsa"])
    def test_other_kinds_of_keys(self, store: Store, keys: Keys, kind: str) -> None:
        store.sign("@", key=keys.make("other", kind))
        assert told(store, signers=keys.signers("o@x {other}")) == [("good", "o@x")]

    def test_an_agent_signs_for_its_public_key(self, store: Store, keys: Keys, tmp_path: Path) -> None:
        private = keys.folder / "anna"
        with agent(tmp_path, private):
            private.unlink()
            store.sign("@", key=keys.folder / "anna.pub")
        assert told(store, signers=keys.signers("anna@x {anna}")) == [("good", "anna@x")]
        with pytest.raises(SigningFailed, match="ssh-keygen"):
            store.sign("@~1", key=keys.folder / "anna.pub")
        assert len(store.signatures()) == 1

    def test_a_certificate_of_a_listed_authority(self, store: Store, keys: Keys) -> None:
        keys.make("ca"), keys.make("carol")
        store.sign("@", key=keys.certify("ca", "carol", "carol@x"))
        [judged] = store.signatures(signers=keys.signers("*@x cert-authority {ca}"))
        assert (judged.verdict, judged.name) == ("good", "carol@x")
        assert judged.key in run("ssh-keygen", "-l", "-f", keys.folder / "carol.pub").decode()
        assert told(store, signers=keys.signers("anna@x {anna}")) == [("unknown", None)]

    def test_the_same_signature_is_stored_once(self, store: Store, keys: Keys) -> None:
        first = store.sign("@", key=keys.folder / "anna")
        assert store.sign("@", key=keys.folder / "anna") == first
        assert len(store.signatures()) == 1

    def test_variables_name_the_key_and_the_signers(
        self, store: Store, keys: Keys, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("HEADISH_SIGNING_KEY", raising=False)
        with pytest.raises(SigningFailed, match="no key is named"):
            store.sign("@")
        monkeypatch.setenv("HEADISH_SIGNING_KEY", str(keys.folder / "anna"))
        monkeypatch.setenv("HEADISH_SIGNERS", str(keys.signers("anna@x {anna}")))
        store.sign("@")
        assert told(store) == [("good", "anna@x")]


class TestAtOnce:
    def test_many_signers_lose_none(self, store: Store, keys: Keys) -> None:
        turns = [turn.id for turn in store.log("@")] * 2
        with ThreadPoolExecutor(len(turns)) as pool:
            list(pool.map(lambda turn: store.sign(turn, key=keys.folder / "anna"), turns))
        found = store._read(lambda connection: list(all_signatures(connection, store._number)))
        assert [each.number for each in found] == [1, 2, 3, 4]
        assert {each.turn for each in found} == set(turns)
        assert store.verify().problems == ()


class TestUnknown:
    def test_without_a_list_or_in_another_one(self, store: Store, keys: Keys) -> None:
        store.sign("@", key=keys.folder / "anna")
        keys.make("bert")
        assert told(store) == [("unknown", None)]
        assert told(store, signers=keys.signers("bert@x {bert}")) == [("unknown", None)]
        assert told(store, signers=keys.signers()) == [("unknown", None)]


class TestBad:
    def test_a_key_that_was_not_valid_then(self, store: Store, keys: Keys) -> None:
        store.sign("@", key=keys.folder / "anna")
        expired = keys.signers('anna@x valid-before="20200101" {anna}')
        assert told(store, signers=expired) == [("bad", None)]
        assert "expired" in reasons(store, signers=expired)[0]
        early = keys.signers('anna@x valid-after="21000101" {anna}')
        assert told(store, signers=early) == [("bad", None)]

    def test_a_signature_from_when_the_key_was_valid_stays_good(self, store: Store, keys: Keys) -> None:
        turn = store.get("@")
        data = _sign(keys, signed_message("turn", [bytes.fromhex(turn.seal)]))
        insert(store, turn.id, data, milliseconds=1_500_000_000_000)
        assert told(store, signers=keys.signers('anna@x valid-before="20200101" {anna}')) == [("good", "anna@x")]

    def test_a_time_to_come_is_judged_again_when_it_is_asked_again(
        self, store: Store, keys: Keys, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It counts as made now, and the key ends meanwhile."""
        turn = store.get("@")
        data = _sign(keys, signed_message("turn", [bytes.fromhex(turn.seal)]))
        insert(store, turn.id, data, milliseconds=4_000_000_000_000)
        until = keys.signers('anna@x valid-before="20900101" {anna}')
        assert told(store, signers=until) == [("good", "anna@x")]
        later = SimpleNamespace(time=lambda: 3_900_000_000, localtime=time.localtime, strftime=time.strftime)
        monkeypatch.setattr(judging, "time", later)
        assert told(store, signers=until) == [("bad", None)]

    def test_a_time_to_come_makes_no_key_valid(self, store: Store, keys: Keys) -> None:
        turn = store.get("@")
        data = _sign(keys, signed_message("turn", [bytes.fromhex(turn.seal)]))
        insert(store, turn.id, data, milliseconds=4_200_000_000_000)
        assert told(store, signers=keys.signers('anna@x valid-after="21000101" {anna}')) == [("bad", None)]

    def test_a_revoked_key(self, store: Store, keys: Keys) -> None:
        store.sign("@", key=keys.folder / "anna")
        signers, revoked = keys.signers("anna@x {anna}"), keys.folder / "revoked"
        run("ssh-keygen", "-k", "-q", "-f", revoked, keys.folder / "anna.pub")
        for each in (revoked, keys.folder / "anna.pub"):
            assert reasons(store, signers=signers, revoked=each) == ["its key was revoked"]
            assert reasons(store, revoked=each) == ["its key was revoked"], "nobody has to list it"
        keys.make("bert")
        assert told(store, signers=signers, revoked=keys.folder / "bert.pub") == [("good", "anna@x")]

    def test_a_key_that_is_for_something_else(self, store: Store, keys: Keys) -> None:
        store.sign("@", key=keys.folder / "anna")
        assert told(store, signers=keys.signers('anna@x namespaces="git" {anna}')) == [("bad", None)]
        assert told(store, signers=keys.signers('anna@x namespaces="headish" {anna}')) == [("good", "anna@x")]

    def test_a_certificate_that_had_run_out(self, store: Store, keys: Keys) -> None:
        keys.make("ca"), keys.make("carol")
        store.sign("@", key=keys.certify("ca", "carol", "carol@x", "-V", "20200101:20210101"))
        assert told(store, signers=keys.signers("*@x cert-authority {ca}")) == [("bad", None)]

    def test_another_namespace(self, store: Store, keys: Keys) -> None:
        """A signature of a file, a commit or an e-mail is none of a turn, whatever it covers."""
        turn = store.get("@")
        data = _sign(keys, signed_message("turn", [bytes.fromhex(turn.seal)]), namespace="git")
        with pytest.raises(InvalidContent, match="its namespace is b'git'"):
            read_signature(data)
        forged = data.replace(b"\0\0\0\3git", b"\0\0\0\7headish")
        assert forged != data
        insert(store, turn.id, forged)
        assert told(store, signers=keys.signers("anna@x {anna}")) == [("bad", None)]

    def test_other_seals(self, store: Store, keys: Keys) -> None:
        seal = store.get("@~1").seal
        insert(store, store.get("@").id, _sign(keys, signed_message("turn", [bytes.fromhex(seal)])))
        assert reasons(store, signers=keys.signers("anna@x {anna}")) == ["it is not a signature of this"]

    def test_one_kind_is_not_the_other(self, store: Store, keys: Keys) -> None:
        """The first turn's thread has its seal alone, and is signed otherwise."""
        first = store.log("@")[-1]
        insert(store, first.id, _sign(keys, signed_message("turn", [bytes.fromhex(first.seal)])), kind="thread")
        assert told(store, signers=keys.signers("anna@x {anna}")) == [("bad", None)]

    def test_moved_to_another_turn(self, store: Store, keys: Keys) -> None:
        store.sign("@", key=keys.folder / "anna")
        [row] = store._read(lambda connection: list(all_signatures(connection, store._number)))
        insert(store, store.get("@~1").id, row.data)
        assert told(store, signers=keys.signers("anna@x {anna}")) == [("good", "anna@x"), ("bad", None)]

    def test_moved_to_another_space(self, store: Store, place: Place, keys: Keys) -> None:
        store.sign("@", key=keys.folder / "anna")
        [row] = store._read(lambda connection: list(all_signatures(connection, store._number)))
        other = place.fresh()
        turn = other.add_turn("b", role="assistant")
        insert(other, turn.id, row.data)
        assert told(other, signers=keys.signers("anna@x {anna}")) == [("bad", None)]


class TestHostile:
    def test_a_principal_cannot_steer_a_terminal_or_ssh_keygen(self, store: Store, keys: Keys) -> None:
        store.sign("@", key=keys.folder / "anna")
        assert told(store, signers=keys.signers("-oProxyCommand=touch {anna}")) == [("good", "-oProxyCommand=touch")]
        [judged] = store.signatures(signers=keys.signers("e\x1b[31mvil {anna}"))
        assert judged.name == "e\x1b[31mvil"
        listed = keys.signers("anna {anna}")
        listed.write_bytes(listed.read_bytes().replace(b"anna ", b"ann\xff ", 1))
        [judged] = store.signatures(signers=listed)
        assert (judged.verdict, judged.name) == ("good", "ann\ufffd"), "JSON holds no half characters"

    def test_a_key_whose_name_is_an_option(self, store: Store, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(keys.folder)
        os.rename("anna", "-oProxyCommand")
        store.sign("@", key="-oProxyCommand")
        assert told(store) == [("unknown", None)]
        with pytest.raises(SigningFailed, match=r"/-Yverify' cannot be read"):
            store.sign("@", key="-Yverify")

    def test_what_is_no_key_is_refused_by_name(self, store: Store, keys: Keys, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        for each in (pipe, Path("/dev/zero"), tmp_path):
            with pytest.raises(SigningFailed, match="not a regular file"):
                store.sign("@", key=each)
            with pytest.raises(SigningFailed, match="not a regular file"):
                store.signatures(signers=each)
            with pytest.raises(SigningFailed, match="not a regular file"):
                store.signatures(revoked=each)
        (tmp_path / "text").write_text("no key")
        with pytest.raises(SigningFailed, match="ssh-keygen says"):
            store.sign("@", key=tmp_path / "text")
        with pytest.raises(SigningFailed, match="lists no revoked keys"):
            store.signatures(revoked=tmp_path / "text")
        (tmp_path / "huge").write_bytes(b"#" * (1024 * 1024 + 1))
        with pytest.raises(SigningFailed, match="more than 1,048,576 bytes"):
            store.signatures(signers=tmp_path / "huge")
        assert store.signatures() == []

    def test_a_key_that_others_can_read_is_refused_in_ssh_keygens_words(self, store: Store, keys: Keys) -> None:
        (keys.folder / "anna").chmod(0o644)
        with pytest.raises(SigningFailed, match="UNPROTECTED PRIVATE KEY"):
            store.sign("@", key=keys.folder / "anna")

    def test_without_ssh_keygen(self, store: Store, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
        store.sign("@", key=keys.folder / "anna")
        monkeypatch.setenv("PATH", "/nowhere")
        with pytest.raises(SigningFailed, match="comes with OpenSSH"):
            store.sign("@~1", key=keys.folder / "anna")

    @pytest.mark.parametrize("cut", [0, 5, 10, 12, 40, 90, -1])
    def test_bytes_that_are_no_signature(self, keys: Keys, cut: int) -> None:
        data = _sign(keys, b"x")
        with pytest.raises(InvalidContent):
            read_signature(data[:cut])
        with pytest.raises(InvalidContent):
            read_signature(data + b"\0")
        with pytest.raises(InvalidContent, match=f"the limit is {SIGNATURE_LIMIT_BYTES:,}"):
            read_signature(data + bytes(SIGNATURE_LIMIT_BYTES))

    def test_a_turn_takes_so_many_signatures_and_no_more(self, store: Store, keys: Keys) -> None:
        turn = store.get("@").id
        data = _sign(keys, b"x")
        for number in range(SIGNATURES_LIMIT + 3):
            insert(store, turn, data[:-1] + bytes([number]))
        assert len(store.signatures()) == SIGNATURES_LIMIT
        with pytest.raises(SigningFailed, match="has 16 signatures"):
            store.sign("@", key=keys.folder / "anna")

    def test_ids_are_whole(self, store: Store) -> None:
        with pytest.raises(InvalidArgument, match="whole ids"):
            store.signatures(["main"])  # type: ignore[list-item]


class TestErased:
    def test_signatures_go_with_the_meta(self, store: Store, keys: Keys) -> None:
        turn = store.get("@").id
        store.sign("@", key=keys.folder / "anna"), store.sign("@~1", key=keys.folder / "anna")
        store.erase(turn, reason="r")
        assert told(store, signers=keys.signers("anna@x {anna}")) == [("good", "anna@x")] * 2, "the seal stays"
        store.erase(turn, reason="r", meta=True)
        assert [each.turn for each in store.signatures()] != [turn]
        assert len(store.signatures()) == 1
        assert store.verify().problems == ()
        with pytest.raises(TurnErased, match="with its meta"):
            store.sign(turn, key=keys.folder / "anna")

    def test_none_comes_back(self, store: Store, keys: Keys) -> None:
        turn = store.get("@").id
        store.sign("@", key=keys.folder / "anna")
        [row] = store._read(lambda connection: list(all_signatures(connection, store._number)))
        store.erase(turn, reason="r", meta=True)
        insert(store, turn, row.data)
        assert store.signatures() == []


DAMAGE = {
    "number": "9",
    "turn": "'03hb0pb2lt8vpitzpj87g6kx4'",
    "kind": "'thread'",
    "key": "'SHA256:x'",
    "bytes": "x'41'",
    "milliseconds": "1",
    "remote": "x'41'",
    "seal": "x'41'",
}


@pytest.mark.parametrize("column", DAMAGE)
def test_an_altered_row_is_named(column: str, tmp_path: Path, keys: Keys) -> None:
    with Store.open(tmp_path / "a.db") as store:
        store.add_turn("x")
        store.sign("@", key=keys.folder / "anna")
        run_sql(store, f"UPDATE signature SET {column} = {DAMAGE[column]}")
        assert [each.subject.split()[0] for each in store.verify().problems] == ["signature"]


def _sign(keys: Keys, message: bytes, namespace: str = "headish") -> bytes:
    return from_armour(
        run("ssh-keygen", "-Y", "sign", "-q", "-n", namespace, "-f", keys.folder / "anna", message=message)
    )
