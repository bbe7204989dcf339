"""The files of the page are served, and no other file is."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from tests.executors.driver.rest.client import ShownJob, served

from penstock.executors.driver.rest import page_files
from penstock.executors.driver.rest.access import Access


@pytest.fixture(autouse=True)
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "index.html").write_text("<p>é</p>")
    (folder / "main.js").write_text("let a;")
    (folder / "__init__.py").write_text("")
    (folder / "job").mkdir()
    (folder / "job" / "epochs.js").write_text("let b;")
    (tmp_path / "secret.js").write_text("secret")

    def files(package: Any) -> Path:
        assert package == "penstock.executors.driver.rest"
        return tmp_path

    monkeypatch.setattr(resources, "files", files)
    forget()
    yield
    forget()


def forget() -> None:
    page_files._files.cache_clear()
    page_files._file.cache_clear()


def test_a_file_has_its_type_and_says_what_it_may_load() -> None:
    with served(ShownJob()) as client:
        index, script = client("/"), client("/main.js")
        assert client("/job/epochs.js").body == "let b;"

    assert (index.status, index.body) == (200, "<p>é</p>")
    assert index.headers["content-type"] == "text/html; charset=UTF-8"
    assert script.headers["content-type"] == "text/javascript; charset=UTF-8"
    policy = index.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


def test_a_file_that_is_known_is_not_sent_again() -> None:
    with served(ShownJob()) as client:
        tag = client("/").headers["etag"]
        again = client("/", headers={"If-None-Match": tag})
        other = client("/", headers={"If-None-Match": '"other"'})
        assert client("/jobs").status == 200

    assert (again.status, again.body) == (304, "")
    assert other.status == 200


@pytest.mark.parametrize(
    "path", ["/__init__.py", "/../secret.js", "/%2e%2e/secret.js", "/page/main.js", "//main.js/.."]
)
def test_nothing_else_is_served(path: str) -> None:
    with served(ShownJob()) as client:
        assert client(path).status == 404


def test_the_page_itself_needs_no_token() -> None:
    with served(ShownJob(), access=Access(token="abc")) as client:
        assert client("/").status == 200
        assert client("/jobs").status == 401
