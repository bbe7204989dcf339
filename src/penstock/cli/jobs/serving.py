"""The command `penstock jobs`."""

from __future__ import annotations

import argparse
import sys
import threading
from contextlib import suppress
from typing import Any, Final

from penstock.cli.jobs.found_jobs import PORTS
from penstock.cli.jobs.port_owners import is_own_port
from penstock.cli.layout import write
from penstock.errors import PortInUseError

_HOST: Final = "127.0.0.1"
_DEFAULT_PORT: Final = PORTS[-1] + 1


def serve_jobs(options: argparse.Namespace) -> int:
    """Serve the jobs of all drivers at one address, until Ctrl-C.

    Raises:
        PortInUseError: If the port is taken.
    """
    from penstock.cli.jobs.gateway import Gateway
    from penstock.executors.driver.rest.access import Access
    from penstock.executors.driver.rest.server import RestServer

    drivers = options.driver or [f"{_HOST}:{port}" for port in PORTS if port != options.port]
    gateway = Gateway(drivers, None if options.driver else _is_own)
    try:
        server = RestServer(gateway, Access(), _HOST, [options.port])
    except OSError as error:
        raise PortInUseError(
            f"The jobs cannot be shown at port {options.port}: {error}.",
            hint="Name another with --port; 0 takes any.",
        ) from error
    write(f"The jobs of this machine: http://{_HOST}:{server.port}")
    sys.stdout.flush()  # at once, also where another program reads it
    with suppress(KeyboardInterrupt):
        threading.Event().wait()
    server.close()
    gateway.close()
    return 0


def _is_own(driver: str) -> bool:
    return is_own_port(int(driver.rpartition(":")[2]))


def add_command(subjects: Any) -> None:
    """Add the command to those of `penstock`.

    Args:
        subjects: Where to.
    """
    serving = subjects.add_parser(
        "jobs", help="show the jobs of all drivers of this machine at one address, until Ctrl-C"
    )
    serving.add_argument(
        "--port",
        type=_port,
        default=_DEFAULT_PORT,
        metavar="N",
        help=f"the port of that address; default: {_DEFAULT_PORT}; 0 takes any that is free",
    )
    serving.add_argument(
        "--driver",
        action="append",
        type=_driver,
        metavar="HOST:PORT",
        help="where a driver is seen, which may begin later; may be said several times; default: ports "
        f"{PORTS[0]} to {PORTS[-1]} of this machine",
    )
    serving.set_defaults(run=serve_jobs)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text[:6]) < 1 << 16):
        raise argparse.ArgumentTypeError(f"{text!r} is no port")
    return int(text)


def _driver(text: str) -> str:
    host, _, port = text.removeprefix("http://").rstrip("/").rpartition(":")
    if not host or "/" in host or "@" in host:
        raise argparse.ArgumentTypeError(f"{text!r} is no address such as {_HOST}:8081")
    return f"{host}:{_port(port)}"
