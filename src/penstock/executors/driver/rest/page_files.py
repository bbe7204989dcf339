"""The files of the page that shows jobs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from penstock.executors.driver.rest.exchange import Answer, Request

_TYPES: Final = {
    "html": "text/html; charset=UTF-8",
    "css": "text/css; charset=UTF-8",
    "js": "text/javascript; charset=UTF-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "ico": "image/x-icon",
    "json": "application/json; charset=UTF-8",
}
_POLICY: Final = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)


def is_page_file(request: Request) -> bool:
    """Return whether a request asks for a file of the page."""
    return request.method in {"GET", "HEAD"} and _name(request) in _files()


def page_file(request: Request) -> Answer | None:
    """Return the file that a request asks for; None if it asks for none."""
    if not is_page_file(request):
        return None
    name = _name(request)
    content, tag = _file(name)
    headers = {"ETag": tag, "Cache-Control": "no-cache", "Content-Security-Policy": _POLICY}
    content_type = _TYPES[name.rpartition(".")[2]]
    if request.headers.get("if-none-match") == tag:
        return Answer(b"", 304, content_type, headers)
    return Answer(content, 200, content_type, headers)


def _name(request: Request) -> str:
    return request.path.lstrip("/") or "index.html"


@cache
def _files() -> frozenset[str]:
    """Return the names of the files, with their folders: nothing else is ever looked for."""
    return frozenset(_names(resources.files(__package__).joinpath("page")))


def _names(folder: Traversable, prefix: str = "") -> Iterator[str]:
    if not folder.is_dir():
        return
    for one in folder.iterdir():
        yield from _names(one, f"{prefix}{one.name}/")
        if one.name.rpartition(".")[2] in _TYPES:
            yield prefix + one.name


@cache
def _file(name: str) -> tuple[bytes, str]:
    content = resources.files(__package__).joinpath("page", name).read_bytes()
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'
