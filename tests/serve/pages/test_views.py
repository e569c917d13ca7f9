"""What each page shows, asked of a web process on a socket."""

from __future__ import annotations

import gc
import re
from html import unescape
from urllib.parse import unquote

import pytest

from headish import Store
from headish.serve.pages.drawing import ASSETS
from headish.serve.pages.listing import FILTERS
from support.hostile import documents, texts
from support.houses import House, browser
from support.loops import failing
from support.talks import Talk, fill_hostile

pytestmark = pytest.mark.slow


def views_of(t: Talk) -> list[str]:
    paths = ["/", "/?q=greenhouse", "/?tag=garden", "/c/garden", "/c/trip", f"/t/{t.first}", f"/t/{t.call}/whole"]
    paths += [f"/t/{t.picture}/explain", f"/t/{t.first}/change?name=garden", "/diff", "/diff/garden..no"]
    return [*paths, "/diff/garden..no?view=unified", f"/erase/{t.first}", "/new", "/keys", "/c/number", "/?archived=1"]


def test_every_view_answers_below_300_kb(house: House) -> None:
    def check(path: str) -> None:
        page = house.get(path)
        assert len(page.encode()) < 300_000
        assert page.startswith('<!doctype html>\n<html lang="en">')
        assert "</html>" in page
        assert not re.search(r"\son\w+=|style=|<script(?! type=\"module\" src=\"/assets/page.mjs\"></script>)", page)
        levels = [int(level) for level in re.findall(r"<h(\d)", page)]
        assert levels[0] == 1
        assert levels.count(1) == 1

    assert failing(views_of(house.talk), check) == {}


def test_a_page_leaves_nothing_to_be_collected(house: House) -> None:
    """What a template holds in a circle stays, with all that its page shows, until Python's collector comes."""

    def check(path: str) -> None:
        house.get(path)
        gc.collect()
        gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            house.get(path)
            gc.collect()
            left = [type(each).__qualname__ for each in gc.garbage if type(each).__module__.startswith("jinja2")]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
        assert left == [], path

    # What lives already is not looked at again for each page. It stays frozen, as the suite's own objects are.
    gc.collect()
    gc.freeze()
    assert failing([*views_of(house.talk), "/calls"], check) == {}


def test_scripts_and_styles_are_small_and_the_templates_name_no_other(house: House) -> None:
    shipped = [each for each in ASSETS.iterdir() if each.suffix in (".mjs", ".css")]
    assert sum(each.stat().st_size for each in shipped) < 60_000
    for each in shipped:
        answer = house.client.get(f"/assets/{each.name}")
        assert answer.status_code == 200
        assert "http" not in re.sub(r"w3\.org", "", answer.text.replace("https:", ""))
        assert answer.headers["content-type"].split(";")[0] in ("text/javascript", "text/css")


def test_the_list_shows_titles_names_tags_and_filters(house: House) -> None:
    page = house.get("/")
    for shown in ("A greenhouse for tomatoes?", "garden", "budget", "Pinned", "Which train goes"):
        assert shown in page
    only = house.get("/", tag="budget")
    assert "A greenhouse" in only
    assert "Which train" not in only
    assert "No conversation fits" in house.get("/", tag="nothing")
    assert "A greenhouse, or not?" in page
    assert "**greenhouse**" not in page
    assert "ground screws of 60 cm." in page


def test_a_filter_is_called_in_the_summary_as_its_field_is(house: House) -> None:
    page = house.get("/", names="gard*", role="assistant")
    assert "<summary>Filter: name <bdi>gard*</bdi>, last turn by <bdi>assistant</bdi></summary>" in page
    for label in ("Name<input", "Last turn by<select"):
        assert f"<label>{label} name=" in page


