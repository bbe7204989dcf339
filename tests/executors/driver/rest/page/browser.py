"""A real browser, which tests drive as a person does: by clicks and keys."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver
    from selenium.webdriver.remote.webelement import WebElement

PATIENCE: Final = 20.0
"""How many seconds what is waited for may take; a busy machine is slow."""


def missing() -> str | None:
    """Return why there is no browser here; None if there is one."""
    if _browser() is None:
        return "There is no Chromium here (Debian: apt install chromium)."
    if shutil.which("chromedriver") is None:
        return "There is no chromedriver here (Debian: apt install chromium-driver)."
    return None


def need() -> None:
    """Skip the test where there is no browser; where nothing may be skipped, fail."""
    reason = missing()
    if reason is None:
        return
    if os.environ.get("PENSTOCK_TESTS") == "all":
        pytest.fail(reason)
    pytest.skip(reason)


def _browser() -> str | None:
    return shutil.which("chromium") or shutil.which("google-chrome")


class Browser:
    """A browser with one tab."""

    def __init__(self) -> None:
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        options.binary_location = _browser() or ""
        # A sandbox needs a user other than root, and shared memory is small in containers.
        for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "no-first-run"):
            options.add_argument(f"--{argument}")
        options.add_argument("--force-color-profile=srgb")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = webdriver.ChromeService(shutil.which("chromedriver"))
        self.driver: WebDriver = webdriver.Chrome(options=options, service=service)
        self.driver.set_script_timeout(PATIENCE)

    def quit(self) -> None:
        self.driver.quit()

    def open(self, address: str, *, width: int = 1280, height: int = 900, **media: str) -> None:
        """Load a page anew, as large as said, and for a reader with such preferences."""
        self.driver.get("about:blank")
        self.complaints()
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        features = [
            {"name": name.replace("_", "-"), "value": value} for name, value in media.items()
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.get(address)

    def run(self, script: str, *arguments: Any) -> Any:
        """Return what a function with this body returns in the page."""
        return self.driver.execute_script(script, *arguments)

    def all(self, selector: str) -> list[WebElement]:
        from selenium.webdriver.common.by import By

        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def until(self, condition: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
        """Wait until something holds, and return it."""
        from selenium.common.exceptions import StaleElementReferenceException
        from selenium.webdriver.support.ui import WebDriverWait

        wait = WebDriverWait(
            self.driver, patience, 0.03, ignored_exceptions=[StaleElementReferenceException]
        )
        return wait.until(lambda _: condition(), f"never came: {what}\n{self.text()}")

    def one(self, selector: str, text: str = "") -> WebElement:
        """Wait for an element that is seen, whose text has these words, and return it."""
        found: WebElement = self.until(
            lambda: next(
                (each for each in self.all(selector) if each.is_displayed() and text in each.text),
                None,
            ),
            f"{selector} with {text!r}",
        )
        return found

    def click(self, selector: str, text: str = "") -> None:
        self.one(selector, text).click()

    def shows(self, text: str, patience: float = PATIENCE) -> None:
        """Wait until the page shows a text."""
        self.until(lambda: text in self.text(), repr(text), patience)

    def text(self) -> str:
        return str(self.run("return document.body.innerText"))

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def focused(self) -> str:
        """What has the focus: its label, or its text."""
        found = "const it = document.activeElement; "
        return str(self.run(found + "return it.ariaLabel ?? it.innerText ?? it.tagName"))

    def complaints(self) -> list[str]:
        """What the browser has logged since the page was opened: errors, and what the policy refused."""
        found = self.driver.execute("getLog", {"type": "browser"})["value"]
        return [str(line["message"]) for line in found]
