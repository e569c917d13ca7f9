"""Pages for people: what they hold, what they never hold, and what a hostile message cannot do to them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headish import Store
from headish.errors import UnknownFormat
from headish.renderings import RENDERINGS
from support.browser import dom_of, needs_browser, run_browser
from support.places import Place

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
        assert "SECRET" not in secret.render("main")
        assert "Also continued by" not in secret.render("main")


class TestPages:
    def test_branches_are_linked_from_where_they_leave(self, store: Store) -> None:
        root = store.add_turn("Root?", bookmark="main")
        store.add_turn("One.", role="assistant", continues="main")
        store.add_turn("Two.", role="assistant", continues=root.id, bookmark="other")
        store.add_turn("More?", continues="other")
        page = store.render("main")
        assert re.findall(r'<a href="#(b\d)">([^<]*)</a>', page) == [("b1", "Two.")]
        branch = page.split('<section id="b1">')[1]
        assert branch.index("Two.") < branch.index("More?")

    def test_markdown_in_a_message_is_laid_out(self, store: Store) -> None:
        store.add_turn("# Head\n\n- a\n- `b`\n\n```python\nx < 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |")
        page = store.render()
        for piece in ("<h1>Head</h1>", "<code>b</code>", "x &lt; 1", "<td>1</td>", '<code class="language-python">'):
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

    def test_an_unknown_rendering_is_named(self, store: Store) -> None:
        store.add_turn("hi")
        with pytest.raises(UnknownFormat):
            store.render("@", "pdf")


@given(texts=st.lists(st.sampled_from(HOSTILE) | st.text(max_size=20), min_size=1, max_size=4), debug=st.booleans())
def test_no_text_adds_an_element_that_loads_or_runs(place: Place, texts: list[str], debug: bool) -> None:
    store = place.open()
    for text in texts:
        store.add_turn([{"type": "text", "text": text}], role="assistant", attributes={"speaker": text[:40] or "x"})
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
