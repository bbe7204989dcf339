"""What takes longer than a request: it has a trigger id, by which its result is asked for later."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from penstock.common.configuration.secrets import without_secrets
from penstock.executors.driver.rest.answers.failures import failure_cause
from penstock.executors.driver.rest.exchange import RequestRefusedError

_MOST: Final = 200


@dataclass
class _Operation:
    """An operation: under way while it has neither a result nor a failure.

    Attributes:
        result: What it gave, or why it failed.
        is_told: Whether somebody was told.
    """

    result: dict[str, Any] | None = None
    is_told: bool = False

    @property
    def is_done(self) -> bool:
        return self.result is not None


class Operations:
    """What was asked for: what is under way, and the last results.

    Args:
        most: How many are kept. One that is under way is not forgotten.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], _Operation] = OrderedDict()

    def start(
        self,
        job_id: str,
        trigger_id: str,
        work: Callable[[], dict[str, Any]],
        failure_key: str = "failure-cause",
    ) -> bool:
        """Begin something, unless the same trigger has begun it before.

        Args:
            job_id: The job; empty for what is of none.
            trigger_id: The id under which its result is asked for.
            work: Does it, and returns its result.
            failure_key: What the result has in place of that if it fails.

        Returns:
            Whether it was begun now.

        Raises:
            RequestRefusedError: If too much is under way already.
        """
        operation = _Operation()
        with self._lock:
            if (job_id, trigger_id) in self._known:
                return False
            self._forget()
            self._known[job_id, trigger_id] = operation
        threading.Thread(
            target=self._run,
            args=(operation, work, failure_key),
            name=f"trigger-{trigger_id}",
            daemon=True,
        ).start()
        return True

    def _forget(self) -> None:
        while len(self._known) >= self._most:
            done = next((key for key, one in self._known.items() if one.is_done), None)
            if done is None:
                raise RequestRefusedError(
                    503, "Too many operations are under way: try again later."
                )
            del self._known[done]

    def _run(
        self, operation: _Operation, work: Callable[[], dict[str, Any]], failure_key: str
    ) -> None:
        try:
            operation.result = work()
        except BaseException as error:  # noqa: BLE001 - whoever asks for the result is told
            operation.result = {
                failure_key: failure_cause(type(error).__name__, without_secrets(str(error)))
            }

    def result(self, job_id: str, trigger_id: str) -> dict[str, Any]:
        """Return how far an operation has come, in Flink's form.

        Raises:
            RequestRefusedError: If there is none.
        """
        with self._lock:
            operation = self._known.get((job_id, trigger_id))
        if operation is None:
            raise RequestRefusedError(
                404,
                f"Nobody has asked for {trigger_id} of the job {job_id}."
                if job_id
                else f"Nobody has asked for {trigger_id}.",
            )
        operation.is_told = operation.is_done
        state = "COMPLETED" if operation.is_told else "IN_PROGRESS"
        return {"status": {"id": state}, "operation": operation.result}

    @property
    def are_told(self) -> bool:
        """Whether all are done, and somebody has asked for the result of each."""
        with self._lock:
            return all(operation.is_told for operation in self._known.values())
