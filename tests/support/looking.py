"""A browser that is logged in at a server with conversations, for the tests of the page.

Used by tests/serve/pages (its fixture ``looking``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headish import Store
from support.chrome import driving
from support.loopback import Loopback
from support.serving import Served, serving
from support.talks import Talk, fill, record_calls

WATCH = """
window.reports = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.reports.push(event.violatedDirective + " " + event.blockedURI);
});
window.EventSource = class extends EventSource {
  constructor(url) {
    super(url);
    window.stream = this;
  }
};
"""


class Looking(NamedTuple):
    """A browser that is logged in, and what it looks at."""

    driver: Any
    served: Served
    store: Store
    talk: Talk
    model: Loopback

    def open(self, path: str) -> None:
        self.driver.get(self.served.url + path)

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def text(self, selector: str) -> str:
        """What an element says; empty without one, or while it is replaced."""
        return str(self.driver.execute_script("return document.querySelector(arguments[0])?.innerText ?? ''", selector))

    def until(self, seen: Callable[[], Any]) -> Any:
        for _ in range(1200):
            found = seen()
            if found:
                return found
            time.sleep(0.05)
        pytest.fail("it was not seen within a minute")

    def until_it_listens(self) -> None:
        """Until the page's stream of events is open: of what happened before, only its next fetch tells."""
        self.until(lambda: self.driver.execute_script("return window.stream?.readyState === EventSource.OPEN"))

    def reports(self) -> list[str]:
        return list(self.driver.execute_script("return window.reports"))


@contextmanager
def looking_at(folder: Path) -> Iterator[Looking]:
    """A browser, a server, a model that answers."""
    with (
        Store.open(folder / "talk.db") as store, Loopback() as model, driving(folder / "profile") as driver,
    ):  # fmt: skip
        talk = fill(store)
        record_calls(store)
        store.pointers.set("milli", "anthropic/small", base_url=model.url, key_env="PATH")
        store.pointers.set_default("milli")
        with serving(folder / "talk.db", folder / "state") as served:
            driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
            driver.get(f"{served.url}/login?code={served.logins.make_code()}")
            yield Looking(driver, served, store, talk, model)
