"""A job that was found, and the way to what knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

ENDED: Final = frozenset({"FINISHED", "CANCELED", "FAILED", "SUSPENDED"})
"""The states that nothing follows."""


class JobsClient(Protocol):
    """Asks the REST API of a driver, or what answers as that would.

    Attributes:
        address: Where that is.
        has_page: Whether a browser finds a page of the job there.
    """

    address: str
    has_page: bool

    def __call__(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """Ask, and return what the answer's JSON says: see `RestClient`."""


@dataclass(frozen=True)
class FoundJob:
    """A job.

    Attributes:
        client: Asks the driver that it is of.
        overview: What the driver says of it in `/jobs/overview`.
    """

    client: JobsClient
    overview: dict[str, Any]

    @property
    def job_id(self) -> str:
        """Its id."""
        return str(self.overview["jid"])

    @property
    def has_ended(self) -> bool:
        """Whether it has ended."""
        return self.overview["state"] in ENDED

    @property
    def page(self) -> str | None:
        """The address of its page; None if it has none."""
        if not self.client.has_page:
            return None
        return f"{self.client.address.rstrip('/')}/#/jobs/{self.job_id}"