def test_each_filter_narrows_the_list_and_says_so(house: House) -> None:
    def check(filters: dict[str, str], shown: set[str]) -> None:
        page = house.get("/", **filters)
        assert set(re.findall(r'<h2 dir="auto"><a href="/c/([^"?#]+)', page)) == shown
        if "archived" not in filters:
            said = ", ".join(
                f"{label.lower()} <bdi>{filters[name]}</bdi>" for name, label in FILTERS.items() if name in filters
            )
            assert f"<summary>Filter: {said}</summary>" in page
            assert all(f"{label}<" in page for label in FILTERS.values())
            assert '<details class="filters" open>' in page

    house.store.add_turn("Put away.", bookmark="filters/old")
    house.store.conversations.set("filters/old", archived=True)
    answer = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude-filtered-1",
        "stop_reason": "end_turn",
    }
    house.store.add_turn("Filtered?", bookmark="filters/now")
    house.store.reply("filters/now", "anthropic", [answer | {"content": [{"type": "text", "text": "Yes."}]}])
    cases = [
        ({"names": "filters/*"}, {"filters/now"}),
        ({"names": "trip"}, {"trip"}),
        ({"tag": "garden", "names": "g*"}, {"garden"}),
        ({"model": "claude-filtered-*"}, {"filters/now"}),
        ({"tool": "search_trains"}, {"trip"}),
        ({"role": "assistant", "names": "filters/*"}, {"filters/now"}),
        ({"role": "user", "names": "filters/*"}, set()),
        ({"since": "2020-01-01", "names": "trip"}, {"trip"}),
        ({"until": "2020-01-01"}, set()),
        ({"archived": "1", "names": "filters/*"}, {"filters/old"}),
    ]
    assert failing(cases, check) == {}


