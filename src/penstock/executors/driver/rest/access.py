"""Who may ask what: a token where one is set, and no page of another site in the user's browser."""

from __future__ import annotations

import hmac
import ipaddress
import socket
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from penstock.executors.driver.rest.exchange import Request, RequestRefusedError

_READING: Final = frozenset({"GET", "HEAD"})


@dataclass(frozen=True)
class Access:
    """Decides which requests are answered.

    A page of another site, which the user's browser happens to show, can send requests to this machine: it
    can ask by a name of its own that leads here (DNS rebinding), or send a request that changes something.
    The header Host tells the one, the header Origin the other. Where a token is wanted a page cannot know it,
    so any name will do.

    Args:
        token: What has to be sent as `Authorization: Bearer`; None if nothing has.
        address: The name under which others reach the server, if it is set.
        is_loopback: Whether only this machine reaches it.
    """

    token: str | None = None
    address: str | None = None
    is_loopback: bool = True

    def check_site(self, request: Request) -> None:
        """Refuse what a page of another site has sent.

        Raises:
            RequestRefusedError: With 403, if one has.
        """
        host = request.headers.get("host", "")
        if self.token is None and host and not self._is_own(_name(host)):
            raise RequestRefusedError(
                403,
                f"This server is not reached by the name {_name(host)!r}. Set rest.address to it, or set "
                "rest.token.",
            )
        origin = request.headers.get("origin")
        if request.method in _READING or origin is None:
            return
        if not host or _place(origin) != host.lower():
            raise RequestRefusedError(403, f"A page of {origin} may change nothing here.")

    def check_token(self, request: Request) -> None:
        """Refuse who has not sent the token.

        Raises:
            RequestRefusedError: With 401, if one is wanted, and another or none was sent.
        """
        if self.token is None:
            return
        scheme, _, sent = request.headers.get("authorization", "").partition(" ")
        given = sent.strip() if scheme.lower() == "bearer" else ""
        if not hmac.compare_digest(given.encode(errors="replace"), self.token.encode()):
            raise RequestRefusedError(
                401,
                "Send the token that rest.token is set to: Authorization: Bearer <token>.",
                {"WWW-Authenticate": 'Bearer realm="penstock"'},
            )

    def _is_own(self, name: str) -> bool:
        if is_loopback(name) or name == (self.address or "").lower():
            return True
        return not self.is_loopback and (_is_number(name) or name in _own_names())


def is_loopback(name: str) -> bool:
    """Return whether only this machine reaches a name, or an address without brackets."""
    if name.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    inner = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (inner or address).is_loopback


def _name(host: str) -> str:
    """Return the name in a header Host, without the port and the brackets of IPv6."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _place(origin: str) -> str:
    """Return the name and port in a header Origin."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=1)
def _own_names() -> frozenset[str]:
    return frozenset({socket.gethostname().lower(), socket.getfqdn().lower()})
