"""Who watches a job from outside: pages as browsers have them open, or a Prometheus.

    python benchmarks/sides/watchers.py PORT JOB page 5 1
    python benchmarks/sides/watchers.py PORT JOB /metrics 1 5

So many ask the driver at that port, each over a connection of its own and every so many seconds, one after the
other, until standard input ends. A page asks for the job's view, which its browser keeps for as long as it
holds, and has the log open. There is a line on standard output when all have been answered.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from collections.abc import Callable

_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "gzip, deflate, br",
    "Accept-Language": "en",
    "Cache-Control": "max-age=0",
    "Referer": "http://127.0.0.1/",
    "Sec-Fetch-Dest": "empty",
    "Sec-Fetch-Mode": "cors",
    "Sec-Fetch-Site": "same-origin",
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0",
}
"""What a browser sends along."""


class Client:
    """Asks the driver for something over and over again.

    Args:
        port: The driver's port.
    """

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._tags: dict[str, str] = {}

    def ask(self, path: str) -> bytes:
        """Returns what there is at a path; nothing if it is what was there the last time."""
        known = {"If-None-Match": tag} if (tag := self._tags.get(path)) else {}
        self._connection.request("GET", path, headers={**_HEADERS, **known})
        response = self._connection.getresponse()
        body = response.read()
        if response.status not in (200, 304):
            raise RuntimeError(f"{path}: {response.status} {body!r}")
        if found := response.getheader("ETag"):
            self._tags[path] = found
        return body


class Page:
    """A page of a job, with the log open."""

    def __init__(self, client: Client, job: str) -> None:
        self._client = client
        self._job = job
        self._after = 0

    def __call__(self) -> None:
        """Asks for what a page shows."""
        self._client.ask(f"/jobs/{self._job}/view")
        log = json.loads(self._client.ask(f"/jobs/{self._job}/log?after={self._after}"))
        for line in log["lines"][-1:]:
            self._after = line["number"]


def watch(
    turn: Callable[[], None], delay: float, every: float, is_answered: Callable[[], object]
) -> None:
    """Has a turn again and again."""
    time.sleep(delay)
    turn()
    is_answered()
    while True:
        time.sleep(every)
        turn()


def main() -> None:
    port, job, what, count, every = sys.argv[1:]
    answered = threading.Barrier(int(count) + 1)
    for number in range(int(count)):
        client = Client(int(port))
        turn = Page(client, job) if what == "page" else lambda client=client: client.ask(what)
        delay = float(every) * number / int(count)
        arguments = turn, delay, float(every), answered.wait
        threading.Thread(target=watch, args=arguments, daemon=True).start()
    answered.wait(60)
    print("watching", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
