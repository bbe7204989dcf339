"""What the time of a job goes to."""

from __future__ import annotations

from enum import Enum

__all__ = ["Cost"]


class Cost(Enum):
    """What the time of a job goes to; the values are the names in tables."""

    USER = "user function"
    """The user's functions, and what they call."""
    FRAMEWORK = "framework"
    """The rest of the operators, and what is between them."""
    STATE = "state"
    """Keyed state and timers."""
    SERIALIZATION = "serialization"
    """Pickling and unpickling of what crosses an exchange."""
    EXCHANGE = "exchange"
    """Waiting for rows from Spark, giving rows to it, and turning them to values and back."""
    SNAPSHOT = "snapshot"
    """Writing what changed in state when an epoch ends, and taking state up when one begins."""
    WAITING = "waiting for calls"
    """Waiting for asynchronous calls."""
    PLANNING = "planning"
    """Before the first task of an epoch: its plan is built, and Spark plans and launches it."""
    SCHEDULING = "scheduling"
    """Between the tasks of an epoch, when none runs: Spark's scheduling, sorting and shuffling."""
    RESULTS = "results"
    """After the last task of an epoch, until the driver has read what the tasks told it."""
    COMMIT = "commit"
    """The driver commits the epoch, and publishes what sinks prepared."""
    TRIGGER = "trigger"
    """What Spark does around the epoch of a stream: offsets, and its logs of them."""

    @property
    def is_in_tasks(self) -> bool:
        """Whether it is tasks that take this time, and not the driver."""
        return self in TASK_COSTS


TASK_COSTS = (
    Cost.USER,
    Cost.FRAMEWORK,
    Cost.STATE,
    Cost.SERIALIZATION,
    Cost.EXCHANGE,
    Cost.SNAPSHOT,
    Cost.WAITING,
)
