"""Take pictures of the page of ``headish serve`` for the docs.

``python docs/page_pictures.py`` writes docs/pictures/serve-*.png, and docs/reference/views.md with a sheet of each view
(docs/pictures/views) at three widths, light and dark. The conversations are those of the tests of the page.
"""

from __future__ import annotations

import sys
import tempfile
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from headish import Store
from support.chrome import driving, look
from support.serving import serving
from support.talks import Talk, fill, record_calls

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures"
WIDTHS, HEIGHT = (390, 900, 1440), 900
SHOWN_HEIGHT = 440
"""The height of each picture on a sheet, in pixels."""
PRICES = 'currency = "USD"\n[[price]]\nmodel = "claude-x"\ninput = 3\ncached_input = 0.3\noutput = 15\n'
CALENDAR = "In spring, every second year:\n\n" + "\n\n".join(
    f"### Year {year}\n\n- Take a pot of {20 + 2 * year} cm, two parts of loam and one of *grit*.\n"
    "- Cut back what the frost took; water once a week until **May**."
    for year in range(2, 400, 2)
)
"""A turn that is too long for the page to show it whole in a thread."""
PAGE = """# Every view of the page

`headish serve` at {widths} pixels, light and dark: each view in one picture.
[How to read in a browser](../how-to/read-in-a-browser.md) says what each does. `python docs/page_pictures.py` makes
this page anew.
"""


@contextmanager
def photographed() -> Iterator[tuple[Any, str, Talk]]:
    """Start a server and a browser that is logged in; yield the browser's driver, the page's URL and its contents."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with Store.open(place / "talk.db") as store:
            talk = fill(store)
            record_calls(store)
            store.add_turn("When do I repot an olive tree?", bookmark="olive")
            store.add_turn(CALENDAR, role="assistant", continues="olive")
            store.conversations.set("olive", tags=["garden"], archived=True)
            store.pointers.set("small", "anthropic/claude-x", base_url="http://127.0.0.1:9", key_env="PATH")
            store.pointers.set_default("small")
        (place / "prices.toml").write_text(PRICES, "utf-8")
        served_at = serving(place / "talk.db", place / "state", prices=str(place / "prices.toml"))
        with served_at as served, driving(place / "profile") as driver:
            driver.get(f"{served.url}/login?code={served.logins.make_code()}")
            yield driver, served.url, talk


def write_pictures(driver: Any, url: str) -> None:
    """Write the pictures of the how-to."""
    views = {
        "list": ("/", 900, False),
        "thread": ("/c/plan", 1280, False),
        "gateway": ("/calls", 900, False),
        "diff": ("/diff/garden..no", 1280, True),
    }
    for name, (path, width, dark) in views.items():
        look(driver, width=width, dark=dark)
        visit(driver, url + path)
        driver.save_screenshot(str(PICTURES / f"serve-{name}.png"))
        sys.stdout.write(f"docs/pictures/serve-{name}.png\n")


def write_sheets(driver: Any, url: str, talk: Talk) -> None:
    """Write a sheet of each view, and the page that shows them."""
    page = [PAGE.format(widths=", ".join(f"{width:,}" for width in WIDTHS[:-1]) + f" and {WIDTHS[-1]:,}")]
    (PICTURES / "views").mkdir(exist_ok=True)
    views = views_of(talk)
    # Take all pictures before any is laid out: a sheet is a file, and the browser would change between two sites.
    pictures = {
        name: [take(driver, url + path, width, dark) for dark in (False, True) for width in WIDTHS]
        for name, (_, path) in views.items()
    }
    for name, (title, _) in views.items():
        (PICTURES / "views" / f"{name}.jpg").write_bytes(lay_out(driver, pictures[name]))
        page.append(f"\n## {title}\n\n![{title}](../pictures/views/{name}.jpg)\n")
        sys.stdout.write(f"docs/pictures/views/{name}.jpg\n")
    (DOCS / "reference/views.md").write_text("".join(page), "utf-8")


def views_of(talk: Talk) -> dict[str, tuple[str, str]]:
    """The views by the name of their picture: title and path."""
    return {
        "list": ("The list of conversations", "/"),
        "archived": ("Archived conversations", "/?archived=1"),
        "search": ("A search", "/?q=train"),
        "thread": ("A thread, its versions and its branches", "/c/plan"),
        "calls-folded": ("A thread with reasoning, calls and a table", "/c/trip"),
        "cost": ("A thread that passed the gateway, with tokens and costs", "/c/claude-code/097ac8"),
        "erased": ("What was erased", "/c/number"),
        "whole": ("A whole turn", "/t/olive/whole"),
        "change": ("The actions on a turn", f"/t/{talk.first}/change?name=garden"),
        "erase": ("The preview of an erasure", f"/erase/{talk.first}"),
        "compare": ("Two branches are chosen", "/diff"),
        "side": ("Two branches side by side", "/diff/garden..no"),
        "unified": ("Two branches in one column", "/diff/garden..no?view=unified"),
        "explain": ("What the model is sent", f"/t/{talk.call}/explain"),
        "gateway": ("Calls that passed the gateway", "/calls"),
        "new": ("A new conversation", "/new"),
        "keys": ("The keys", "/keys"),
        "nothing": ("A search that finds nothing", "/?q=zeppelin"),
        "login": ("A login that is over", "/login?code=over"),
        "unknown": ("What is not there", "/t/nobody"),
    }


def take(driver: Any, url: str, width: int, dark: bool) -> str:
    """Take one picture; return it as base64."""
    look(driver, width=width, height=HEIGHT, dark=dark)
    visit(driver, url)
    return str(driver.get_screenshot_as_base64())


def visit(driver: Any, url: str) -> None:
    """Open a page, and wait until it has replaced the one before.

    After a page that keeps ``/live`` open, chromedriver's ``get`` sometimes returns while the old page is still there.
    A picture taken then fails with "timeout", caused by "Not attached to an active page".
    """
    driver.execute_script("window.isBefore = true")
    driver.get(url)
    while not driver.execute_script("return !window.isBefore && document.readyState === 'complete'"):
        time.sleep(0.02)


def lay_out(driver: Any, shown: list[str]) -> bytes:
    """Lay several pictures out on a sheet, each theme in a row; return it as a JPEG."""
    scale = SHOWN_HEIGHT / HEIGHT
    width = round(sum(WIDTHS) * scale) + 12 * (len(WIDTHS) + 1)
    height = 2 * SHOWN_HEIGHT + 3 * 12
    pictures = "".join(f'<img src="data:image/png;base64,{each}">' for each in shown)
    with tempfile.TemporaryDirectory() as folder:
        sheet = Path(folder) / "sheet.html"
        style = "margin:0;padding:12px;background:#8a8a8a;display:flex;flex-wrap:wrap;gap:12px"
        sheet.write_text(f'<style>img{{height:{SHOWN_HEIGHT}px}}</style><body style="{style}">{pictures}', "utf-8")
        look(driver, width=width, height=height)
        visit(driver, sheet.as_uri())
        screenshot = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "jpeg", "quality": 72})
    return b64decode(screenshot["data"])


def main() -> None:
    with photographed() as (driver, url, talk):
        write_pictures(driver, url)
        write_sheets(driver, url, talk)


if __name__ == "__main__":
    main()
