"""The one server of a process: opened by its first job that is to be seen, for all of them."""

from __future__ import annotations

import errno
import logging
import math
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from penstock.common.configuration import options
from penstock.common.configuration.configuration import Configuration
from penstock.common.plain_text import shown_name
from penstock.errors import InvalidConfigurationValueError, PenstockError, PortInUseError
from penstock.executors.driver import interrupts
from penstock.executors.driver.observation.running_jobs import JOBS
from penstock.executors.driver.rest.access import Access, is_loopback
from penstock.executors.driver.rest.routes import Api
from penstock.executors.driver.rest.server import RestServer
from penstock.forked import anew_in_forks

_LOG: Final = logging.getLogger("penstock")
_DEFAULT_PORT: Final = 8081
_MORE_PORTS: Final = 100
_SECONDS_BETWEEN: Final = 0.05
_SECONDS_AFTER_INTERRUPT: Final = 1.7
"""Ctrl-C ends a program within two seconds."""
_ANYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - it is read
"""What people type for addresses that stand for all there are."""


@dataclass(frozen=True)
class _Served:
    """A server, with what it was opened with.

    Attributes:
        server: The server.
        api: What answers.
        access: Which requests it answers.
        address: Where it is.
        keeps_s: For how many seconds it answers on for those who have asked for something.
    """

    server: RestServer
    api: Api
    access: Access
    address: str
    keeps_s: float


class Serving:
    """Opens the server when a job wants one, and closes it.

    Args:
        default_port: The port, if none is asked for.
    """

    def __init__(self, default_port: int = _DEFAULT_PORT) -> None:
        self._default_port = default_port
        self._lock = threading.Lock()
        self._served: _Served | None = None

    @property
    def address(self) -> str | None:
        """Where the server is; None if there is none."""
        return None if self._served is None else self._served.address

    def serve(self, name: str, configuration: Configuration) -> str:
        """Have a job seen from outside.

        Args:
            name: The job's name.
            configuration: Its configuration. That of the first job decides where the server is; a later one can
                only ask for a token where none was asked for.

        Returns:
            Where it is seen.

        Raises:
            PortInUseError: If none of the ports is free that `rest.bind-port` names.
            InvalidConfigurationValueError: If `rest.bind-address` is none of this machine, or nobody could send
                `rest.token`.
        """
        with self._lock:
            served = self._served
            if served is None:
                served = self._served = self._open(configuration)
                _say(f"Job {shown_name(name)!r}: {served.address}", configuration)
            else:
                served = self._served = _with_token(served, configuration)
                _LOG.info("Job %r: %s", shown_name(name), served.address)
        return served.address

    def _open(self, configuration: Configuration) -> _Served:
        host = configuration.get(options.REST_BIND_ADDRESS).removeprefix("[").removesuffix("]")
        name = configuration.get(options.REST_ADDRESS)
        token = _token(configuration)
        access = Access(token, name, is_loopback=is_loopback(host))
        try:
            api = Api(JOBS.jobs)
            server = RestServer(api, access, host, self._ports(configuration))
        except (OSError, ValueError) as error:
            raise _cannot_listen(host, error) from error
        if not access.is_loopback and token is None:
            _LOG.warning(
                "The REST API listens on %s without a token: whoever reaches it can stop jobs. Set rest.token.",
                host,
            )
        wanted = configuration.get(options.REST_PORT)
        if wanted not in (None, 0, server.port) and not configuration.get(options.REST_BIND_PORT):
            _LOG.warning("Port %d is taken: the REST API is at port %d.", wanted, server.port)
        address = f"http://{_shown(name or host)}:{server.port}"
        keeps_s = configuration.get(options.REST_STORE_DURATION).to_millis() / 1000
        interrupts.JOBS.at_end(self._linger_at_end)
        return _Served(server, api, access, address, keeps_s)

    def _ports(self, configuration: Configuration) -> Iterable[int]:
        named = configuration.get(options.REST_BIND_PORT)
        if named is not None:
            return named.numbers()
        port = configuration.get(options.REST_PORT)
        if port == 0:
            return [0]
        first = self._default_port if port is None else port
        return [*range(first, min(first + _MORE_PORTS, 1 << 16)), 0]

    def close(self, *, unless_busy: bool = False) -> None:
        """Close the server, if there is one.

        Args:
            unless_busy: Whether to leave it open while a job runs.
        """
        with self._lock:
            if self._served is None or (unless_busy and _is_busy()):
                return
            self._served.server.close()
            self._served = None

    def linger(self, limit_s: float = math.inf) -> None:
        """Answer on, if no job runs, until all know who want to know how the jobs have ended.

        Those who watch them have a few seconds for that, those who asked for a savepoint or a stop as long as
        `rest.async.store-duration` says.

        Args:
            limit_s: For how many seconds at most.
        """
        served, begun = self._served, time.monotonic()
        if served is None or served.server.process_id != os.getpid():
            return
        while self._served is served and not _is_busy():
            lasted = time.monotonic() - begun
            if lasted > limit_s or not served.api.is_awaited(with_results=lasted < served.keeps_s):
                return
            time.sleep(_SECONDS_BETWEEN)

    def _linger_at_end(self) -> None:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and callable(signal.getsignal(signal.SIGINT)):
            # Spark's own answer to Ctrl-C asks a session that may be gone.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            interrupted = interrupts.JOBS.interrupted_at
            spent = 0.0 if interrupted is None else time.monotonic() - interrupted
            self.linger(math.inf if interrupted is None else _SECONDS_AFTER_INTERRUPT - spent)


