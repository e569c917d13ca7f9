"""The page in a browser: read, search, write, live in two tabs, without script, and attacked."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from threading import Event

import pytest

from headish import Store
from support.chrome import look, needs_chromedriver, set_script
from support.looking import WATCH, Looking
from support.loopback import Loopback, event_stream
from support.providers.answers import anthropic_text, held_back
from support.serving import serving
from support.talks import fill_hostile

pytestmark = [pytest.mark.slow, needs_chromedriver, pytest.mark.xdist_group("browser")]


def test_two_tabs_see_what_is_written_while_it_is_typed_in(looking: Looking) -> None:
    looking.store.add_turn("First.", bookmark="live")
    looking.open("/c/live")
    field = looking.find("#compose textarea")
    field.send_keys("half a sent")
    first = looking.driver.current_window_handle
    looking.store.add_turn("Said elsewhere.", role="assistant", continues="live")
    looking.until(lambda: "Said elsewhere." in looking.text("#thread"))
    assert looking.find("#compose textarea").get_attribute("value") == "half a sent"
    assert looking.driver.switch_to.active_element == looking.find("#compose textarea")
    looking.driver.switch_to.new_window("tab")
    looking.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    looking.open("/c/live")
    looking.find("#compose textarea").send_keys("From the second tab.")
    looking.find("#compose button:not(.main)").click()
    looking.until(lambda: "From the second tab." in looking.text("#thread"))
    assert looking.reports() == []
    looking.driver.close()
    looking.driver.switch_to.window(first)
    looking.until(lambda: "From the second tab." in looking.text("#thread"))
    assert looking.find("#compose textarea").get_attribute("value") == "half a sent"


def test_an_answer_is_read_while_it_arrives_and_can_be_stopped(looking: Looking) -> None:
    looking.model.answer(chunks=event_stream(anthropic_text("one two " * 400)), delay_seconds=0.02)
    looking.store.add_turn("Begin.", bookmark="slow")
    looking.open("/c/slow")
    looking.find("#compose textarea").send_keys("Go on.")
    looking.find("#compose button.main").click()
    looking.until(lambda: "one two" in looking.text("main"))
    # One step in the page: the element is another at each piece of the answer, and gone where that was quick.
    looking.driver.execute_script("document.querySelector('.arriving button')?.click()")
    looking.until(lambda: len(looking.store.messages("slow")) == 3)
    looking.until(lambda: not looking.text(".arriving") and "one two" in looking.text("#thread"))
    assert looking.reports() == []


def test_any_number_of_tabs_is_open(looking: Looking) -> None:
    """A browser opens six connections to a server: with a stream in each of six tabs, a seventh never loaded."""
    driver, first = looking.driver, looking.driver.current_window_handle
    looking.store.add_turn("Tab?", bookmark="tab")
    looking.open("/c/tab")
    for _ in range(7):
        driver.switch_to.new_window("tab")
        looking.open("/c/tab")
    looking.store.add_turn("All of them.", continues="tab")
    looking.until(lambda: "All of them." in looking.text("#thread"))
    for tab in driver.window_handles:
        driver.switch_to.window(tab)
        looking.until(lambda: "All of them." in looking.text("#thread"))
        if tab != first:
            driver.close()
    driver.switch_to.window(first)
    looking.store.add_turn("Again.", continues="tab")
    assert "Again." in looking.until(lambda: "Again." in looking.text("#thread") and looking.text("#thread"))


def test_an_answer_that_ends_under_the_focus_is_shown_once_and_has_the_focus(looking: Looking) -> None:
    ended = Event()
    looking.model.answer(chunks=held_back(anthropic_text("Half of ", "the answer."), 3, ended))
    looking.store.add_turn("Begin.", bookmark="focus")
    looking.open("/c/focus")
    looking.find("#compose textarea").send_keys("Go on.")
    looking.find("#compose select [value=milli]").click()
    looking.find("#compose button.main").click()
    looking.until(lambda: "Half of" in looking.text(".arriving .parts"))
    looking.driver.execute_script("document.querySelector('.arriving button').focus()")
    ended.set()
    looking.until(lambda: looking.store.text("focus") == "Half of the answer.")
    looking.until(lambda: not looking.text(".arriving"))
    looking.until(lambda: looking.text("#thread").count("Half of the answer.") == 1)
    assert looking.driver.switch_to.active_element == looking.find(f"#t{looking.store.bookmarks['focus']}")


def test_a_double_click_asks_once(looking: Looking) -> None:
    looking.store.add_turn("Begin.", bookmark="twice")
    with socket.create_server(("127.0.0.1", 0)) as loading:
        address = f"http://127.0.0.1:{loading.getsockname()[1]}"
        looking.store.pointers.set("loading", "openai/m", base_url=address, key_env="PATH")
        try:
            looking.open("/c/twice")
            looking.find("#compose textarea").send_keys("Go on.")
            looking.find("#compose select [value=loading]").click()
            clicks = "for (const wait of [0, 80]) setTimeout(() => arguments[0].click(), wait)"
            looking.driver.execute_script(clicks, looking.find("#compose button.main"))
            looking.until(lambda: looking.text(".arriving button") == "Stop")
            assert len(looking.store.messages("twice")) == 2
            looking.find(".arriving button").click()
            looking.until(lambda: not looking.text(".arriving"))
        finally:
            looking.store.pointers.remove("loading")
    assert looking.reports() == []


def test_search_as_you_type_and_keys_alone(looking: Looking) -> None:
    looking.open("/")
    body = looking.find("body")
    body.send_keys("/")
    assert looking.driver.switch_to.active_element == looking.find("#search")
    looking.find("#search").send_keys("ground")
    looking.until(lambda: looking.driver.find_elements("css selector", ".hits mark"))
    assert "1 hit" in looking.until(lambda: looking.text("#polite"))
    assert looking.driver.current_url.endswith("/?q=ground")
    looking.open("/c/garden")
    body = looking.find("body")
    for key, who in (
        ("j", "user"),
        ("j", "assistant"),
        ("k", "user"),
        ("J", "user"),
        ("K", "user"),
        ("j", "assistant"),
    ):
        body.send_keys(key)
        assert looking.driver.switch_to.active_element.get_attribute("class") == f"{who} current"
    body.send_keys("l")
    looking.until(lambda: f"/t/{looking.talk.second}" in looking.driver.current_url)
    looking.find("body").send_keys("?")
    looking.until(lambda: looking.driver.current_url.endswith("/keys"))
    looking.find("#keys-switch").click()
    looking.open("/")
    looking.find("body").send_keys("?")
    assert looking.driver.current_url.endswith("/")
    looking.driver.execute_script("localStorage.clear()")
    assert looking.reports() == []


EDGES = """
return ["article", ".rail"].map((each) => document.querySelector(each)?.getBoundingClientRect())
  .map((box) => box && [Math.round(box.left), Math.round(box.right)]);
