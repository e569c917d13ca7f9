"""Photographs the page of ``headish serve`` for the docs: views at three widths, light and dark.

``python docs/page_pictures.py`` writes docs/pictures/serve-*.png. The conversations are those of the tests of the page.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from headish import Store
from support.chrome import driving, look
from support.serving import serving
from support.talks import fill, record_calls

PICTURES = Path(__file__).parent / "pictures"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with Store.open(place / "talk.db") as store:
            talk = fill(store)
            record_calls(store)
        views = {
            "list": ("/", 900, False),
            "thread": ("/c/plan", 1280, False),
            "calls": ("/c/trip", 390, True),
            "gateway": ("/calls", 900, False),
            "diff": ("/diff/garden..no", 1280, True),
            "change": (f"/t/{talk.first}/change?name=garden", 900, False),
        }
        with serving(place / "talk.db", place / "state") as served, driving(place / "profile") as driver:
            driver.get(f"{served.url}/login?code={served.logins.make_code()}")
            for name, (path, width, dark) in views.items():
                look(driver, width=width, dark=dark)
                driver.get(served.url + path)
                driver.save_screenshot(str(PICTURES / f"serve-{name}.png"))
                sys.stdout.write(f"docs/pictures/serve-{name}.png\n")


if __name__ == "__main__":
    main()
