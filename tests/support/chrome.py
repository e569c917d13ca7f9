"""A real browser that a program drives: Chromium through chromedriver, where both are installed.

Used by the tests of the page (support/looking.py) and by docs/page_pictures.py. It reaches loopback only.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.browser import CHROMIUM

CHROMEDRIVER = shutil.which("chromedriver")
needs_chromedriver = pytest.mark.skipif(
    CHROMIUM is None or CHROMEDRIVER is None,
    reason="no chromedriver is installed: install the distribution's packages `chromium` and `chromium-driver`",
)
REBOUND = "rebound.test"
"""A name of a stranger that leads to this machine. All other names lead nowhere."""
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--window-size=1280,1000",
    "--force-prefers-reduced-motion",  # what is clicked has to stand still
    f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)  # fmt: skip


@contextmanager
def driving(profile: Path) -> Iterator[Any]:
    """A driver of selenium with a profile of its own."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(CHROMEDRIVER))
    driver.set_page_load_timeout(40)
    driver.set_script_timeout(20)
    try:
        yield driver
    finally:
        driver.quit()


def look(driver: Any, *, width: int, height: int = 900, zoom: int = 1, dark: bool = False) -> None:
    """Set the size of what is seen, in pixels of the page, and which theme the person prefers."""
    size = {"width": width, "height": height, "deviceScaleFactor": zoom, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def set_script(driver: Any, *, on: bool) -> None:
    """Run scripts of pages, or none."""
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not on})
