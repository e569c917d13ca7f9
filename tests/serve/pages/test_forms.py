"""What the forms of the page do, asked of a web process on a socket; test_actions sends them in a browser."""

from __future__ import annotations

import re
import socket
import time
from html import unescape
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from headish import Store
from headish.serve.pages.changing import ACTIONS
from headish.values.access.tokens import RIGHTS
from support.houses import House, browser
from support.loopback import event_stream
from support.providers.answers import anthropic_text, held_back
from support.serving import serving

pytestmark = pytest.mark.slow


class TestWriting:
    def test_say_asks_the_model_and_stores_both(self, house: House) -> None:
        house.model.answer(chunks=event_stream(anthropic_text("Take the early one.")))
        place = house.done("say", new="asked", content="Which one?", ask="1", ptr="milli")
        assert place.startswith("/c/asked?at=")
        wait_until(lambda: len(house.store.messages("asked")) == 2)
        assert "Take the early one." in house.get("/c/asked")
        house.done("say", name="asked", content="Only stored.")
        assert house.store.text("asked") == "Only stored."
        assert len(house.model.requests) == 1

    def test_a_system_prompt_is_stored_where_no_model_is_asked_too(self, house: House) -> None:
        place = house.done("say", new="told", system="Be brief.", content="Only stored.")
        assert place.startswith("/c/told?at=")
        said = [(turn.meta.role, house.store.text(turn.id)) for turn, _ in house.store.messages("told")]
        assert said == [("system", "Be brief."), ("user", "Only stored.")]

    def test_an_answer_that_fails_says_so_on_the_page(self, house: House) -> None:
        turn = house.store.add_turn("Fail?", bookmark="failing").id
        house.model.answer_json({"error": {"type": "invalid_request_error", "message": "no such model"}}, 400)
        answer = house.do("answer", turn=turn, name="failing")
        shown = answer.text if answer.status_code != 303 else wait_until(lambda: found(house, "/c/failing", "failed"))
        assert "no such model" in shown

    def test_a_thread_goes_on_with_the_model_that_it_was_asked_by(self, house: House) -> None:
        """Pointers are listed by name, and a browser chooses the first if none is selected."""
        house.model.answer(chunks=event_stream(anthropic_text("Take the early one.")))
        house.store.pointers.set("aaa", "openai/m", base_url="http://127.0.0.1:1/v1")
        try:
            house.done("say", new="own", content="Which one?", ask="1", ptr="milli")
            wait_until(lambda: len(house.store.messages("own")) == 2)
            house.store.add_turn("Hi.", bookmark="no-own")
            for name, chosen in (("own", [("", "milli, the thread's own")]), ("no-own", [("milli", "milli")])):
                page = house.get(f"/c/{name}")
                assert re.findall(r'<option value="(\w*)" selected>([^<]*)<', page) == chosen, name
            house.model.answer(chunks=event_stream(anthropic_text("At seven.")))
            house.done("say", name="own", content="When?", ask="1", ptr="")
            wait_until(lambda: house.store.text("own") == "At seven.")
        finally:
            house.store.pointers.remove("aaa")

    def test_the_pointer_that_a_stranger_names_is_not_the_threads_own(self, house: House, tmp_path: Path) -> None:
        with Store.open(tmp_path / "stranger.db") as stranger:
            stranger.add_turn("Ask mine.", bookmark="theirs", inherited={"provider_ptr": "aaa"})
            stranger.bundles.create(tmp_path / "bundle")
        house.store.pointers.set("aaa", "openai/m", base_url="http://127.0.0.1:1/v1")
        try:
            house.store.bundles.apply(tmp_path / "bundle")
            place = f"/t/{house.store.search('mine')[0].turn.id}"
            assert re.findall(r'<option value="(\w*)" selected>', house.get(place)) == ["milli"]
            assert '<option value="">milli, the default</option>' in house.get(f"{place}/explain")
        finally:
            house.store.pointers.remove("aaa")

    def test_a_model_that_cannot_be_asked_leads_to_the_question_which_is_stored(self, house: House) -> None:
        """A page of the error alone would make people say it again, as a second question."""
        with socket.create_server(("127.0.0.1", 0)) as closed:
            address = f"http://127.0.0.1:{closed.getsockname()[1]}"
        house.store.pointers.set("gone", "openai/m", base_url=address)
        place = house.done("say", new="unasked", content="Is anybody there?", ask="1", ptr="gone")
        assert place.startswith("/c/unasked?at=")
        assert "Is anybody there?" in house.get("/c/unasked")
        page = wait_until(lambda: found(house, "/c/unasked", "The answer failed: "))  # it is tried four times first
        assert "Is anybody there?" in page
        assert f"The answer failed: openai: {address} cannot be reached" in page
        [again] = re.findall(r'href="([^"]+)">Ask again</a>', page)
        change = house.get(unescape(again))
        assert re.findall(r'<option value="(\w*)"( selected)?>', change.partition("Fork")[0]) == [
            ("", " selected"), ("gone", ""), ("milli", "")
        ]  # fmt: skip
        house.model.answer(chunks=event_stream(anthropic_text("I am.")))
        house.done("answer", turn=house.store.bookmarks["unasked"], name="unasked", ptr="milli")
        wait_until(lambda: house.store.text("unasked") == "I am.")

    def test_a_model_that_is_slow_to_begin_holds_no_form_up_and_can_be_stopped(self, house: House) -> None:
        """People who see nothing happen send the form again: each time the question was stored and asked once more."""
        with socket.create_server(("127.0.0.1", 0)) as loading:
            loading.settimeout(60)
            port = loading.getsockname()[1]
            house.store.pointers.set("loading", "openai/m", base_url=f"http://127.0.0.1:{port}/v1", key_env="PATH")
            place = house.done("say", new="patience", content="Are you there?", ask="1", ptr="loading")
            assert place.startswith("/c/patience?at=")
            with loading.accept()[0] as asked:
                asked.settimeout(60)
                assert asked.recv(65_536)
                page = house.get("/c/patience")
                assert ">answering …<" in page
                [answer] = re.findall(r'data-answer="(\w+)"', page)
                house.done("stop", answer=answer, turn=house.store.bookmarks["patience"], name="patience")
                while asked.recv(65_536):
                    pass  # until the request is over
        wait_until(lambda: "data-answer" not in house.get("/c/patience"))
        assert "failed" not in house.get("/c/patience")
        assert len(house.store.messages("patience")) == 1

    def test_an_answer_that_was_stopped_did_not_fail(self, house: House) -> None:
        stopped = Event()
        house.model.answer(chunks=held_back(anthropic_text("Half of ", "the answer."), 3, stopped))
        house.done("say", new="stopped", content="Which one?", ask="1", ptr="milli")
        page = wait_until(lambda: found(house, "/c/stopped", "Half of "))
        assert ">answering …<" in page, "only an answer that goes on has an ellipsis, not one that failed"
        [answer] = re.findall(r'data-answer="(\w+)"', page)
        house.done("stop", answer=answer, turn=house.store.bookmarks["stopped"], name="stopped")
        wait_until(lambda: len(house.store.messages("stopped")) == 2)
        stopped.set()
        wait_until(lambda: "answering" not in house.get("/c/stopped"))
        page = house.get("/c/stopped")
        assert "This reply is incomplete." in page
        assert page.count("Half of") == 1
        assert "failed" not in page
        assert "data-answer" not in page

    def test_a_page_reloads_only_when_somebody_asks_for_it(self, house: House) -> None:
        """A page that reloads itself where no script runs empties the box in which somebody types meanwhile."""
        ended = Event()
        house.model.answer(chunks=held_back(anthropic_text("Half of ", "the answer."), 3, ended))
        house.done("say", new="typed", content="Which one?", ask="1", ptr="milli")
        page = wait_until(lambda: found(house, "/c/typed", "Half of "))
        assert "http-equiv" not in page
        assert '<noscript><p class="soft">Reload the page to see more of this answer.</p></noscript>' in page
        ended.set()
        wait_until(lambda: "answering" not in house.get("/c/typed"))
        assert "Reload the page" not in house.get("/c/typed")

    def test_what_arrived_of_an_answer_that_failed_is_shown_once(self, house: House) -> None:
        house.model.answer(chunks=event_stream(anthropic_text("Half of ", "the answer."))[:3], cut=True)
        house.done("say", new="broken", content="Which one?", ask="1", ptr="milli")
        wait_until(lambda: found(house, "/c/broken", "The answer failed: "))
        page = house.get("/c/broken")  # the one before may have read the thread before its turn was stored
        assert "The answer failed: " in page
        assert "This reply is incomplete." in page
        assert page.count("Half of") == 1
        assert "Ask again" not in page, "it would not continue the name, as 'Answer again' does"
        [again] = re.findall(r'href="([^"]+)">Answer again</a>', page)
        form = house.get(unescape(again)).partition('action="/do/retry">')[2].partition("</form>")[0]
        sent = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form))
        house.model.answer(chunks=event_stream(anthropic_text("The whole answer.")))
        house.done("retry", **sent)
        wait_until(lambda: house.store.text("broken") == "The whole answer.")
        assert "Answer again" not in house.get("/c/broken")

    def test_answer_again_and_edit_stand_beside_and_the_name_moves_over(self, house: House) -> None:
        house.store.add_turn("Peak?", bookmark="peaks")
        old = house.store.add_turn("Mount Kenya.", role="assistant", continues="peaks").id
        house.model.answer(chunks=event_stream(anthropic_text("Kilimanjaro.")))
        house.done("retry", turn=old, name="peaks", back="0")
        wait_until(lambda: house.store.text("peaks") == "Kilimanjaro.")
        house.done("edit", turn=house.store.bookmarks["peaks"], name="peaks", back="0", content="Kilimanjaro, 5,895 m.")
        assert house.store.text("peaks") == "Kilimanjaro, 5,895 m."
        assert len(house.store.siblings("peaks").turns) == 3
        place = house.done("edit", turn=old, content="By id.")
        assert place.startswith("/t/")
        assert house.store.text("peaks") == "Kilimanjaro, 5,895 m."

    def test_fork_title_hide_replace_show_and_undo(self, house: House) -> None:
        store = house.store
        turn = store.add_turn("One.", bookmark="work").id
        store.add_turn("Two.", role="assistant", continues="work")
        assert house.done("fork", turn=turn, new="side/way").startswith("/c/side/way")
        assert store.bookmarks["side/way"] == turn
        assert house.do("fork", turn=turn, new="work").status_code == 412
        house.done("describe", subject="work", name="work", title="Work", tags="a, b", pinned="1")
        record = store.conversations.get("work").record
        assert (record.title, record.tags, record.pinned) == ("Work", ("a", "b"), True)
        tip = store.bookmarks["work"]
        house.done("hide", turn=turn, name="work", head=tip, viewer="model")
        assert [message.content[0].text for message in store.resolve("work").messages] == ["Two."]  # type: ignore[union-attr]
        house.done("show", turn=turn, name="work", head=tip)
        house.done("replace", turn=turn, name="work", head=tip, content="Uno.")
        assert store.resolve("work").messages[0].content[0].text == "Uno."  # type: ignore[union-attr]
        for _ in range(3):
            house.done("undo", name="work")
        assert store.bookmarks["work"] == tip

    def test_the_last_turn_of_a_name_goes_with_the_name_after_a_warning_and_a_fork_brings_it_back(
        self, house: House
    ) -> None:
        turn = house.store.add_turn("Where to?", bookmark="leaving").id
        house.store.conversations.set("leaving", title="Lisbon", tags=["city"])
        house.store.add_turn("Portugal.", continues="leaving")
        warning = "Take this name off its only turn"
        assert warning not in house.get("/c/leaving")
        house.done("undo", name="leaving", head=house.store.bookmarks["leaving"])
        assert warning in house.get("/c/leaving")
        place = house.done("undo", name="leaving", head=turn)
        assert place == f"/t/{turn}#t{turn}"
        assert "Lisbon" not in house.get(place)
        assert "Lisbon" in house.get(house.done("fork", turn=turn, new="leaving"))

    def test_an_old_page_takes_no_turn_off_a_name_that_it_does_not_show(self, house: House) -> None:
        shown = house.store.add_turn("Where to?", bookmark="stale").id
        newer = house.store.add_turn("Portugal.", continues="stale").id
        assert f'<input type="hidden" name="head" value="{newer}"><p class="actions"><button>Take' in house.get(
            "/c/stale"
        )
        assert house.do("undo", name="stale", head=shown).status_code == 412
        assert house.store.bookmarks["stale"] == newer

    def test_a_name_that_is_taken_is_called_so_and_the_advice_can_be_followed_on_the_page(self, house: House) -> None:
        turn = house.store.add_turn("Tomatoes?", bookmark="patch").id
        fork, say = house.do("fork", turn=turn, new="patch"), house.do("say", content="Beans?", new="patch")
        assert (fork.status_code, say.status_code) == (412, 409)
        for refusal in (fork, say):
            assert "<h1>This name is taken</h1>" in refusal.text
            assert "There is a conversation &#x27;patch&#x27; already: go back and choose another name" in refusal.text
            assert "-c patch" not in refusal.text
            assert "force" not in refusal.text
        assert house.store.bookmarks["patch"] == turn

    def test_an_erasure_wants_a_reason_and_the_handle(self, house: House) -> None:
        turn = house.store.add_turn("A secret of mine.", bookmark="secret").id
        handle = house.store.abbreviate([turn])[turn]
        assert "1 turn would go" in house.get(f"/erase/{turn}")
        for fields in ({"reason": "r", "handle": "wrong"}, {"handle": handle}, {"reason": "r"}):
            assert house.do("erase", turn=turn, scope="turn", **fields).status_code == 400
            assert house.store.text(turn) == "A secret of mine."
        house.done("erase", turn=turn, scope="turn", reason="mine", handle=handle)
        page = house.get(f"/t/{turn}")
        assert "Erased on" in page
        assert "mine" in page
        assert "A secret of mine" not in page

    def test_the_preview_of_an_erasure_says_what_a_turn_without_text_holds(self, house: House) -> None:
        result = {
            "type": "tool_result",
            "tool_use_id": "c1",
            "name": "mail",
            "content": [{"type": "text", "text": "Hi."}],
        }
        call = {"type": "tool_use", "id": "c1", "name": "mail", "input": {}}
        called = house.store.add_turn([call], role="assistant").id
        page = house.get(f"/erase/{house.store.add_turn([result], role='tool', continues=called).id}", scope="thread")
        assert "(call mail)" in page
        assert "(result of mail) Hi." in page

    def test_the_preview_of_an_erasure_says_what_stays(self, house: House) -> None:
        named = house.store.add_turn("Call me Ishmael.", bookmark="named").id
        page = house.get(f"/erase/{named}", scope="thread")
        assert "The name <bdi>named</bdi> goes, with title, tags and log." in page
        answer = {"id": "m", "type": "message", "role": "assistant", "model": "claude-x", "stop_reason": "end_turn"}
        block = {"type": "text", "text": "Ishmael it is.", "note": "Ishmael, he says."}
        told = house.store.reply("named", "anthropic", [{**answer, "content": [block]}]).id
        house.store.bookmarks.set("called", told)
        page = house.get(f"/erase/{told}")
        assert "The names <bdi>called</bdi>, <bdi>named</bdi> go on pointing at it." in page
        assert "stay beside 1 turn: <code>headish erase --meta</code> takes those, too." in page

    def test_what_is_no_action_or_lacks_a_field_is_refused_and_nothing_is_stored(self, house: House) -> None:
        before = house.store.stats().turns
        for action, fields in (("nothing", {}), ("say", {"content": " "}), ("edit", {"content": "x"}), ("fork", {})):
            assert house.do(action, **fields).status_code == 400
        assert house.client.get("/do/say").status_code == 405
        assert house.store.stats().turns == before


def test_a_reader_is_offered_nothing_and_refused_everything(house: House, tmp_path: Path) -> None:
    place, t = house.served.settings.target, house.talk
    with serving(place, tmp_path, read_only=True) as served:
        client = browser(served)
        for path in ("/", "/c/garden", f"/t/{t.first}", "/diff/garden..no"):
            page = client.get(path).text
            assert "A greenhouse" in page or "lean-to" in page
            assert 'method="post"' not in page
            assert "/erase/" not in page
            assert "/new" not in page
        for action in ACTIONS:
            sent = client.post(f"/do/{action}", data={"turn": t.first, "content": "x", "name": "garden"})
            assert sent.status_code == 403, action
        assert client.get(f"/erase/{t.first}").status_code == 403
        assert client.get("/new").status_code == 403
    assert set(RIGHTS) >= {right for right, _ in ACTIONS.values()}


def found(house: House, path: str, words: str) -> str:
    page = house.get(path)
    return page if words in page else ""


def wait_until(look: Any) -> Any:
    """What ``look`` gives once it gives something."""
    for _ in range(1200):
        seen = look()
        if seen:
            return seen
        time.sleep(0.05)
    pytest.fail("it did not happen within a minute")