def test_a_filter_finds_what_is_older_than_a_page(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headish.serve.pages.listing.LISTED", 2)
    newest = house.get("/")
    assert "A greenhouse for tomatoes?" not in newest
    assert "A greenhouse for tomatoes?" in house.get("/", tag="budget")
    assert "No conversation fits." in house.get("/", tag="nothing")
    monkeypatch.setattr("headish.serve.pages.listing.LOOKED_AT", 2)
    page = house.get("/", tag="budget")
    assert "None of these 2 conversations fits. Older ones may." in page
    for _ in range(house.store.stats().turns):
        if "A greenhouse for tomatoes?" in page:
            break
        page = house.get(unescape(re.findall(r'class="button" href="([^"]+)">Older conversations', page)[0]))
    assert "A greenhouse for tomatoes?" in page


def test_the_end_of_the_list_is_not_an_empty_space(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the next page can say whether more conversations follow a full one."""
    monkeypatch.setattr("headish.serve.pages.listing.LISTED", 2)
    with Store.open(house.served.settings.target, space="ended") as store:
        for name in ("one", "two"):
            store.add_turn("Hi.", bookmark=name)
    [older] = re.findall(r'class="button" href="([^"]+)">Older conversations', house.get("/", space="ended"))
    page = house.get(unescape(older))
    assert "There are no more conversations." in page
    assert "Nothing was said here yet." not in page


def test_a_search_marks_the_words_and_links_the_branch_that_reaches_them(house: House) -> None:
    page = house.get("/", q="ground screws")
    assert "<mark>ground</mark>" in page or "<mark>ground screws</mark>" in page
    assert re.search(r'href="/c/garden\?at=\w+#t\w+"', page)
    assert "Nothing holds" in house.get("/", q="zeppelin")


def test_a_thread_folds_calls_results_reasoning_and_the_system_prompt(house: House) -> None:
    page = house.get("/c/trip")
    for folded in ("Reasoning", "Call of search_trains", "Result", "System prompt: <bdi>Answer in one sentence."):
        assert re.search(rf"<summary[^>]*>{folded}", page), folded
    assert "The model does not see the next 2 turns." in page
    assert "<th>Train</th>" in page
    assert f'src="/raw/{house.talk.picture}/1"' in page
    assert "Erased on" in house.get("/c/number")
    assert "555-0100" not in house.get("/c/number")


def test_a_thread_folds_what_a_program_puts_before_the_words_of_a_person(house: House) -> None:
    reminder = "<system-reminder>\nToday is Friday.\n</system-reminder>"
    said = [{"type": "text", "text": text} for text in (reminder, "Which day is it?")]
    house.store.add_turn(said, bookmark="reminded")
    house.store.add_turn(reminder, role="assistant", continues="reminded")
    page = house.get("/c/reminded")
    assert page.count("Added by the program</summary>") == 1
    assert re.search(r"Added by the program</summary><pre[^>]*>&lt;system-reminder", page)
    assert re.search(r'<div class="text" dir="auto"><p>Which day is it', page)
    assert "<p>&lt;system-reminder" in page, "what a model says is never folded so"


def test_a_system_prompt_that_was_replaced_is_called_by_its_new_words(house: House) -> None:
    prompt = house.store.add_turn("Be brief.", role="system", bookmark="prompted").id
    house.store.add_turn("Hi", continues="prompted")
    house.store.replace(prompt, "Be verbose.", continues="prompted")
    page = house.get("/c/prompted")
    assert "System prompt: <bdi>Be verbose.</bdi></summary>" in page
    assert "Other words replace the next turn." in page


def test_an_overlay_is_no_system_prompt(house: House) -> None:
    turn = house.store.add_turn("Eight metres.", bookmark="overlaid").id
    house.store.replace(turn, "Nine metres.", continues="overlaid")
    page = house.get("/c/overlaid")
    assert "<summary>Replaces 1 turn: <bdi>Nine metres.</bdi></summary>" in page
    assert "<bdi>Overlay</bdi>" in page
    assert "System prompt" not in page
    assert "<bdi>Overlay</bdi>" in house.get(f"/diff/{turn}..overlaid")
    assert "<span>Overlay</span>" in house.get("/", q="nine metres")


def test_a_result_says_whose_it_is_and_a_text_where_it_is_cut(house: House) -> None:
    calls = [{"type": "tool_use", "id": name, "name": f"{name}_file", "input": {}} for name in ("read", "write")]
    results = [
        {
            "type": "tool_result",
            "tool_use_id": id,
            "is_error": id == "write",
            "content": [{"type": "text", "text": "é" * length}],
        }
        for id, length in (("read", 4_000), ("write", 4_001), ("other", 1))
    ]
    house.store.add_turn(calls, role="assistant", bookmark="results")
    house.store.add_turn(results, role="tool", continues="results")
    page = house.get("/c/results")
    titles = re.findall(
        r'<details class="result"><summary dir="auto">([^<]*)</summary><pre dir="auto">é+(…?)</pre>', page
    )
    assert titles == [("Result of read_file", ""), ("Result of write_file, failed", "…"), ("Result", "")]


def test_versions_are_switched_and_the_other_branch_is_shown_to_its_end(house: House) -> None:
    t = house.talk
    page = house.get("/c/garden")
    assert f'href="/t/{t.first}/version/2"' in page
    there = house.client.get(f"/t/{t.first}/version/2")
    assert there.headers["location"] == f"/t/{t.second}#t{t.second}"
    assert "Make one plan of both." in house.get(f"/t/{t.second}")
    assert 'aria-label="Version 1 of 2"' in house.get(f"/t/{t.second}")


def test_the_rail_has_a_row_a_run_as_lines_and_as_links(house: House) -> None:
    page = house.get("/c/plan")
    rail = page[page.index('<aside class="rail"') :]
    assert rail.count("<circle") == rail.count("<li>") == 4
    assert rail.count("<path") == 4
    assert rail.count('class="merge"') == 1


def test_the_rail_leads_to_turns_of_the_own_thread_under_its_name(house: House) -> None:
    """What is written on the page of a turn, without a name, moves none along: it would be on no list."""
    t = house.talk
    rail = house.get("/c/garden").split('<aside class="rail"')[1]
    links = re.findall(r'<a href="([^"]+)"( aria-current)?', rail)
    assert (f"/c/garden?at={t.first}#t{t.first}", " aria-current") in links
    assert (f"/t/{t.second}#t{t.second}", "") in links


def test_a_turn_that_an_edit_took_off_the_thread_is_shown_on_its_own_branch(house: House) -> None:
    """The address after a question names the question: 'back' leads there after the question was edited."""
    asked = house.store.add_turn("Asked.", bookmark="moved/on").id
    house.store.edit("moved/on", "Asked in other words.")
    there = house.client.get("/c/moved/on", params={"at": asked})
    assert (there.status_code, there.headers["location"]) == (303, f"/t/{asked}#t{asked}")
    assert "<p>Asked.</p>" in house.get(f"/t/{asked}")
    assert house.client.get("/c/moved/on", params={"at": "nobody"}).status_code == 404


def test_a_way_about_a_turn_and_back_keeps_the_name_of_its_thread(house: House) -> None:
    long = house.store.add_turn("word " * 20_000, bookmark="kept/name").id
    back = f'href="/c/kept/name?at={long}#t{long}"'
    page = house.get("/c/kept/name")
    for way in ("explain", "whole", "change"):
        [there] = re.findall(rf'href="(/t/{long}/{way}\?[^"]*)"', page)
        assert back in house.get(unescape(there)), way
    [there] = re.findall(r'href="(/erase/[^"]*)"', house.get(unescape(there)))
    assert back in house.get(unescape(there))
    for place in (f"/erase/{long}", f"/t/{long}/explain"):
        assert '<input type="hidden" name="name" value="kept/name">' in house.get(place, name="kept/name")


@pytest.fixture(scope="module")
def alike(house: House) -> list[str]:
    """The first turns of 31 conversations that begin with one system turn; the last has another version, too."""
    prompt = {"role": "system", "content": "You are terse."}
    for number in range(31):
        messages = [prompt, {"role": "user", "content": f"Question {number}?"}]
        house.store.record([*messages, {"role": "assistant", "content": "Ask."}], bookmark=f"alike/{number:02}")
    firsts = [house.store.get(f"alike/{number:02}~1").id for number in range(31)]
    return [*firsts, house.store.edit("alike/30~1", "Question 30, or not?").turn.id]


class TestConversationsThatBeginAlike:
    """Turns are stored once: all conversations of a client continue one system turn (rule R33, conversations)."""

    def test_are_no_branches_and_some_are_linked(self, house: House, alike: list[str]) -> None:
        page = house.get("/c/alike/00")
        assert "from here" not in page
        assert "<summary>31 other conversations begin like this</summary>" in page
        [others] = re.findall(r'<details class="others">.*?</details>', page, re.S)
        assert re.findall(r'href="/t/(\w+)#t\1" dir="auto">(Question \d+\?)<', others) == [
            (alike[number], f"Question {number}?") for number in range(1, 21)
        ]
        assert "The first 20 are listed." in others
        assert '11 more are in the <a href="/">list of conversations</a>.' in others

    def test_versions_of_the_own_first_turn_are_branches(self, house: House, alike: list[str]) -> None:
        for turn in (alike[30], alike[31]):
            page = house.get(f"/t/{turn}")
            assert "<span>2 branches from here</span>" in page
            assert "30 other conversations begin like this" in page

    def test_are_not_on_the_rail(self, house: House, alike: list[str]) -> None:
        assert '<aside class="rail"' not in house.get("/c/alike/00")
        rail = house.get(f"/t/{alike[31]}").split('<aside class="rail"')[1]
        assert re.findall(r'dir="auto">(Question[^<]*)<', rail) == ["Question 30?", "Question 30, or not?"]
        assert "Only the nearest turns" not in rail

    def test_are_counted_by_the_drawing_of_a_tree(self, house: House, alike: list[str]) -> None:
        tree = house.store.tree("alike/00", limit=100)
        assert [turn.id for turn in tree] == [house.store.get(f"alike/00~{n}").id for n in (2, 1, 0)]
        assert [turn.more for turn in tree] == [31, 0, 0]
        assert {turn.id for turn in house.store.tree(alike[30], limit=100)} >= {alike[30], alike[31]}
        assert len(house.store.tree("alike/00")) == 64


def test_a_long_thread_is_read_in_windows(house: House) -> None:
    items = [{"content": f"turn {n}", **({"continues": n - 1} if n else {})} for n in range(230)]
    items[-1]["bookmark"] = "long"
    ids = [turn.id for turn in house.store.add_turns(items)]

    def shown(page: str) -> list[int]:
        return [int(n) for n in re.findall(r"<p>turn (\d+)</p>", page)]

    assert shown(house.get("/c/long")) == list(range(180, 230))
    assert shown(house.get("/c/long", start=130)) == list(range(130, 180))
    assert shown(house.get("/c/long", at=ids[100])) == list(range(75, 125))
    assert shown(house.get(f"/t/{ids[100]}")) == list(range(75, 125))
    links = re.findall(r'rel="(\w+)" href="([^"]+)"', house.get(f"/t/{ids[100]}"))
    assert shown(house.get(dict(links)["next"])) == list(range(125, 175))
    assert shown(house.get(dict(links)["prev"])) == list(range(25, 75))
    assert "compose" not in house.get("/c/long", start=0)
    for query in ({}, {"start": 0}, {"at": ids[100]}):
        assert "<title>turn 0</title>" in house.get("/c/long", **query)
    # A link to a window that an undo has taken away leads to the end of the thread.
    assert shown(house.get("/c/long", start=230)) == list(range(180, 230))
    assert shown(house.get(f"/t/{ids[100]}", start=99_999_999_999)) == list(range(180, 230))


def test_a_thread_of_100_000_turns_is_a_page_like_any_other(house: House) -> None:
    turns = ({"content": f"deep {n}", "role": ("user", "assistant")[n % 2]} for n in range(100_000))
    house.store.add_turns([next(turns) | {"bookmark": "deep"}])
    house.store.add_turns((each | {"continues": "deep"} for each in turns), moves=True)
    for query, first in (({}, 99_950), ({"start": 0}, 0), ({"start": 50_000}, 50_000), ({"at": "deep~49999"}, 49_975)):
        page = house.get("/c/deep", **query)
        assert re.findall(r"<p>deep (\d+)</p>", page) == [str(n) for n in range(first, first + 50)]
        assert len(page.encode()) < 300_000
    assert "100,000 turns" in house.get("/c/deep")
    assert "only in the second" in house.get("/diff/garden..deep~99990")


def test_a_diff_shows_words_and_folds_what_is_the_same(house: House) -> None:
    page = house.get("/diff/garden..no")
    assert "<del>" in page
    assert "<ins>" in page
    assert "only in the first" in page
    assert house.client.get("/diff", params={"a": "garden", "b": "no"}).headers["location"] == "/diff/garden..no"


def test_a_comparison_is_of_handles_also_where_its_address_has_ids(house: House) -> None:
    turn, other = house.store.bookmarks["garden"], house.store.bookmarks["no"]
    handles = house.store.abbreviate([turn, other])
    assert f'href="/diff?a={handles[turn]}"' in house.get("/c/garden")
    assert f'name="a" value="{handles[turn]}"' in house.get("/diff", a=handles[turn])
    fields = re.findall(r'name="[ab]" value="([^"]*)"', house.get(f"/diff/{turn}..{other}"))
    assert fields == [handles[turn], handles[other]]


def test_results_that_an_api_takes_from_the_user_are_those_of_a_tool(house: House) -> None:
    call = {"type": "tool_use", "id": "c1", "name": "clock", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "06:09"}]}
    house.store.add_turn("How late is it?", bookmark="clock")
    house.store.add_turn([call], role="assistant", continues="clock")
    house.store.add_turn([result], continues="clock")
    house.store.add_turn([result, {"type": "text", "text": "And there?"}], continues="clock")
    articles = re.findall(r'<article class="(\w+)" .*?<bdi>(\w+)</bdi>', house.get("/c/clock"), re.DOTALL)
    assert articles == [("user", "User"), ("assistant", "Assistant"), ("tool", "Tool"), ("user", "User")]


def test_a_diff_of_many_turns_is_a_page_like_any_other(house: House) -> None:
    turns = [{"content": f"Said {n}. " * 20, "continues": n - 1} for n in range(1, 1500)]
    house.store.add_turns([{"content": "Said.", "bookmark": "much"}, *turns], moves=True)
    for view in ("side", "unified"):
        page = house.get("/diff/garden..much", view=view)
        assert len(page.encode()) < 300_000
        [left] = re.findall(r"([\d,]+) further changes are not shown: <code>headish diff A..B</code> prints all", page)
        assert page.count("<del>") + page.count("<ins>") > 0
        shown = page.count("<article") - (page.count('<article class="none"') if view == "side" else 0)
        assert shown + int(left.replace(",", "")) >= 1500
    assert "not shown" not in house.get("/diff/garden..no")


def test_a_diff_counts_in_thousands_and_of_two_equal_branches_says_only_that(house: House) -> None:
    house.store.add_turn("word " * 1200, bookmark="wordy")
    assert "1 word out, 1,200 in" in house.get(f"/diff/{house.store.add_turn('Hi').id}..wordy")
    same = house.get("/diff/garden..garden")
    assert "Both say the same." in same
    assert "Where they part" not in same


def test_a_turn_is_called_by_its_handle_and_its_words_without_their_markup(house: House) -> None:
    turn = house.store.add_turn("Be **brief**.", role="system", bookmark="marked").id
    handle = house.store.abbreviate([turn])[turn]
    assert "System prompt: <bdi>Be brief.</bdi></summary>" in house.get("/c/marked")
    assert f"<title>Turn {handle}</title>" in house.get(f"/t/{turn}/whole")
    assert f"<title>Erase {handle}</title>" in house.get(f"/erase/{turn}")


def test_a_document_elsewhere_has_the_type_that_its_address_was_given_with(house: House) -> None:
    def shown(source: dict[str, str]) -> str:
        document = {
            "type": "document",
            "name": "map.png",
            "source": {"type": "url", "url": "https://a.test/map", **source},
        }
        return house.get(f"/t/{house.store.add_turn([document]).id}")

    assert '<span class="soft">at https://a.test/map</span>' in shown({})
    assert '<span class="soft">image/png, at https://a.test/map</span>' in shown({"media_type": "image/png"})


def test_explain_says_who_set_an_option_what_is_hidden_and_copies_without_a_key(house: House) -> None:
    page = house.get("/t/trip/explain")
    assert "<code>params.max_tokens</code>" in page
    assert "<code>300</code>" in page
    assert "hides 2 turns from the model" in page
    whole = house.client.get("/t/trip/copy/request")
    assert whole.json()["max_tokens"] == 300
    assert whole.headers["content-disposition"] == 'attachment; filename="request.json"'
    assert "My ticket." in house.get("/t/trip/copy/markdown")
    assert "curl http" in page
    assert "$PATH" in page
    assert "&#34;max_tokens&#34;: 300" in page
    assert '<h3 id="h-request">' in house.get("/t/trip/explain", to="openai")
    assert 'role="alert"' in house.get("/t/number/explain", ptr="nobody")


def test_explain_without_a_provider_says_what_to_choose_on_the_page(house: House) -> None:
    house.store.pointers.set_default(None)
    house.store.add_turn("Asked of nobody.", bookmark="unnamed")
    try:
        page = house.get("/t/unnamed/explain")
    finally:
        house.store.pointers.set_default("milli")
    assert "This thread names no provider. Choose one above." in page
    for word in ("to=", "--to", "ptr=", "provider_ptr"):  # arguments of Python and of the command
        assert word not in page.partition("<h2>To copy</h2>")[0].partition("</form>")[2], word


def test_a_long_thread_is_written_as_markdown_for_its_file_alone(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    assert '<pre id="markdown"' in house.get("/t/trip/explain")
    monkeypatch.setattr("headish.serve.pages.explaining.MARKDOWN_TURNS", 3)
    page = house.get("/t/trip/explain")
    assert '<pre id="markdown"' not in page
    assert "This thread is too long to be shown here." in page
    assert re.search(r'href="/t/\w+/copy/markdown">Download all of it', page)
    assert "My ticket." in house.get("/t/trip/copy/markdown")


def test_a_document_is_a_download_in_a_sandbox_unless_it_is_a_true_picture(house: House) -> None:
    picture = house.client.get(f"/raw/{house.talk.picture}/1")
    assert picture.headers["content-type"] == "image/png"
    assert picture.headers["content-disposition"].startswith("inline")
    turn = house.store.add_turn(documents(), bookmark="files").id
    for number in range(len(documents())):
        sent = house.client.get(f"/raw/{turn}/{number}")
        assert sent.status_code == 200
        assert sent.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        is_gif = sent.content.startswith(b"GIF89a")
        assert sent.headers["content-disposition"].startswith("inline" if is_gif else "attachment")
        assert sent.headers["content-type"] == ("image/gif" if is_gif else "application/octet-stream")
        name = unquote(sent.headers["content-disposition"].partition("UTF-8''")[2])
        assert name.endswith(f".._{number}‹U+202E›gnp.exe"), "a file is saved under the name that the page shows"
    assert house.client.get(f"/raw/{turn}/99").status_code == 404
    assert house.client.get(f"/raw/{house.talk.question}/0").status_code == 404


def test_a_document_whose_bytes_are_elsewhere_is_no_link_and_says_where(house: House) -> None:
    sources = [
        {"type": "url", "url": "https://example.org/a.pdf"},
        {"type": "file", "file_id": "file_1", "provider": "anthropic", "media_type": "image/png"},
        {"type": "file", "file_id": "file_<2>"},
    ]
    blocks = [{"type": "document", "name": f"d{number}", "source": each} for number, each in enumerate(sources)]
    turn = house.store.add_turn(blocks, bookmark="away").id
    page = house.get("/c/away")
    for words in ("at https://example.org/a.pdf", "image/png, kept by anthropic as file_1",
                  "kept by its provider as file_&lt;2&gt;"):  # fmt: skip
        assert f'<span class="soft">{words}</span>' in page
    assert f"/raw/{turn}" not in page


def test_what_strangers_said_is_text_in_every_view(house: House) -> None:
    said = texts("http://127.0.0.1:1/canary")
    name = "h<script>'\"&"
    tip = fill_hostile(house.store, "http://127.0.0.1:1/canary")
    house.store.bookmarks.set(name, tip)
    house.store.conversations.set(name, title=said[0], tags=[said[1].replace(" ", ""), "a\u202eb"])
    other = house.store.edit(f"{tip}~4", said[2]).turn.id
    pages = [house.get(f"/c/{name}"), house.get("/"), house.get("/", q="owned OR script"), house.get(f"/t/{tip}/whole")]
    pages += [house.get(f"/diff/{tip}..{other}"), house.get(f"/t/{tip}/explain"), house.get(f"/erase/{tip}")]
    pages += [house.get("/calls"), house.get(f"/t/{tip}/change", name=said[0])]
    pages += [house.get("/diff", a=said[0], b=""), house.get("/", tag=said[1]), house.get("/", q=said[1])]
    for page in pages:
        assert len(page.encode()) < 300_000
        tags = re.findall(r"<([a-z][a-z0-9]*)((?:\s+[a-zA-Z-]+(?:=(?:\"[^\"]*\"|[^\s\">]+))?)*)", page)
        assert not {tag for tag, _ in tags} & {"iframe", "object", "base", "style", "math", "template", "embed"}
        assert page.count("<script") == 1
        for _, attributes in tags:
            assert not re.search(r"(?:^|\s)on\w+\s*=", re.sub(r"\"[^\"]*\"", '""', attributes))
        assert not re.search(r"(?:href|src|action)=\"\s*(?:javascript|data|vbscript):", page, re.I)
        assert not re.search(r"<img[^>]*canary", page)
        shown = re.sub(
            r'value="[^"]*"|<textarea.*?</textarea>', "", page, flags=re.DOTALL
        )  # fields give back what they got
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\ufeff]", shown)
    assert "‹U+202E›" in pages[0]
    assert "‹U+001B›" in pages[0]


def test_a_theme_is_chosen_without_a_script_and_remembered(house: House) -> None:
    client = browser(house.served)
    assert "data-theme" not in client.get("/c/garden").text
    place = "/c/garden?start=0&x=%C3%A9"
    assert f'name="to" value="{place.replace("&", "&amp;")}"' in client.get(place).text
    chosen = client.get("/theme", params={"theme": "dark", "to": place})
    assert (chosen.status_code, chosen.headers["location"]) == (303, place)
    assert "HttpOnly; Max-Age=31536000; Path=/; SameSite=strict" in chosen.headers["set-cookie"]
    for path in ("/", "/c/garden", "/t/nobody"):
        page = client.get(path).text
        assert '<html lang="en" data-theme="dark">' in page
    assert 'value="dark" aria-pressed="true"' in client.get("/").text
    for elsewhere in ("//evil.test/", "https://evil.test", "/\\evil.test", "evil", "", "/a\nb", "javascript:x"):
        assert client.get("/theme", params={"theme": "system", "to": elsewhere}).headers["location"] == "/"
    assert "data-theme" not in client.get("/").text
    assert client.get("/theme", params={"theme": "<b>"}).status_code == 400
    assert house.served.stranger().get("/theme", params={"theme": "dark"}).status_code == 401


def test_what_is_wrong_is_said_on_a_page_of_the_same_style(house: House) -> None:
    client = browser(house.served)
    pages = {
        "/t/nobody": (404, "There is nothing here", "nobody"),
        "/nothing": (404, "There is nothing here", "Not Found"),
        f"/t/main/version/{'9' * 5000}": (404, "There is nothing here", "Not Found"),
        f"/raw/main/{'9' * 5000}": (404, "There is nothing here", "Not Found"),
        "/diff/garden": (400, "This does not work", "A..B"),
        "/?space=other": (404, "There is nothing here", "other"),
        "/login?code=wrong": (403, "This is not allowed", "five minutes"),
    }
    for path, (status, title, words) in pages.items():
        answer = client.get(path)
        assert answer.status_code == status, path
        assert f"<title>{title} – headish</title>" in answer.text, path
        assert answer.text.count("<h1>") == 1
        assert words in answer.text, path
        assert '<a href="/">All conversations</a>' in answer.text
    for path, home in (("/t/nobody?space=other+one", "/?space=other+one"), ("/?space=other", "/")):
        page = client.get(path).text
        assert page.count(f'href="{home}"') == 2, path
    outside = house.served.stranger(headers={"accept": "text/html"}).get("/")
    assert outside.status_code == 401
    assert "<h1>Log in first</h1>" in outside.text
    assert "All conversations" not in outside.text


def ways(page: str) -> dict[str, str]:
    """Where the links above a window of turns lead, by their words."""
    nav = page.partition('aria-label="Turns, above"')[2].partition("</nav>")[0]
    return {words: unescape(place) for place, words in re.findall(r'href="([^"]+)">([^<]+)</a>', nav)}


def test_a_long_thread_has_links_to_its_first_turns_and_to_its_newest(house: House) -> None:
    said = [{"content": f"Say {number}.", "continues": number - 1 if number else None} for number in range(260)]
    head = house.store.add_turns([*said[:-1], {**said[-1], "bookmark": "longest"}])[-1].id
    for place in ("/c/longest", f"/t/{head}"):
        at_the_end = ways(house.get(place))
        assert list(at_the_end) == ["First turns", "Earlier turns"]
        first = house.get(at_the_end["First turns"])
        assert "<p>Say 0.</p>" in first
        assert list(ways(first)) == ["Later turns", "Newest turns"]
        newest = house.get(ways(first)["Newest turns"])
        assert "<p>Say 259.</p>" in newest
        assert 'id="compose"' in newest
        every = ["First turns", "Earlier turns", "Later turns", "Newest turns"]
        assert list(ways(house.get(place, start="100"))) == every
        # Beside a link that leads to the same turns, one more says nothing new.
        assert list(ways(house.get(place, start="50"))) == ["Earlier turns", "Later turns", "Newest turns"]
        assert list(ways(house.get(place, start="160"))) == ["First turns", "Earlier turns", "Later turns"]


def test_an_error_has_a_path_into_json_for_programs_alone(house: House) -> None:
    too_long = {"new": "kept", "content": "x" * 1_100_000}
    page = house.do("say", **too_long)
    assert page.status_code == 413
    assert "bytes and the limit is 1,000,000.</p>" in page.text
    answer = house.client.post("/do/say", data=too_long, headers={"accept": "application/json"})
    assert answer.json()["detail"].endswith("and the limit is 1,000,000 (at $)")