SERVING: Final = Serving()
"""That of this process."""
anew_in_forks(SERVING)


def _is_busy() -> bool:
    return any(not job.has_ended for job in JOBS.jobs())


def _with_token(served: _Served, configuration: Configuration) -> _Served:
    """Return the server with the token of a further job, if none was asked for before."""
    token = _token(configuration)
    if token in (None, served.access.token):
        return served
    if served.access.token is not None:
        _LOG.warning(
            "The REST API of this process keeps the rest.token of its first job: that of a later one differs."
        )
        return served
    access = Access(token, served.access.address, is_loopback=served.access.is_loopback)
    served.server.use(access)
    return replace(served, access=access)


def _token(configuration: Configuration) -> str | None:
    """Return what requests have to send; None for nothing.

    Raises:
        InvalidConfigurationValueError: If no header can hold it.
    """
    token = configuration.get(options.REST_TOKEN) or None
    if token is None or (token.isascii() and token.isprintable() and " " not in token):
        return token
    raise InvalidConfigurationValueError(
        "The value of rest.token cannot be sent in the header of a request.",
        hint="Take letters, digits and signs of ASCII, without spaces.",
    )


def _cannot_listen(host: str, error: OSError | ValueError) -> PenstockError:
    is_of_address = isinstance(error, socket.gaierror | ValueError) or error.errno in (
        errno.EADDRNOTAVAIL,
        errno.EAFNOSUPPORT,
    )
    if is_of_address:
        return InvalidConfigurationValueError(
            f"The REST API cannot listen on rest.bind-address, {host!r}: {error}.",
            hint="Give an address of this machine: 127.0.0.1 for itself alone, 0.0.0.0 for all it has.",
        )
    return PortInUseError(
        f"The REST API cannot listen on {host}, at the ports that rest.bind-port or rest.port asks for: {error}.",
        hint="Name other ports, or set rest.enabled to false.",
    )


def _shown(host: str) -> str:
    host = _ANYWHERE.get(host, host)
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _say(text: str, configuration: Configuration) -> None:
    """Say it where people look: in the terminal, unless they wish for silence or have a log of their own."""
    _LOG.info("%s", text)
    is_seen = sys.stderr.isatty() or not _LOG.hasHandlers()
    if is_seen and configuration.get(options.PROGRESS) != "off":
        with suppress(OSError, ValueError):  # nobody reads it any more
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
