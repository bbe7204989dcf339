"""A source whose reading the driver plans, and the plans."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.runtime.exchange.elements import Block, Watermark


class Piece(NamedTuple):
    """What one subtask reads in an epoch without a break.

    Attributes:
        content: What is to be read, as the source that planned it knows to read it. It can be pickled.
        split: The split that it is of; None if all records of the source are of one.
    """

    content: Any
    split: Hashable = None


@dataclass(frozen=True)
class Plan:
    """What an epoch reads of a source.

    Attributes:
        pieces: What there is to read.
        state: What the planner has to know for the next plan once this epoch is committed, as data that JSON
            gives back as it was. A plan with pieces has another one than the plan before it; one without pieces is worth
            an epoch if it has.
        is_over: Whether nothing follows.
    """

    pieces: tuple[Piece, ...] = ()
    state: Any = None
    is_over: bool = False


class Planner(ABC):
    """Says on the driver what is to be read of a source. It lives as long as the job does in this process."""

    @abstractmethod
    def plan(self, state: Any, parallelism: int) -> Plan:
        """Return what is to be read now; a plan without pieces if there is nothing new.

        What was planned after the same state may be asked for again: an epoch that failed is given the plan it
        had as long as the driver lives, and another driver makes a new one.

        Args:
            state: That of the last plan whose epoch was committed; None for none.
            parallelism: How many subtasks the source has.

        Raises:
            PenstockError: If that cannot be told.
        """

    def only_present(self) -> None:  # noqa: B027 - most plan nothing that comes later
        """Hear, before the first plan, that nothing is to be planned that comes after it.

        A plan without pieces then says that all of that is read. If it cannot be told now, the planner waits
        or raises.
        """

    def committed(self, state: Any) -> None:  # noqa: B027 - most tell nobody
        """Hear that an epoch is committed, for others who want to know how far the source is read.

        Nobody hears of it if the driver dies between the commit and this.

        Args:
            state: That of its plan.
        """

    def cancel(self) -> None:  # noqa: B027 - most wait for nobody
        """Hear that the job is cancelled: what waits for somebody is to end at once. Another thread may be in `plan`."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what it holds open."""


class PlannedSource(ABC):
    """A source of which the driver says for each epoch what is to be read: files, lines of a socket.

    Any subtask can read any piece, and how far it has come is known of the source as a whole.

    Attributes:
        kind: Says whose the state of its plans is; it stands in checkpoints, and stays.
    """

    kind: str

    has_epochs: bool = True
    """Whether it may take more than one epoch to read it."""

    is_bounded: bool = False
    """Whether it ends."""

    has_splits: bool = False
    """Whether its pieces are of splits, each with a watermark of its own."""

    has_present: bool = True
    """Whether it can be told what is there of it now; of what comes by itself it cannot."""

    is_unordered: bool = False
    """Whether what an epoch reads is in no order of time, such as several files."""

    @abstractmethod
    def planner(self) -> Planner:
        """Return what plans its reading."""

    @abstractmethod
    def read(self, content: Any) -> Iterator[Block | Watermark]:
        """Yield the records of a piece, and the watermarks among them if it knows of any."""

    def interrupt(self) -> None:  # noqa: B027 - most wait for nobody
        """Let what is read no longer wait for somebody, but fail; called from another thread."""
