"""Says where an operator goes on from a checkpoint and looks for its state under other names."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping

from penstock.checkpoint.epoch_record import JobRecord
from penstock.errors import UnclaimedStateWarning
from penstock.runtime.user_code import stack_level_of_user


class UnclaimedStates:
    """Compares the states that operators ask for with those that their checkpoint knows of them.

    A function may ask for a state at any record, so nobody can tell that it never will. But one that asks for
    states its checkpoint does not know, and not for others that it does know, has most likely renamed them.

    Args:
        known: The names of the states that each operator has asked for before this start, by its id.
        job: The program.
    """

    def __init__(self, known: Mapping[str, Iterable[str]], job: JobRecord) -> None:
        self._operators = {
            operator.operator_id: operator.described
            for vertex in job.vertices
            for operator in vertex.operators
        }
        self._known = {
            operator_id: frozenset(names)
            for operator_id, names in known.items()
            if operator_id in self._operators
        }
        self._asked: dict[str, set[str]] = {}
        self._warned: set[str] = set()

    def after(self, asked: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
        """Take note of what was asked for in an epoch, warn where it is due, and return all known names.

        Args:
            asked: The names of the states that each operator has asked for, by its id.
        """
        for operator_id, names in asked.items():
            self._asked.setdefault(operator_id, set()).update(names)
        for operator_id in self._asked.keys() & self._known.keys() - self._warned:
            self._warn(operator_id)
        return {
            operator_id: sorted(self._known.get(operator_id, frozenset()) | names)
            for operator_id in sorted(self._asked.keys() | self._known.keys())
            if (names := self._asked.get(operator_id, set())) or operator_id in self._known
        }

    def _warn(self, operator_id: str) -> None:
        known, asked = self._known[operator_id], self._asked[operator_id]
        if not (known - asked and asked - known):
            return
        self._warned.add(operator_id)
        warnings.warn(
            UnclaimedStateWarning(
                f"The operator {self._operators[operator_id]} has asked for {_listed(asked - known)}, which its "
                f"checkpoint does not know and which begins empty, and not for {_listed(known - asked)}, which "
                "the checkpoint knows.\n\n"
                "Hint: A state is known by its name: give the descriptor the name it had. What nobody asks for "
                "stays in the checkpoint, and is found again under its old name."
            ),
            stacklevel=stack_level_of_user(),
        )


def _listed(names: Iterable[str]) -> str:
    return f"the state {', '.join(map(repr, sorted(names)))}"
