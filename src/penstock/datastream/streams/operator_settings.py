"""What can be said about the operator that makes a stream, or that ends one."""

from __future__ import annotations

import re
from typing import Any, Self

from penstock.common.configuration.configuration import Configuration
from penstock.datastream.streams.slot_sharing_group import SlotSharingGroup
from penstock.errors import (
    InvalidArgumentError,
    InvalidParallelismError,
    UnsupportedOperationError,
)
from penstock.graph.transformation import OperatorTransformation, Transformation
from penstock.runtime.keys.key_groups import UPPER_BOUND_MAX_PARALLELISM
from penstock.runtime.operator import ChainingStrategy

_SOURCE = "Source: "
_SINK = "Sink: "


class OperatorSettings:
    """The settings that sinks and streams have alike.

    Args:
        transformation: What makes the stream, or ends it.
    """

    def __init__(self, transformation: Transformation) -> None:
        self._transformation = transformation

    def _operator(self, method: str) -> OperatorTransformation:
        """Return the operator that a setting is about.

        Raises:
            UnsupportedOperationError: If the stream is not the output of one operator.
        """
        if isinstance(self._transformation, OperatorTransformation):
            return self._transformation
        raise UnsupportedOperationError(
            f"{method}() is about one operator, and this stream is only a view of others: it comes "
            "from a key_by, a partitioning, a union, a side output or a cache.",
            hint="Call it on the stream before, or on the one after the next operation.",
        )

    def name(self, name: str) -> Self:
        """Set the name that plans, metrics and messages show.

        Args:
            name: The name. Default: that of the operation, as "Map".

        Returns:
            This object.

        Raises:
            UnsupportedOperationError: If the stream is not the output of one operator.

        Example:
            >>> from penstock.testing import local_environment
            >>> local_environment().from_collection([1]).map(str).name("to text").get_name()
            'to text'
        """
        operator = self._operator("name")
        operator.name = _prefix(operator) + _text(name, "name")
        return self

    def uid(self, uid: str) -> Self:
        """Give the operator an id under which its state is found again when the program has changed.

        Args:
            uid: The id, unique in the program.

        Returns:
            This object.

        Raises:
            UnsupportedOperationError: If the stream is not the output of one operator.
        """
        self._operator("uid").uid = _text(uid, "uid")
        return self

    def set_uid_hash(self, uid_hash: str) -> Self:
        """Set the operator's id itself, to take up the state of an operator that had no uid.

        Args:
            uid_hash: 32 hexadecimal digits, as logs and plans show them.

        Returns:
            This object.

        Raises:
            InvalidArgumentError: If it is anything else.
            UnsupportedOperationError: If the stream is not the output of one operator.
        """
        if re.fullmatch("[0-9a-fA-F]{32}", _text(uid_hash, "uid hash")) is None:
            raise InvalidArgumentError(
                f"{uid_hash!r} is no uid hash.", hint="A uid hash has 32 hexadecimal digits."
            )
        self._operator("set_uid_hash").uid_hash = uid_hash.lower()
        return self

    def set_parallelism(self, parallelism: int) -> Self:
        """Set how many subtasks the operator has.

        Args:
            parallelism: The number, at least 1. Default: the environment's.

        Returns:
            This object.

        Raises:
            InvalidParallelismError: If it is below 1 or above 32768, or above 1 for an operator that
                is not parallel.
            UnsupportedOperationError: If the stream is not the output of one operator.
        """
        operator = self._operator("set_parallelism")
        if operator.is_parallelism_fixed and parallelism != 1:
            raise InvalidParallelismError(
                f"Operator {operator.name!r} is not parallel; it cannot have {parallelism!r} subtasks.",
                hint="Leave it at 1, and let the next operator be parallel.",
            )
        operator.parallelism = check_parallelism(parallelism, f"Operator {operator.name!r}")
        return self

    def set_description(self, description: str) -> Self:
        """Set a longer text about the operator for plans.

        Args:
            description: The text. Default: the name.

        Returns:
            This object.

        Raises:
            UnsupportedOperationError: If the stream is not the output of one operator.
        """
        self._operator("set_description").description = _text(description, "description")
        return self

    def disable_chaining(self) -> Self:
        """Keep the operator apart: neither the one before nor the one behind runs in its chain.

        Returns:
            This object.

        Raises:
            UnsupportedOperationError: If the stream is not the output of one operator.
        """
        self._operator("disable_chaining").chaining_strategy = ChainingStrategy.NEVER
        return self

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> Self:
        """Set the group of the operator: operators of different groups never run in one chain.

        Args:
            slot_sharing_group: The group, or its name. Default: that of the inputs if they have one in
                common, else "default".

        Returns:
            This object.

        Raises:
            UnsupportedOperationError: If the stream is not the output of one operator.
        """
        if isinstance(slot_sharing_group, SlotSharingGroup):
            slot_sharing_group = slot_sharing_group.get_name()
        group = _text(slot_sharing_group, "slot sharing group")
        self._operator("slot_sharing_group").slot_sharing_group = group
        return self


