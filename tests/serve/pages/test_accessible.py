"""Every view for everybody: axe, both themes, three widths, 200 %, reduced motion, keys alone, a reader's headings."""

from __future__ import annotations

import asyncio
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pytest

from headish.serve.files.writing import write_pages
from support.chrome import look, needs_chromedriver, set_script
from support.looking import Looking
from support.loops import failing

pytestmark = [pytest.mark.slow, needs_chromedriver, pytest.mark.xdist_group("browser")]

AXE = """
const done = arguments[arguments.length - 1];
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
axe.run(document, {runOnly: tags, resultTypes: ["violations"]}).then(
  (found) => done(found.violations.map((each) => each.id + ": " + each.nodes.map((node) => node.html.slice(0, 120)))),
  (error) => done([String(error)]));
"""
UNFOLD = "for (const each of document.querySelectorAll('details')) each.open = true"
TOO_WIDE = "return document.documentElement.scrollWidth - innerWidth"
MOVING = """
return [getComputedStyle(document.documentElement).scrollBehavior, document.getAnimations().length];
"""
WATCH_FOCUS = """
window.met = [];
const seen = (element) => {
  const place = element.getBoundingClientRect(), style = getComputedStyle(element);
  const covering = document.elementFromPoint(place.x + place.width / 2, place.y + Math.min(place.height / 2, 8));
  const isSeen = !!covering && (element.contains(covering) || covering.contains(element));
  const isMarked = style.outlineStyle !== "none" || element.matches("main, .find input");
  window.met.push([element, isSeen && isMarked]);
};
document.addEventListener("focusin", (event) => seen(event.target));
const all = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
window.reachable = [...document.querySelectorAll(all)].filter((each) => each.checkVisibility());
return window.reachable.length;
"""
UNMET = """
const met = new Set(window.met.map(([element]) => element));
const name = (element) => element.outerHTML.slice(0, 90);
return [window.reachable.filter((each) => !met.has(each)).map(name),
        window.met.filter(([, isSeen]) => !isSeen).map(([element]) => name(element))];
"""


def views_of(looking: Looking) -> list[str]:
    """Every view, by its address."""
    t = looking.talk
    views = ["/", "/?q=greenhouse", "/?q=zeppelin", "/?archived=1", "/c/garden", "/c/plan", "/c/trip", "/c/number"]
    views += ["/diff", "/diff/garden..no", "/diff/garden..no?view=unified", "/new", "/keys"]
    views += ["/calls", "/calls?name=nobody"]
    views += [f"/t/{t.first}/change?name=garden", f"/t/{t.call}/explain", f"/erase/{t.first}", f"/t/{t.call}/whole"]
    views += ["/t/nobody", "/login"]
    return [looking.served.url + view for view in views]


@pytest.fixture(scope="module")
def views(looking: Looking, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Those of the server, and those on a disk."""
    out = tmp_path_factory.mktemp("files")
    asyncio.run(write_pages(looking.served.settings.target, "default", out, overwrite=True))
    return views_of(looking) + [(out / each).as_uri() for each in ("index.html", "c/trip/index.html")]


def test_axe_finds_nothing_on_any_view_in_both_themes_and_the_policy_is_kept(
    looking: Looking, views: list[str]
) -> None:
    axe = files("selenium_axe_python").joinpath("axe-core/axe.min.js").read_text("utf-8")
    driver = looking.driver

    def check(view: str) -> None:
        look(driver, width=390)
        driver.get(view)
        driver.execute_script(UNFOLD)
        driver.execute_script(axe)
        for width, dark in ((390, False), (1280, True)):
            look(driver, width=width, dark=dark)
            assert driver.execute_async_script(AXE) == [], (width, dark)
            assert driver.execute_script(TOO_WIDE) <= 0, width
        look(driver, width=640, height=450, zoom=2)  # what a window of 1280 by 900 shows at 200 %
        assert driver.execute_script(TOO_WIDE) <= 0
        assert driver.execute_script(MOVING) == ["auto", 0]
        assert looking.reports() == []

    assert failing(views, check) == {}
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_reader_hears_headings_in_order_and_a_name_of_all_that_can_be_used(
    looking: Looking, views: list[str]
) -> None:
    driver = looking.driver
    driver.execute_cdp_cmd("Accessibility.enable", {})

    def check(view: str) -> None:
        driver.get(view)
        driver.execute_script(UNFOLD)
        nodes = [
            each for each in driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"] if not each["ignored"]
        ]
        levels = [value_of(each, "level") for each in nodes if role_of(each) == "heading"]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(later <= before + 1 for before, later in pairwise(levels)), levels
        roles = {role_of(each) for each in nodes}
        assert "main" in roles
        usable = ("heading", "link", "button", "textbox", "searchbox", "combobox", "checkbox", "navigation")
        assert [each for each in nodes if role_of(each) in usable and not name_of(each)] == []

    assert failing(views, check) == {}
    driver.execute_cdp_cmd("Accessibility.disable", {})


def test_the_tab_key_reaches_all_that_can_be_used_and_shows_where_it_is(looking: Looking, views: list[str]) -> None:
    driver = looking.driver

    def check(view: str) -> None:
        driver.get(view)
        for _ in range(driver.execute_script(WATCH_FOCUS) + 1):
            press(driver, "Tab")
        assert driver.execute_script(UNMET) == [[], []]

    assert failing(views, check) == {}


def test_without_script_every_view_says_the_same(looking: Looking, views: list[str]) -> None:
    driver = looking.driver

    def read(view: str) -> str:
        driver.get(view)
        return str(driver.find_element("css selector", "main").text)

    said = {view: read(view) for view in views}
    set_script(driver, on=False)
    try:
        # The page of the keys says that they need a script, and has no button that switches them off then.
        assert {view for view in views if read(view) != said[view]} == {looking.served.url + "/keys"}
    finally:
        set_script(driver, on=True)


def press(driver: Any, key: str) -> None:
    for kind in ("rawKeyDown", "keyUp"):
        driver.execute_cdp_cmd(
            "Input.dispatchKeyEvent", {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": 9}
        )


def role_of(node: dict[str, Any]) -> str:
    return str(node.get("role", {}).get("value"))


def name_of(node: dict[str, Any]) -> str:
    return str(node.get("name", {}).get("value", "")).strip()


def value_of(node: dict[str, Any], name: str) -> int:
    return int(next(each["value"]["value"] for each in node["properties"] if each["name"] == name))