"""


def test_what_stands_below_a_thread_is_as_wide_as_its_turns_however_short_they_are(looking: Looking) -> None:
    try:
        look(looking.driver, width=1100)
        looking.open("/c/garden")
        looking.until(lambda: looking.driver.execute_script(EDGES) == [[182, 918], [182, 918]])
        looking.open("/c/trip")
        looking.until(lambda: looking.driver.execute_script(EDGES) == [[182, 918], None])
    finally:
        looking.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_code_reads_from_left_to_right_in_a_message_from_right_to_left(looking: Looking) -> None:
    looking.store.add_turn("שלום `f(x)` עולם\n\n```\nf(x) = 1;\n```", bookmark="hebrew")
    looking.open("/c/hebrew")
    seen = looking.driver.execute_script(
        "return ['.text p', '.text p code', '.text pre', '.text pre code']"
        ".map(at => getComputedStyle(document.querySelector('#thread ' + at)).direction)"
    )
    assert seen == ["rtl", "ltr", "ltr", "ltr"]


def test_the_key_of_the_keys_stays_in_the_space(looking: Looking) -> None:
    with Store.open(looking.served.settings.target, space="keyed") as store:
        store.add_turn("Hi.", bookmark="keyed")
    looking.open("/c/keyed?space=keyed")
    looking.find("body").send_keys("?")
    looking.until(lambda: looking.text("h1") == "Keys")
    assert looking.driver.current_url == f"{looking.served.url}/keys?space=keyed"


def test_without_script_all_of_it_works(looking: Looking) -> None:
    set_script(looking.driver, on=False)
    try:
        looking.open("/")
        looking.find("#search").send_keys("screws\n")
        looking.until(lambda: looking.driver.find_elements("css selector", ".hits mark"))
        looking.open("/new")
        looking.find("input[name=new]").send_keys("plain")
        looking.find("textarea[name=content]").send_keys("No script here.")
        looking.find("form.stack button:not(.main)").click()
        looking.until(lambda: looking.driver.find_elements("css selector", "article[data-turn]"))
        assert looking.store.text("plain") == "No script here."
    finally:
        set_script(looking.driver, on=True)


def test_what_strangers_said_runs_loads_and_reads_nothing(looking: Looking) -> None:
    with Loopback() as canary:
        tip = fill_hostile(looking.store, f"{canary.url}/canary")
        views = ["/", "/c/hostile", f"/t/{tip}", f"/t/{tip}/change", f"/t/{tip}/explain", f"/t/{tip}/whole"]
        views += [f"/erase/{tip}", f"/diff/{tip}..garden", "/?q=script", "/calls", "/?tag=<script>", "/t/<script>"]
        for path in [*views, *(f"/raw/{tip}/{number}" for number in (6, 2))]:
            looking.open(path)
            time.sleep(0.2)
            assert looking.driver.title != "owned", path
            if not path.startswith("/raw"):  # which is in a sandbox, where nobody may even ask
                assert looking.driver.execute_script("return document.cookie") == ""
                assert looking.reports() == []
        assert canary.requests == []
        page = Path(looking.served.settings.folder).parent / "frame.html"
        page.write_text(f'<iframe src="{looking.served.url}/c/hostile"></iframe>', "utf-8")
        looking.driver.get(page.as_uri())
        looking.driver.switch_to.frame(0)
        assert "data-turn" not in looking.driver.page_source
        looking.driver.switch_to.default_content()


LATE = """
const real = globalThis.fetch;
let asked = 0;
globalThis.fetch = async (...what) => {
  const answer = await real(...what);
  if (++asked === 1) {
    await new Promise((done) => { globalThis.letGo = done; });
    const text = await answer.text();
    answer.text = async () => { setTimeout(() => { globalThis.isShown = true; }); return text; };
  }
  return answer;
};
"""
"""The answer to the first request stays on its way until ``letGo``; ``isShown`` once the page has taken it."""


def test_a_page_that_was_fetched_earlier_takes_not_the_place_of_a_later_one(looking: Looking) -> None:
    looking.store.add_turn("One.", bookmark="late/page")
    looking.open("/c/late/page")
    looking.driver.execute_script(LATE)
    looking.store.add_turn("Two.", continues="late/page", role="assistant")
    looking.until(lambda: looking.driver.execute_script("return globalThis.letGo !== undefined"))
    looking.store.add_turn("Three.", continues="late/page")
    for _ in range(60):  # for a page that does not wait for the first answer
        if "Three." in looking.text("#thread"):
            break
        time.sleep(0.05)
    looking.driver.execute_script("letGo()")
    looking.until(lambda: looking.driver.execute_script("return globalThis.isShown"))
    looking.until(lambda: "Three." in looking.text("#thread"))
    assert looking.reports() == []


FAILING = """
const real = globalThis.fetch;
globalThis.isDown = "network";
globalThis.tries = 0;
globalThis.fetch = async (...what) => {
  globalThis.tries += 1;
  if (globalThis.isDown === "network") throw new TypeError("Failed to fetch");
  return globalThis.isDown ? new Response("", { status: globalThis.isDown }) : real(...what);
};
"""
"""No page comes: while ``isDown`` is "network" nobody answers, while it is a status the answer is that. ``tries``
counts what was asked for."""


def test_a_page_that_does_not_come_is_fetched_again_and_meanwhile_the_page_says_so(looking: Looking) -> None:
    looking.store.add_turn("One.", bookmark="away")
    looking.open("/c/away")
    looking.driver.execute_script(FAILING)
    looking.store.add_turn("Two.", continues="away", role="assistant")
    words = looking.until(lambda: looking.text("#behind"))
    assert words == "This page is not up to date: the server cannot be reached. Trying again."
    looking.driver.execute_script("isDown = 503")
    looking.until(lambda: looking.text("#behind").startswith("This page is not up to date: the server answered 503."))
    assert looking.driver.execute_script("return tries") < 5  # the waits grow
    looking.driver.execute_script("isDown = false")
    looking.until(lambda: "Two." in looking.text("#thread"))
    looking.until(lambda: not looking.text("#behind"))
    assert looking.reports() == []


STREAMS = """
const Real = globalThis.EventSource;
globalThis.streams = [];
globalThis.isRefusing = false;
globalThis.refused = 0;
globalThis.EventSource = class extends Real {
  constructor(url) {
    super(globalThis.isRefusing ? "/no/such/stream" : url);
    globalThis.streams.push(this);
    this.addEventListener("error", () => { if (this.readyState === Real.CLOSED) globalThis.refused += 1; });
  }
};
"""
"""New streams of events are refused for good while ``isRefusing``; ``refused`` counts the refusals, of which one may
come after the last stream that was refused was asked for."""


def test_a_stream_that_was_refused_is_asked_for_again(looking: Looking) -> None:
    looking.store.add_turn("One.", bookmark="refused")
    script = {"source": STREAMS}
    added = looking.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", script)["identifier"]
    try:
        looking.open("/c/refused")
    finally:
        looking.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", {"identifier": added})
    looking.until(lambda: looking.driver.execute_script("return streams[0]?.readyState === 1"))
    # As a browser does where a proxy answers 502 in the place of the server.
    looking.driver.execute_script("isRefusing = true; streams[0].close(); streams[0].dispatchEvent(new Event('error'))")
    looking.until(lambda: looking.driver.execute_script("return refused") >= 2)  # the one above and one more
    assert looking.until(lambda: looking.text("#behind")).startswith("This page is not up to date")
    looking.driver.execute_script(FAILING + "isDown = false")
    looking.driver.execute_script("isRefusing = false")
    looking.until(lambda: looking.driver.execute_script("return tries") == 1)  # for what nobody told meanwhile
    looking.store.add_turn("Two.", continues="refused", role="assistant")
    looking.until(lambda: "Two." in looking.text("#thread"))
    looking.until(lambda: not looking.text("#behind"))


def test_a_server_that_was_away_is_seen_and_what_was_written_meanwhile_is_shown(
    looking: Looking, tmp_path: Path
) -> None:
    with Store.open(tmp_path / "away.db") as store:
        store.add_turn("One.", bookmark="away")
        with serving(tmp_path / "away.db", tmp_path / "state") as served:
            looking.driver.get(f"{served.url}/login?code={served.logins.make_code()}")
            looking.driver.get(f"{served.url}/c/away")
            time.sleep(0.5)  # for its stream of events
            assert not looking.text("#behind")
        looking.until(lambda: "the server cannot be reached" in looking.text("#behind"))
        store.add_turn("Two.", continues="away", role="assistant")
        with serving(tmp_path / "away.db", tmp_path / "state", at=served.settings.port):
            looking.until(lambda: "Two." in looking.text("#thread"))
            looking.until(lambda: not looking.text("#behind"))
            looking.driver.get("about:blank")


def test_a_login_that_is_over_is_called_so_and_the_next_one_brings_the_page_up_to_date(looking: Looking) -> None:
    looking.store.add_turn("One.", bookmark="over")
    looking.open("/c/over")
    looking.find("#compose textarea").send_keys("half a sent")
    looking.served.logins.end(looking.driver.get_cookie(looking.served.settings.cookie)["value"])
    over = "This page is not up to date: you are no longer logged in. Trying again."
    looking.until(lambda: looking.text("#behind") == over)
    looking.store.add_turn("Two.", continues="over", role="assistant")
    first = looking.driver.current_window_handle
    looking.driver.switch_to.new_window("tab")
    looking.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    looking.open(f"/login?code={looking.served.logins.make_code()}")
    looking.driver.close()
    looking.driver.switch_to.window(first)
    looking.until(lambda: "Two." in looking.text("#thread") and not looking.text("#behind"))
    assert looking.find("#compose textarea").get_attribute("value") == "half a sent"
