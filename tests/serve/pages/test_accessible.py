"""Every view for everybody: axe, both themes, three widths, 200 %, reduced motion, keys alone, a reader's headings."""

from __future__ import annotations

import asyncio
import re
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
SOME = [f"Number {number}" for number in range(20)]
WIDE = f"|{'|'.join(SOME)}|\n{'|---' * 20}|\n|{'|'.join(SOME)}|"
SCROLLING = """
const scrolls = (each) => each.scrollWidth > each.clientWidth;
return [...document.querySelectorAll("main table")].filter(scrolls).map((each) => [each.tabIndex, each.ariaLabel]);
"""


def views_of(looking: Looking) -> list[str]:
    """Every view, by its address."""
    t = looking.talk
    views = ["/", "/?q=greenhouse", "/?q=zeppelin", "/?archived=1", "/c/garden", "/c/plan", "/c/trip", "/c/number"]
    views += ["/c/hid", "/c/wide", "/diff", "/diff/garden..no", "/diff/garden..no?view=unified", "/new", "/keys"]
    views += ["/calls", "/calls?name=nobody"]
    views += [f"/t/{t.first}/change?name=garden", f"/t/{t.call}/explain", f"/erase/{t.first}", f"/t/{t.call}/whole"]
    views += ["/t/nobody", "/login"]
    return [looking.served.url + view for view in views]


@pytest.fixture(scope="module")
def views(looking: Looking, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Those of the server, and those on a disk."""
    hidden = looking.store.add_turn("A hidden turn, with `code`.", bookmark="hid").id
    looking.store.hide(hidden, continues="hid")
    looking.store.add_turn(WIDE, bookmark="wide")
    out = tmp_path_factory.mktemp("files")
    asyncio.run(write_pages(looking.served.settings.target, "default", out, overwrite=True))
    return views_of(looking) + [(out / each).as_uri() for each in ("index.html", "c/trip/index.html")]


def test_every_view_is_there_for_everybody(looking: Looking, views: list[str]) -> None:
    """Each is loaded once for all of this: a load costs more than a look."""
    axe = files("selenium_axe_python").joinpath("axe-core/axe.min.js").read_text("utf-8")
    driver, said = looking.driver, {}
    driver.execute_cdp_cmd("Accessibility.enable", {})

    def check(view: str) -> None:
        look(driver, width=390)
        driver.get(view)
        said[view] = text_of(driver)
        driver.execute_script(UNFOLD)
        check_headings_and_names(driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"])
        driver.execute_script(axe)
        for width, dark in ((390, False), (1280, True)):
            look(driver, width=width, dark=dark)
            assert driver.execute_async_script(AXE) == [], (width, dark)
            assert driver.execute_script(TOO_WIDE) <= 0, width
        look(driver, width=640, height=450, zoom=2)  # what a window of 1280 by 900 shows at 200 %
        assert driver.execute_script(TOO_WIDE) <= 0
        assert driver.execute_script(MOVING) == ["auto", 0]
        look(driver, width=1280)
        for _ in range(driver.execute_script(WATCH_FOCUS) + 1):
            press(driver, "Tab")
        assert driver.execute_script(UNMET) == [[], []]
        assert looking.reports() == []

    assert failing(views, check) == {}
    driver.execute_cdp_cmd("Accessibility.disable", {})
    set_script(driver, on=False)
    try:
        look(driver, width=390)
        changed = [view for view in views if driver.get(view) or text_of(driver) != said[view]]
    finally:
        set_script(driver, on=True)
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    # The page of the keys says that they need a script, and has no button that switches them off then.
    assert changed == [looking.served.url + "/keys"]


def check_headings_and_names(nodes: list[dict[str, Any]]) -> None:
    """What a screen reader walks along: headings in order, and a name of all that can be used."""
    heard = [each for each in nodes if not each["ignored"]]
    levels = [value_of(each, "level") for each in heard if role_of(each) == "heading"]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= before + 1 for before, later in pairwise(levels)), levels
    assert "main" in map(role_of, heard)
    named = ("heading", "link", "button", "textbox", "searchbox", "combobox", "checkbox", "navigation")
    assert [each for each in heard if role_of(each) in named and not name_of(each)] == []


def text_of(driver: Any) -> str:
    """What a view says, but for how long ago things were: that passes on between two looks."""
    return re.sub(r"just now|\d+ \w+ ago", "a while ago", driver.find_element("css selector", "main").text)


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


def test_a_table_can_be_scrolled_with_keys_while_it_is_too_wide(looking: Looking) -> None:
    table = "|Train|Leaves|\n|---|---|\n|" + "A" * 50 + "|06:09|"
    looking.store.add_turn(table, bookmark="train")
    try:
        look(looking.driver, width=390)
        looking.open("/c/train")
        looking.until(lambda: scrolling(looking) == [[0, "Train, Leaves"]])
        look(looking.driver, width=1280)
        looking.until(lambda: looking.find("main table").get_attribute("tabindex") is None)
        assert looking.find("main table").get_attribute("aria-label") is None
        looking.store.add_turn(WIDE, continues="train")  # it comes into the open page
        looking.until(lambda: scrolling(looking) == [[0, ", ".join(SOME)]])
    finally:
        looking.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def scrolling(looking: Looking) -> list[list[Any]]:
    """The place in the order of Tab, and the name, of all that scrolls sideways."""
    return list(looking.driver.execute_script(SCROLLING))
