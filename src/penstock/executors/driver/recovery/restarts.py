"""Runs a job again and again, until it has ended or its restart strategy gives up."""

from __future__ import annotations

import os
import threading
import traceback
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
    TriggerNotSupportedError,
    UnclaimedOutputError,
    UnclaimedStateError,
    UnsupportedOperationError,
    UserFunctionError,
    WorkerPythonError,
)
from penstock.executors.driver.recovery.restart_strategy import RestartStrategy

_SHOWN_RECORD: Final = 200
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
    TriggerNotSupportedError,
    UnclaimedOutputError,
    UnclaimedStateError,
    UnsupportedOperationError,
    WorkerPythonError,
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
    """Return what happened, and where, in one line: the error, its operator and record, the user's own line."""
    what = first_line_of(error)
    if not isinstance(error, PenstockError):
        return what
    places = [
        f"operator {error.operator!r}" if error.operator else "",
        f"record {_shortened(error.record)}" if error.record else "",
        _shown_line(error.user_line) if error.user_line else "",
    ]
    where = ", ".join(filter(None, places))
    return f"{what} ({where})" if where else what


def first_line_of(error: BaseException) -> str:
    """Return what happened, in one line."""
    if isinstance(error, UserFunctionError) and error.user_traceback is not None:
        # What was raised follows the last frame, and may have several lines.
        text = error.user_traceback
        after_frames = text[text.rfind('\n  File "') + 1 :].splitlines()
        return next((line for line in after_frames if line.strip() == line != ""), "") or text
    text = error.message if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}"
    first, _, rest = text.strip().partition("\n")
    # What only announces a traceback says nothing without the end of it.
    return f"{first} {rest.splitlines()[-1].strip()}" if first.endswith(":") and rest else first


def _shortened(record: str) -> str:
    text = " ".join(record.split())
    return text if len(text) <= _SHOWN_RECORD else f"{text[: _SHOWN_RECORD - 3]}..."


def _shown_line(line: str) -> str:
    """Return a line of the user's, with its file as seen from where the program runs."""
    return line.removeprefix(f"{os.getcwd()}{os.sep}")


class FailureLog:
    """Says what a job failed with before it is restarted: the first time all of it, when it repeats one line."""

    def __init__(self) -> None:
        self._told: set[tuple[object, ...]] = set()

    def text(self, name: str, restart: Restart) -> str:
        """Return what to say of a restart.

        Args:
            name: The job's name.
            restart: The restart.
        """
        error = restart.error
        then = f"restart {restart.number} in {restart.delay / 1000:g} s"
        operator, line = getattr(error, "operator", None), getattr(error, "user_line", None)
        kind = (type(error), operator, line or first_line_of(error))
        if kind in self._told:
            return f"{name}: epoch {restart.epoch} failed: {summary_of(error)}; {then}"
        self._told.add(kind)
        return f"{name}: epoch {restart.epoch} failed; {then}:\n{_whole(error)}"


def _whole(error: BaseException) -> str:
    """Return all there is to say of an error; of one that is not penstock's also where it came from."""
    if isinstance(error, PenstockError):
        return str(error)
    return "".join(traceback.format_exception(error)).rstrip()
