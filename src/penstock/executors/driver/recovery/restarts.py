"""Runs a job again and again, until it has ended or its restart strategy gives up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from penstock.errors import (
    CheckpointMismatchError,
    DamagedStateError,
    EpochsTopicLostError,
    EpochTakenError,
    FunctionNotSerializableError,
    InvalidArgumentError,
    InvalidConfigurationValueError,
    InvalidFunctionError,
    JavaProcessLostError,
    JobCancelledError,
    KeyFieldOrderError,
    LocationInUseError,
    LostOutputError,
    PenstockError,
    ProducerFencedError,
    SavepointError,
    SessionLostError,
    StateTypeMismatchError,
    UnclaimedOutputError,
    UnclaimedStateError,
    UnsupportedOperationError,
    UserFunctionError,
)
from penstock.executors.driver.recovery.restart_strategy import RestartStrategy

_HOPELESS: Final = (
    CheckpointMismatchError,
    DamagedStateError,
    EpochsTopicLostError,
    EpochTakenError,
    FunctionNotSerializableError,
    ImportError,
    InvalidArgumentError,
    InvalidConfigurationValueError,
    InvalidFunctionError,
    JobCancelledError,
    KeyFieldOrderError,
    LocationInUseError,
    LostOutputError,
    ProducerFencedError,
    SavepointError,
    SessionLostError,
    StateTypeMismatchError,
    UnclaimedOutputError,
    UnclaimedStateError,
    UnsupportedOperationError,
)
"""What comes of the program or of its place, and would come again."""


@dataclass(frozen=True)
class Restart:
    """A job is about to be restarted.

    Attributes:
        number: How often it was restarted, this time included.
        error: What it failed with.
        delay: After how many milliseconds it is restarted.
        epoch: The number of the epoch that failed; 0 until the client has set it.
    """

    number: int
    error: Exception
    delay: int
    epoch: int = 0


def is_worth_restarting(error: Exception) -> bool:
    """Tell whether another run may go better."""
    is_hopeful = isinstance(error, (UserFunctionError, JavaProcessLostError))
    return is_hopeful or not isinstance(error, _HOPELESS)


def run_with_restarts(
    run: Callable[[], None],
    strategy: RestartStrategy,
    stop: threading.Event,
    *,
    tell: Callable[[Restart], None] = lambda _: None,
    wait: Callable[[float], bool] | None = None,
) -> None:
    """Run a job, again after each failure that another run may not have, as long as the strategy says.

    Args:
        run: Runs the job from its last epoch to its end.
        strategy: Says what follows a failure.
        stop: Is set when the job should stop; then no failure is followed by a restart.
        tell: Is called before each wait for a restart.
        wait: Waits for that many seconds, and returns True if the job should stop. Default: that of
            `stop`.

    Raises:
        Exception: The last failure, with a note on how often the job was restarted.
    """
    restarts = 0
    while True:
        try:
            run()
        except Exception as error:
            delay = None
            if not stop.is_set() and is_worth_restarting(error):
                delay = strategy.delay_after_failure()
            if delay is None:
                _note(error, restarts)
                raise
            restarts += 1
            tell(Restart(restarts, error, delay))
            if (wait or stop.wait)(delay / 1000):
                return
        else:
            return


def _note(error: Exception, restarts: int) -> None:
    if restarts:
        times = "once" if restarts == 1 else f"{restarts} times"
        error.add_note(f"The job was restarted {times} before it failed with this.")


def summary_of(error: BaseException) -> str:
    """Return what happened, in one line."""
    if not isinstance(error, PenstockError):
        return f"{type(error).__name__}: {error}".splitlines()[0]
    message = error.message
    if isinstance(error, UserFunctionError):
        # The last line of the user's traceback, which a line on the operator follows.
        message = message.rpartition("\n\n")[0].rstrip().rpartition("\n")[2] or message
    return message.strip().partition("\n")[0]
