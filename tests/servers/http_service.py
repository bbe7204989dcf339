"""The HTTP service of `http_program.py`, as tests see it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("http_program.py")


class HttpService:
    """Starts the service on a free port, which it keeps for as often as it is started again.

    Attributes:
        port: The port.
    """

    def __init__(self) -> None:
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        """What a key is put behind."""
        return f"http://127.0.0.1:{self.port}/lookup/"

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, PROGRAM, str(self.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.kill()
            raise RuntimeError("The HTTP service does not start; what it wrote says why.")
        self.port = int(line)

    def kill(self) -> None:
        """End the service in the midst of whatever it does."""
        self._process.kill()
        self._process.communicate()

    def behave(self, **settings: Any) -> None:
        """Have it behave by new settings, see `http_program.Settings`, and count anew."""
        self._request("PUT", "settings", settings)

    def calls(self) -> dict[str, int]:
        """How often it was asked for each key."""
        calls: dict[str, int] = self._request("GET", "counts")["calls"]
        return calls

    def most_at_once(self) -> int:
        """How many calls it had under way at most."""
        most: int = self._request("GET", "counts")["most_at_once"]
        return most

    def _request(self, method: str, path: str, content: Any = None) -> Any:
        data = None if content is None else json.dumps(content).encode()
        url = f"http://127.0.0.1:{self.port}/{path}"
        request = urllib.request.Request(url, data=data, method=method)
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.loads(response.read() or "null")
