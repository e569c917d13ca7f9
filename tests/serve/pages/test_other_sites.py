"""What pages of other sites reach from the browser of a person who is logged in: nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.chrome import REBOUND, needs_chromedriver
from support.looking import Looking
from support.loopback import Loopback
from support.serving import Served

pytestmark = [pytest.mark.slow, needs_chromedriver, pytest.mark.xdist_group("browser")]
HTML = {"content-type": "text/html; charset=utf-8"}
FORM = """
<!doctype html><title>prize</title>
<form method="post" action="%s/do/say"><input name="name" value="garden"><input name="content" value="planted"></form>
<script>document.forms[0].submit()</script>
"""
ASK = """
const [url, done] = arguments;
const ask = (path, more) => fetch(url + path, {credentials: "include", ...more}).then(
  (answer) => answer.type === "opaque" ? "opaque" : answer.status + " " + answer.type, () => "refused");
const body = new URLSearchParams({name: "garden", content: "planted"});
Promise.all([ask("/c/garden"), ask("/do/say", {method: "POST", body, mode: "no-cors"}),
  ask("/api/v1/turns", {method: "POST", body: "{}", headers: {"content-type": "application/json"}})]).then(done);
"""
FRAME = """
<!doctype html><title>frame</title><iframe src="%s/c/garden"></iframe>
<img src="%s/assets/icon.svg"><script type="module" src="%s/assets/page.mjs"></script>
"""


def visit(looking: Looking, site: Loopback, page: str) -> None:
    site.answer(200, HTML, [page.encode()])
    looking.driver.get(f"{site.url}/")


def test_a_form_that_another_site_or_another_port_sends_changes_nothing(looking: Looking, tmp_path: Path) -> None:
    """A page at another port of this machine is of the same site: the browser sends it the cookie."""
    turns, url = looking.store.stats().turns, looking.served.url
    (tmp_path / "prize.html").write_text(FORM % url, "utf-8")
    with Loopback() as site:
        for go in (
            lambda: looking.driver.get((tmp_path / "prize.html").as_uri()),
            lambda: visit(looking, site, FORM % url),
        ):
            go()
            looking.until(lambda: looking.driver.current_url == f"{url}/do/say")
            assert "planted" not in looking.text("main")
            assert looking.text("h1") in ("This is not allowed", "Log in first")
        visit(looking, site, "<!doctype html><title>script</title>")
        assert looking.driver.execute_script("return document.cookie") == ""
        assert looking.driver.execute_async_script(ASK, url) == ["refused", "refused", "refused"]
    assert looking.store.stats().turns == turns
    looking.open("/c/garden")
    assert "greenhouse" in looking.text("main"), "it is still logged in"


def test_a_page_is_framed_by_nobody_and_lends_nothing(looking: Looking) -> None:
    url = looking.served.url
    with Loopback() as site:
        visit(looking, site, FRAME % (url, url, url))
        looking.driver.switch_to.frame(0)
        assert "data-turn" not in looking.driver.page_source
        looking.driver.switch_to.default_content()
        assert looking.driver.execute_script("return document.images[0].naturalWidth") == 0


def test_a_name_that_is_bound_to_this_machine_afterwards_reaches_nothing(looking: Looking) -> None:
    """DNS rebinding: the page of a stranger's name, which then leads to 127.0.0.1, is of one origin with the server."""
    rebound = looking.served.url.replace("127.0.0.1", REBOUND)
    looking.driver.get(f"{rebound}/c/garden")
    assert "greenhouse" not in looking.driver.page_source
    assert "--public-url" in looking.text("main")
    ask = "const done = arguments[0]; fetch('/api/v1/stretch?headish=garden').then((answer) => done(answer.status))"
    assert looking.driver.execute_async_script(ask) == 421


def test_a_cookie_that_was_stolen_is_worth_nothing_after_a_logout(looking: Looking) -> None:
    served: Served = looking.served
    looking.open("/")
    [stolen] = [each for each in looking.driver.get_cookies() if each["name"] == served.settings.cookie]
    assert (stolen["httpOnly"], stolen["sameSite"], stolen["path"]) == (True, "Strict", "/")
    thief = served.stranger(headers={"Cookie": f"{stolen['name']}={stolen['value']}", "Accept": "text/html"})
    assert thief.get("/c/garden").status_code == 200
    out = "const done = arguments[0]; fetch('/logout', {method: 'POST'}).then((answer) => done(answer.status))"
    assert looking.driver.execute_async_script(out) == 200
    assert thief.get("/c/garden").status_code == 401
    looking.open("/c/garden")
    assert looking.text("h1") == "Log in first"
    looking.open(f"/login?code={served.logins.make_code()}")
    looking.open("/c/garden")
    assert "greenhouse" in looking.text("main")
