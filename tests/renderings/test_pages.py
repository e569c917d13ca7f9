"""Pages for people: what they hold, what they never hold, and what a hostile message cannot do to them."""

from __future__ import annotations

import io
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from headish import Store
from headish.errors import UnknownFormat, UnknownTurn
from headish.renderings.formats import RENDERINGS
from headish.renderings.harmless import disarm
from headish.transcripts.shared.transcript import is_header_value
from support.browser import dom_of, needs_browser, run_browser
from support.places import Place
from support.zones import ZONES, in_zone, needs_zones

SECRET = """<|start|>system<|message|>SECRET-system<|end|>
<|start|>developer<|message|>SECRET-developer<|end|>
<|start|>user<|message|>Question?<|end|>
<|start|>assistant<|channel|>analysis<|message|>SECRET-analysis<|end|>
<|start|>assistant to=functions.SECRET-f call_id=SECRET-id<|channel|>commentary<|message|>{"SECRET":1}<|call|>
<|start|>tool name=functions.SECRET-f call_id=SECRET-id to=assistant<|channel|>commentary<|message|>SECRET-result<|end|>
<|start|>assistant intent=debug<|channel|>final<|message|>SECRET-debug<|end|>
<|start|>assistant intent=preamble<|channel|>commentary<|message|>The plan.<|end|>
<|start|>assistant<|channel|>final<|message|>Answer.<|start_reason|>SECRET-slip<|end_reason|> Done.<|end|>
"""
HOSTILE = (
    "<script>document.title='owned'</script>", "<img src=x onerror=\"document.title='owned'\">", "</style></title><h1>",
    "[click](javascript:document.title='owned')", "![i]({server}/image.png)", "<iframe src='{server}/frame'></iframe>",
    "<svg/onload=document.title='owned'>", "`<script>alert(1)</script>`", "<link rel=stylesheet href={server}/style>",
    "[a]: {server}/x \"t\"\n\n[a]", "--></script><script>document.title='owned'</script>", "&lt;script&gt;",
    "\u202egnp.exe", "<form action={server}><button>",
    "<details open ontoggle=document.title='owned'>", "\x00\x1b[2J\x07", "[d](data:text/html,<script>1</script>)",
    "<base href='{server}/'>", "<meta http-equiv=refresh content='0;url={server}/gone'>",
)  # fmt: skip


@pytest.fixture
def secret(store: Store) -> Store:
    store.import_file(io.BytesIO(SECRET.encode()), "2.2", bookmark="main")
    return store


@pytest.fixture
def memory() -> Iterator[Store]:
    """A store of its own, for what no database changes."""
    with Store.open(":memory:") as store:
        yield store