class StreamSettings(OperatorSettings):
    """The settings that only streams have."""

    def get_name(self) -> str:
        """Return the name of the operator.

        Raises:
            UnsupportedOperationError: If the stream is not the output of one operator.
        """
        operator = self._operator("get_name")
        return operator.name.removeprefix(_prefix(operator))

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Set the number of key groups: the greatest parallelism its state can be restarted with.

        Args:
            max_parallelism: The number, from 1 to 32768. Default: the environment's, else derived
                from the parallelism and at least 128.

        Returns:
            This object.

        Raises:
            InvalidParallelismError: If it is out of that range.
            UnsupportedOperationError: If the stream is not the output of one operator.
        """
        operator = self._operator("set_max_parallelism")
        operator.max_parallelism = check_parallelism(
            max_parallelism, f"Operator {operator.name!r}", "max parallelism"
        )
        return self

    def force_non_parallel(self) -> Self:
        """Let the operator have one subtask, and refuse any other number.

        Returns:
            This object.

        Raises:
            UnsupportedOperationError: If the stream is not the output of one operator.
        """
        operator = self._operator("force_non_parallel")
        operator.parallelism = 1
        operator.max_parallelism = 1
        operator.is_parallelism_fixed = True
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Set how long a result may wait for others before they are sent together.

        Accepted, so that a PyFlink program runs unchanged, and without effect: results leave an epoch
        when it ends.

        Args:
            timeout_millis: Milliseconds; 0 sends each at once, -1 waits until a buffer is full.

        Returns:
            This object.

        Raises:
            InvalidArgumentError: If it is below -1.
            UnsupportedOperationError: If the stream is not the output of one operator.
        """
        self._operator("set_buffer_timeout")
        check_buffer_timeout(timeout_millis)
        return self

    def start_new_chain(self) -> Self:
        """Begin a new chain with the operator: it never runs in one with the operator before.

        Returns:
            This object.

        Raises:
            UnsupportedOperationError: If the stream is not the output of one operator.
        """
        self._operator("start_new_chain").chaining_strategy = ChainingStrategy.HEAD
        return self


def check_parallelism(value: Any, whose: str, what: str = "parallelism") -> int:
    """Return a parallelism or max parallelism that is in range.

    Raises:
        InvalidParallelismError: If it is no whole number from 1 to 32768.
    """
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if not is_number or not 1 <= value <= UPPER_BOUND_MAX_PARALLELISM:
        raise InvalidParallelismError(
            f"{whose} cannot have the {what} {value!r}.",
            hint=f"A {what} is a whole number from 1 to {UPPER_BOUND_MAX_PARALLELISM}.",
        )
    return int(value)


def check_configuration(configuration: Any, operation: str) -> None:
    """Make sure that an operation was given a configuration.

    Raises:
        InvalidArgumentError: If it was not.
    """
    if not isinstance(configuration, Configuration):
        raise InvalidArgumentError(
            f"{operation} was given {configuration!r}, which is no Configuration.",
            hint="For instance: Configuration().set_string('parallelism.default', '4').",
        )


def check_buffer_timeout(millis: Any) -> int:
    """Return a buffer timeout that is in range.

    Raises:
        InvalidArgumentError: If it is no whole number, or below -1.
    """
    if not isinstance(millis, int) or millis < -1:
        raise InvalidArgumentError(
            f"{millis!r} is no buffer timeout.",
            hint="Give milliseconds, or -1 to send only full buffers.",
        )
    return millis


def _prefix(operator: OperatorTransformation) -> str:
    """Return what stands before the name of a source or sink, as in Flink's plans."""
    if operator.is_sink:
        return _SINK
    return _SOURCE if operator.source is not None else ""


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidArgumentError(
            f"{value!r} is no {what}.", hint=f"A {what} is a string that is not empty."
        )
    return value
