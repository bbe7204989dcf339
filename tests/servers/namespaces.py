"""Networks of their own for processes on this machine, each behind a cable that can be pulled."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
from typing import Final

_NETWORK: Final = "10.213.94"


def can_be_made() -> bool:
    """Whether this user may make networks."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    try:
        with contextlib.closing(Bridge()) as bridge:
            bridge.add()
            return True
    except subprocess.CalledProcessError:
        return False


class Bridge:
    """Joins this machine and its namespaces, until it is closed.

    Attributes:
        host: The address of this machine on it.
    """

    def __init__(self) -> None:
        self.name = f"cr{os.getpid()}"
        self.host = f"{_NETWORK}.1"
        self._namespaces: list[Namespace] = []
        try:
            _ip("link", "add", self.name, "type", "bridge")
            _ip("addr", "add", f"{self.host}/24", "dev", self.name)
            _ip("link", "set", self.name, "up")
        except BaseException:
            self.close()
            raise

    def add(self) -> Namespace:
        """Return one more namespace."""
        number = len(self._namespaces) + 2
        namespace = Namespace(f"{self.name}-{number}", self, f"{_NETWORK}.{number}")
        self._namespaces.append(namespace)
        return namespace

    def close(self) -> None:
        """End it, and all namespaces."""
        for namespace in self._namespaces:
            namespace.close()
        with contextlib.suppress(subprocess.CalledProcessError):
            _ip("link", "del", self.name)


class Namespace:
    """A network that is as good as another machine.

    Args:
        name: Its name, and that of its cable.
        bridge: What its cable is put into.
        address: The address there.

    Attributes:
        prefix: What a command begins with that runs there.
        host: The address of this machine, as seen from there.
    """

    def __init__(self, name: str, bridge: Bridge, address: str) -> None:
        self._name = name
        self.host = bridge.host
        self.address = address
        self.prefix = ["ip", "netns", "exec", name]
        self._timer: threading.Timer | None = None
        inner = "eth0"
        try:
            _ip("netns", "add", name)
            _ip("link", "add", name, "type", "veth", "peer", "name", inner, "netns", name)
            _ip("link", "set", name, "master", bridge.name, "up")
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", inner)
            for device in ("lo", inner):
                _ip("-n", name, "link", "set", device, "up")
        except BaseException:
            self.close()
            raise

    @property
    def is_pulled(self) -> bool:
        """Whether the cable is pulled now."""
        return self._timer is not None

    def part(self, seconds: float) -> None:
        """Pull the cable for some seconds: what is sent meanwhile is lost."""
        self.mend()
        _ip("link", "set", self._name, "down")
        self._timer = threading.Timer(seconds, self.mend)
        self._timer.daemon = True
        self._timer.start()

    def mend(self) -> None:
        """Put the cable in again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        with contextlib.suppress(subprocess.CalledProcessError):
            _ip("link", "set", self._name, "up")

    def close(self) -> None:
        """End the network."""
        if self._timer is not None:
            self._timer.cancel()
        for command in (("link", "del", self._name), ("netns", "del", self._name)):
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip(*command)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