class Tags(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


class TestVisibility:
    @pytest.mark.parametrize("format", RENDERINGS)
    def test_hidden_text_is_in_the_page_in_no_form(self, secret: Store, format: str) -> None:
        page = secret.render("main", format)
        assert "SECRET" not in page
        for shown in ("Question?", "The plan.", "Answer. Done."):
            assert shown in page

    @pytest.mark.parametrize("format", RENDERINGS)
    def test_a_debugging_view_opts_in(self, secret: Store, format: str) -> None:
        page = secret.render("main", format, debug=True)
        for hidden in ("SECRET-system", "SECRET-analysis", "SECRET-result", "SECRET-debug"):
            assert hidden in page

    def test_hidden_branches_have_no_link(self, secret: Store) -> None:
        secret.add_turn("SECRET-branch", role="system", continues="main~1", bookmark="other")
        page = secret.render("main", branches=True)
        assert "SECRET" not in page
        assert "Also continued by" not in page

    @pytest.mark.parametrize("debug", [False, True])
    @pytest.mark.parametrize("format", RENDERINGS)
    def test_the_thread_that_is_named_leaves_alone(self, store: Store, format: str, debug: bool) -> None:
        root = store.add_turn("Root?", bookmark="main")
        store.add_turn("One.", role="assistant", continues="main")
        store.add_turn("PRIVATE two.", role="assistant", continues=root.id, bookmark="PRIVATE-name")
        store.add_turn("PRIVATE more?", continues="PRIVATE-name")
        store.add_turn("PRIVATE afterwards", continues="main")
        store.bookmarks.set("PRIVATE-mark", root.id)
        page = store.render("main~1", format)
        assert "One." in page
        assert "PRIVATE" not in page
        assert "ontinued by" not in page
        if debug:
            page = store.render("main~1", format, debug=True)
            assert "PRIVATE two" not in page
            assert "PRIVATE more" not in page

    def test_bookmarks_are_shown_with_the_branches_that_they_name(self, store: Store) -> None:
        root = store.add_turn("Root?", bookmark="main")
        store.add_turn("One.", role="assistant", continues=root.id, bookmark="one")
        assert '<span class="name">' not in store.render("one")
        assert '<span class="name">one</span>' in store.render("one", branches=True)
        assert '<span class="name">one</span>' in store.render("one", debug=True)

    def test_of_a_merge_all_that_leads_to_it_is_shown(self, store: Store) -> None:
        store.add_turn("Root?", bookmark="main")
        store.add_turn("One.", role="assistant", continues="main")
        store.add_turn("Two.", role="assistant", continues="main~1", bookmark="other")
        store.add_turn("Both?", continues=["main", "other"], bookmark="both")
        page = store.render("both", "text")
        assert re.findall(r"Root\?|One\.|Two\.|Both\?", page) == ["Root?", "One.", "Two.", "Both?"]


class TestReplies:
    def reply(self, store: Store, *, cut: bool) -> None:
        store.add_turn("Question?", bookmark="main")
        events = [{"model": "small-1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}}]}]
        if not cut:
            events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        store.reply("main", "openai", events)

    @pytest.mark.parametrize("format", RENDERINGS)
    def test_a_reply_that_was_cut_off_says_so(self, store: Store, format: str) -> None:
        self.reply(store, cut=True)
        assert "This reply is incomplete." in store.render("main", format)
        assert "This reply is incomplete." not in store.render("main~1", format)

    @pytest.mark.parametrize("format", RENDERINGS)
    def test_one_that_was_cut_off_before_its_first_word_is_on_the_page(self, store: Store, format: str) -> None:
        store.add_turn("Question?", bookmark="main")
        store.reply("main", "openai", [{"model": "small-1", "choices": [{"index": 0, "delta": {"role": "assistant"}}]}])
        store.add_turn("Well?", continues="main~1")
        assert "This reply is incomplete." in store.render("main", format)
        assert "This reply is incomplete." in store.render("@", "html", branches=True)
        hidden = "<|start|>user<|message|>q<|end|><|start|>assistant<|channel|>analysis<|message|>Hidden"
        store.import_file(io.BytesIO(hidden.encode()), "2.2", bookmark="hidden", partial=True)
        assert "incomplete" not in store.render("hidden", format)

    @pytest.mark.parametrize("format", RENDERINGS)
    def test_a_transcript_that_ended_early_says_so_too(self, store: Store, format: str) -> None:
        self.reply(store, cut=True)
        text = store.export("main").encode()
        store.import_file(io.BytesIO(text), "2.2", bookmark="back", partial=True)
        assert "This reply is incomplete." in store.render("back", format)

    @pytest.mark.parametrize("format", RENDERINGS)
    def test_the_model_that_replied_is_named(self, store: Store, format: str) -> None:
        self.reply(store, cut=False)
        page = store.render("main", format)
        assert "small-1" in page
        assert "incomplete" not in page

    @pytest.mark.parametrize(("format", "asked"), [
        ("html", '<p class="model">Model: <bdi>large-2</bdi></p>'), ("markdown", '\nmodel: "large-2"\n---\n'),
    ])  # fmt: skip
    def test_the_head_names_the_model_that_is_asked_and_a_reply_the_one_that_answered(
        self, store: Store, format: str, asked: str
    ) -> None:
        self.reply(store, cut=False)
        assert "large-2" not in store.render("main", format)
        store.pointers.set("large", "openai/large-2")
        store.add_turn("And now?", continues="main", provider_ptr="large")
        page = store.render("main", format)
        assert (page.count(asked), page.count("small-1")) == (1, 1)

    @needs_zones
    @pytest.mark.parametrize("format", ["html", "markdown"])
    def test_times_are_local_and_name_their_zone(self, memory: Store, format: str) -> None:
        self.reply(memory, cut=False)
        said = memory.get("main").time
        for zone, offset, hours in ZONES:
            with in_zone(zone):
                assert f"{said + timedelta(hours=hours):%Y-%m-%d %H:%M}{offset}" in memory.render("main", format)


class TestMarkdown:
    def page(self, store: Store, text: str) -> str:
        store.add_turn(text, role="assistant")
        return store.render("@", "markdown").split("\n\n", 3)[3]

    @pytest.mark.parametrize(
        ("said", "written"),
        [
            ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
            ("a \\<b> and \\\\<i>", "a &lt;b> and \\\\&lt;i>"),
            ("<!-- a comment -->", "&lt;!-- a comment -->"),
            ("![alt](https://tracker/x.png)", "&#33;[alt](https://tracker/x.png)"),
            ("![alt][t]\n\n[t]: https://tracker/x.png", "&#33;[alt][t]\n\n[t]: https://tracker/x.png"),
            ("[a](javascript:alert(1))", "[a&#93;(javascript:alert(1))"),
            ("[a](  \tjavascript:x)", "[a&#93;(  \tjavascript:x)"),
            ("[a](\ndata:x)", "[a&#93;(\ndata:x)"),
            ("[a](&#106;avascript:x)", "[a&#93;(&#106;avascript:x)"),
            ("[a](<javascript:x>)", "[a&#93;(&lt;javascript:x>)"),
            ("[a][b]\n\n[b]: vbscript:x", "[a][b]\n\n[b&#93;: vbscript:x"),
            ("<javascript:x>", "&lt;javascript:x>"),
            ("x ` a\nb ` <b> ` d", "x ` a\nb ` &lt;b> ` d"),
            ("| `a | <b>` |", "| `a | &lt;b>` |"),
            ("`<b>`{=html}", "`&lt;b>`{=html}"),
            ("```{=html}\n<b>\n```", "```{=html}\n&lt;b>\n```"),
            ("```\n<b>", "```\n<b>\n```"),
            ("```\n<b>\r", "```\n<b>\n```"),
            ("~~~\n \n\t", "~~~\n \n\t\n~~~"),
            ("- ```\n  <b>\n\n<i>", "- ```\n  <b>\n\n&lt;i>"),
        ],
    )
    def test_what_could_run_or_load_something_is_text(self, memory: Store, said: str, written: str) -> None:
        assert self.page(memory, said) == f"{written}\n"

    @pytest.mark.parametrize(
        "said",
        [
            "# Head\n\n- a\n- **b**\n\n> c",
            "[a](https://example.org/?q=1) and [b]( HTTP://x ) and [c](mailto:a@b)",
            "[a]\n\n[a]: https://example.org",
            "`<b>` and ``a ` <i>``",
            "```html\n<script>\n```",
            "~~~~\n```\n<b>\n~~~~",
            "a\n\n    <b>\n\nb",
            "- a\n\n  ```\n  <b>\n  ```\n\n- b",
        ],
    )
    def test_all_else_stands_as_it_was_said(self, memory: Store, said: str) -> None:
        assert self.page(memory, said) == f"{said}\n"

    def test_names_and_titles_cannot_be_markup(self, memory: Store) -> None:
        memory.add_turn("<img src=x> [a](javascript:x)\x9b", attributes={"speaker": "![i](u)`"})
        memory.add_turn([{"type": "tool_use", "name": "<s>", "input": {}}], role="assistant", respond=True)
        page = memory.render("@", "markdown", debug=True)
        assert "## !\\[i\\](u)\\`\n" in page
        assert "<summary>Call of &lt;s&gt;</summary>" in page
        assert '\ntitle: "&lt;img src=x> \\\\[a\\\\](javascript:x)\\u009b"\n' in page

    def test_front_matter_holds_no_markup_that_a_site_could_run(self, memory: Store) -> None:
        memory.add_turn("Hi", bookmark="main", inherited={"params": {"model": "<script>m</script>"}})
        memory.conversations.set("main", title="<script>t</script> [x](javascript:y)")
        front = memory.render("main", "markdown").split("---\n")[1]
        assert front.splitlines()[::3] == [
            'title: "&lt;script>t&lt;/script> \\\\[x\\\\](javascript:y)"', 'model: "&lt;script>m&lt;/script>"'
        ]  # fmt: skip


@given(texts=st.lists(st.sampled_from(HOSTILE) | st.text("<>![]()`~\\ \n\t|-:#a", max_size=30), max_size=4))
def test_no_message_adds_markup_that_runs_or_loads_to_a_markdown_page(texts: list[str]) -> None:
    """Read by a reader that lets everything through: raw HTML, images, links to anywhere."""
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    reader.validateLink = lambda _: True  # type: ignore[method-assign]
    tags = Tags(reader.render("\n\n## Next\n\n".join(disarm(text) for text in [*texts, "The end"]))).tags
    assert not {"script", "img", "iframe", "svg", "link", "form", "base", "meta", "details", "style"} & {
        tag for tag, _ in tags
    }
    assert [tag for tag, _ in tags].count("h2") >= len(texts)  # no message swallows the next
    for tag, attributes in tags:
        assert tag != "a" or re.match(r"https?:|mailto:", attributes["href"] or "", re.IGNORECASE)


class TestPages:
    def test_branches_are_linked_from_where_they_leave(self, store: Store) -> None:
        root = store.add_turn("Root?", bookmark="main")
        store.add_turn("One.", role="assistant", continues="main")
        store.add_turn("Two.", role="assistant", continues=root.id, bookmark="other")
        store.add_turn("More?", continues="other")
        page = store.render("main", branches=True)
        assert re.findall(r'<a href="#(b\d)">([^<]*)</a>', page) == [("b1", "Two.")]
        branch = page.split('<section id="b1">')[1]
        assert branch.index("Two.") < branch.index("More?")

    def test_a_branch_that_leaves_a_hidden_one_is_linked_from_what_is_shown_before_both(self, store: Store) -> None:
        root = store.add_turn("Root?", bookmark="main")
        store.add_turn("One.", role="assistant", continues="main")
        hidden = store.add_turn("SECRET", role="system", continues=root.id)
        store.add_turn("SECRET, too", role="system", continues=hidden.id)
        store.add_turn("Two?", continues=hidden.id)
        page = store.render("main", branches=True)
        assert "SECRET" not in page
        assert re.findall(r'<a href="#(b\d)">([^<]*)</a>', page) == [("b1", "Two?")]
        assert "Two?" in page.split('<section id="b1">')[1]

    def test_the_versions_of_a_first_question_are_branches_that_nothing_leads_to(self, store: Store) -> None:
        store.add_turn("First?", bookmark="main")
        store.add_turn("One.", role="assistant", continues="main")
        store.edit("main~1", "Second?")
        store.edit("main", "Third?")
        store.add_turn("Another conversation.", bookmark="other")
        page = store.render("main", "markdown", branches=True)
        said = re.findall(r"^\w+\?$|One\.|Another", page, re.MULTILINE)
        assert said == ["Third?", "First?", "One.", "Second?"]
        assert "ontinued by" not in page

    def test_markdown_in_a_message_is_laid_out(self, store: Store) -> None:
        store.add_turn("# Head\n\n- a\n- `b`\n\n```python\nx < 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |")
        page = store.render()
        code = ('<code dir="ltr">b</code>', '<code dir="ltr" class="language-python">')
        for piece in ("<h1>Head</h1>", "x &lt; 1", "<td>1</td>", *code):
            assert piece in page

    def test_the_policy_names_the_hashes_of_what_stands_there(self, store: Store) -> None:
        store.add_turn("hi")
        tags = Tags(store.render()).tags
        policy = next(attrs["content"] for tag, attrs in tags if attrs.get("http-equiv"))
        assert policy is not None
        assert "default-src 'none'" in policy
        assert policy.count("sha256-") == 2
        assert "unsafe" not in policy

    def test_a_markdown_page_folds_what_is_no_text(self, secret: Store) -> None:
        page = secret.render("main", "markdown", debug=True)
        assert page.startswith('---\ntitle: "Question?"\n')
        assert "<details><summary>Result of functions.SECRET-f</summary>" in page

    @pytest.mark.parametrize("format", RENDERINGS)
    def test_a_result_says_that_its_call_failed(self, store: Store, format: str) -> None:
        calls = [{"type": "tool_use", "id": id, "name": "f", "input": {}} for id in "ab"]
        store.add_turn(calls, role="assistant", bookmark="main")
        results = [{"type": "tool_result", "tool_use_id": id, "name": "f", "content": id} for id in "ab"]
        store.add_turn([{**results[0], "is_error": True}, results[1]], role="tool", continues="main")
        page = store.render("main", format, debug=True)
        assert (page.count("Result of f"), page.count("Result of f, failed")) == (2, 1)

    @pytest.mark.parametrize("format", RENDERINGS)
    def test_the_title_is_the_conversations_then_the_first_words(self, store: Store, format: str) -> None:
        store.add_turn("Question?", bookmark="main")
        assert ("Question?" in store.render("main", format)) is True
        store.conversations.set("main", title="Bridges of Lima")
        store.add_turn("Answer.", role="assistant", continues="main")
        for headish in ("main", "main~1", store.bookmarks["main"], "@"):
            assert ("Bridges of Lima" in store.render(headish, format)) is (format != "text"), headish
            assert "Bridges" not in store.render(headish, format, title="Another")

    def test_where_several_names_lie_the_title_is_the_first_words(self, store: Store) -> None:
        store.add_turn("Question?", bookmark="main")
        store.conversations.set("main", title="Bridges")
        store.add_turn("One.", continues="main")
        store.add_turn("Two.", continues="main~1", bookmark="other")
        assert "<title>Question?</title>" in store.render(store.get("main~1").id)
        assert "<title>Bridges</title>" in store.render("main~1")
        assert "<title>Question?</title>" in store.render("other")

    @pytest.mark.parametrize("format", RENDERINGS)
    def test_pictures_and_other_documents_are_named(self, store: Store, format: str) -> None:
        source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
        url = {"type": "url", "url": "https://example.org/x.mp4", "media_type": "video/mp4"}
        store.add_turn(
            ["What is this?", {"type": "document", "source": source, "name": "<b>cat.png"}], bookmark="main"
        )  # fmt: skip
        store.add_turn([{"type": "document", "source": url}], continues="main")
        page = store.render("main", format)
        assert f"Picture {'<' if format == 'text' else '&lt;'}b" in page
        assert "image/png, not shown" in page
        assert "Video" in page
        assert "iVBORw" not in page

    @pytest.mark.parametrize("format", RENDERINGS)
    def test_a_document_is_called_by_its_name_if_it_has_one(self, store: Store, format: str) -> None:
        source = {"type": "base64", "media_type": "application/zip", "data": "UEs="}
        store.add_turn([{"type": "document", "source": source}], bookmark="main")
        store.add_turn([{"type": "document", "source": source, "name": "a.zip"}], continues="main")
        page = store.render("main", format)
        assert "Document a.zip" in page
        assert page.count("application/zip, not shown") == 2

    @pytest.mark.parametrize("format", RENDERINGS)
    def test_only_what_has_several_versions_counts_them(self, store: Store, format: str) -> None:
        store.add_turn("Question?", bookmark="main")
        page = store.render("main", format)
        assert "1/1" not in page
        assert "edited" not in page
        store.edit("main", "Another?")
        assert "2/2" in store.render("main", format)

    @pytest.mark.parametrize(
        ("format", "shown"),
        [("html", '<p class="cut" dir="auto">Erased on '), ("markdown", "\n*Erased on "), ("text", "\n(Erased on ")],
    )
    def test_what_was_erased_is_said_in_the_open(self, store: Store, format: str, shown: str) -> None:
        store.erase(store.add_turn("secret", bookmark="main").id, reason="asked for")
        assert shown in store.render("main", format)

    def test_a_page_of_pictures_alone_is_called_by_the_first(self, store: Store) -> None:
        source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
        store.add_turn([{"type": "document", "source": source, "name": "cat.png"}], bookmark="main")
        assert "<title>Picture cat.png</title>" in store.render("main")

    def test_a_document_that_a_system_message_holds_stays_out(self, store: Store) -> None:
        source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
        store.add_turn([{"type": "document", "source": source, "name": "secret.png"}], role="system", bookmark="main")
        store.add_turn("Hi", continues="main")
        assert "secret.png" not in store.render("main")
        assert "secret.png" in store.render("main", debug=True)

    @pytest.mark.parametrize(
        ("info", "shown"),
        [("app.py", True), ("python title=app.py", True), ("python:src/<b>.py", True), ("python", False), ("", False),
         ("c++", False), ("{=html}", True)],
    )  # fmt: skip
    def test_a_block_of_code_shows_the_name_of_its_file(self, memory: Store, info: str, shown: bool) -> None:
        memory.add_turn(f"```{info}\nprint()\n```", bookmark="main")
        page = memory.render("main")
        assert (f'<p class="file">{info.replace("<", "&lt;").replace(">", "&gt;")}</p>' in page) is shown
        assert "<b>" not in page

    def test_an_unknown_rendering_is_named(self, store: Store) -> None:
        store.add_turn("hi")
        with pytest.raises(UnknownFormat):
            store.render("@", "pdf")


@given(texts=st.lists(st.sampled_from(HOSTILE) | st.text(max_size=20), min_size=1, max_size=4), debug=st.booleans())
def test_no_text_adds_an_element_that_loads_or_runs(place: Place, texts: list[str], debug: bool) -> None:
    store = place.open()
    for text in texts:
        speaker = "".join(each for each in text[:40] if is_header_value(each)) or "x"  # no other name can be stored
        store.add_turn([{"type": "text", "text": text}], role="assistant", attributes={"speaker": speaker})
        if debug:
            store.add_turn([{"type": "thinking", "text": text}], role="assistant", respond=True)
    page = store.render(debug=debug)
    tags = Tags(page).tags
    names = [tag for tag, _ in tags]
    assert names.count("script") == names.count("style") == names.count("input") == 1
    assert not {"img", "iframe", "link", "svg", "object", "embed", "form", "base", "video", "audio", "button"} & set(
        names
    )
    assert names.count("meta") == 5
    for tag, attributes in tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "style", "srcset")]
        if tag == "a":
            assert re.match(r"#|https?:|mailto:", attributes["href"] or "", re.IGNORECASE)
    assert "\x00" not in page


class Server:
    """A server on loopback that counts who asks it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(404)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.mark.slow
@needs_browser
class TestInABrowser:
    def test_a_hostile_transcript_runs_nothing_and_loads_nothing(self, tmp_path: Path, server: Server) -> None:
        with Store.open(":memory:") as store:
            store.add_turn("A question", bookmark="main")
            for text in HOSTILE:
                hostile = text.replace("{server}", server.url)
                store.add_turn(hostile, role="assistant", continues="main")
                store.add_turn(
                    [{"type": "tool_use", "name": hostile, "input": hostile}], role="assistant", continues="main"
                )
            page = tmp_path / "page.html"
            page.write_text(store.render("main", debug=True), encoding="utf-8")
        dom = dom_of(page)
        assert "<title>A question</title>" in dom
        assert server.asked == []
        assert dom.count("<article") == 1 + 2 * len(HOSTILE)

    def test_the_page_s_own_script_runs(self, tmp_path: Path) -> None:
        """Its hash is the policy's, or the browser would refuse it, and the search would stay hidden."""
        with Store.open(":memory:") as store:
            store.add_turn("hi")
            page = tmp_path / "page.html"
            page.write_text(store.render(), encoding="utf-8")
        assert re.search(r'<input id="search"[^>]*hidden', page.read_text(encoding="utf-8"))
        assert not re.search(r'<input id="search"[^>]*hidden', dom_of(page))

    def test_it_can_be_looked_at_on_a_phone(self, tmp_path: Path) -> None:
        with Store.open(":memory:") as store:
            store.add_turn("word " * 40 + "x" * 400, bookmark="main")
            store.add_turn("```\n" + "y" * 400 + "\n```", role="assistant", continues="main")
            page = tmp_path / "page.html"
            page.write_text(store.render("main"), encoding="utf-8")
        picture = tmp_path / "page.png"
        run_browser(page, f"--screenshot={picture}", "--window-size=400,900")
        header = picture.read_bytes()[:24]
        assert (int.from_bytes(header[16:20]), int.from_bytes(header[20:24])) == (400, 900)


def test_a_thread_that_goes_while_its_page_is_written_is_unknown_and_not_damaged(tmp_path: Path) -> None:
    with Store.open(tmp_path / "gone.db") as store:
        store.add_turn("turn 0", bookmark="main")
        store.add_turns([{"content": f"turn {number}", "continues": "main"} for number in range(1, 1200)])
        pieces = store.render_pieces("main")
        assert "turn 0" in next(pieces) + next(pieces)
        with closing(sqlite3.connect(tmp_path / "gone.db")) as connection, connection:
            connection.execute("DELETE FROM turn")
        with pytest.raises(UnknownTurn):
            list(pieces)
