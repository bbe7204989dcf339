"""Streams that go to every subtask, and streams that are connected with one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.typeinfo import TypeInformation
from penstock.datastream.broadcast_functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from penstock.datastream.connected_streams import is_keyed
from penstock.datastream.function_checks import check_methods
from penstock.datastream.named_rows import name_results_of
from penstock.datastream.stream import DataStream
from penstock.errors import InvalidArgumentError, InvalidFunctionError, UnsupportedOperationError
from penstock.runtime.operators.broadcast_process import (
    BroadcastProcessOperator,
    KeyedBroadcastProcessOperator,
)
from penstock.runtime.state.descriptors import MapStateDescriptor

_METHODS = ("process_element", "process_broadcast_element")


class BroadcastStream:
    """A stream whose records go to every subtask, to change broadcast state there.

    It is made by `DataStream.broadcast`, and all that can be done with it is to connect it with
    another stream.

    Args:
        input_stream: The stream.
        broadcast_state_descriptors: Name the broadcast states.

    Raises:
        InvalidArgumentError: If one is no `MapStateDescriptor`, or two have one name.
        UnsupportedOperationError: If the values of one are to expire.
    """

    def __init__(
        self,
        input_stream: DataStream,
        broadcast_state_descriptors: Sequence[MapStateDescriptor],
    ) -> None:
        self.input_stream = input_stream
        self.broadcast_state_descriptors = tuple(broadcast_state_descriptors)
        check_broadcast_states(self.broadcast_state_descriptors, "broadcast()")


def check_broadcast_states(descriptors: Sequence[Any], operation: str) -> None:
    """Make sure that these can be the broadcast states of one operator.

    Args:
        descriptors: What the user gave.
        operation: What the user called, for messages.

    Raises:
        InvalidArgumentError: If one is no `MapStateDescriptor`, or two have one name.
        UnsupportedOperationError: If the values of one are to expire.
    """
    for descriptor in descriptors:
        _check(descriptor, operation)
    names = [descriptor.name for descriptor in descriptors]
    if len(set(names)) < len(names):
        raise InvalidArgumentError(
            f"{operation} was given two states of one name: {', '.join(map(repr, names))}.",
            hint="Give each state a name of its own.",
        )


def _check(descriptor: Any, operation: str) -> None:
    if not isinstance(descriptor, MapStateDescriptor):
        raise InvalidArgumentError(
            f"{operation} was given {descriptor!r}, which is no MapStateDescriptor.",
            hint="Broadcast state is a map: MapStateDescriptor('rules', Types.STRING(), Types.LONG()).",
        )
    if descriptor.ttl_config is not None:
        raise UnsupportedOperationError(
            f"The entries of the broadcast state {descriptor.name!r} are to expire. Each subtask would "
            "forget them at another time.",
            hint="Do without enable_time_to_live(), and broadcast what is to be removed.",
        )


class BroadcastConnectedStream:
    """A stream, keyed or not, and one that is broadcast beside it.

    Within an epoch, so within a bounded job, all that is broadcast comes before the other stream's
    records, and in the same order in every subtask. Where an epoch ends depends on what input is there:
    a rule rules the records of its own epoch and of those that follow.

    Args:
        non_broadcast_stream: The stream.
        broadcast_stream: The one that is broadcast.
        broadcast_state_descriptors: Name the broadcast states.

    Example:
        >>> from penstock.common import Types
        >>> from penstock.datastream import BroadcastProcessFunction, MapStateDescriptor
        >>> names = MapStateDescriptor("names", Types.LONG(), Types.STRING())
        >>> class Named(BroadcastProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield ctx.get_broadcast_state(names).get(value) or value
        ...     def process_broadcast_element(self, value, ctx):
        ...         ctx.get_broadcast_state(names).put(*value)
        >>> from penstock.testing import local_environment
        >>> env = local_environment()
        >>> known = env.from_collection([(1, "one"), (2, "two")]).broadcast(names)
        >>> named = env.from_collection([2, 3, 1]).connect(known).process(Named())
        >>> list(named.execute_and_collect())
        ['two', 3, 'one']
    """

    def __init__(
        self,
        non_broadcast_stream: DataStream,
        broadcast_stream: BroadcastStream,
        broadcast_state_descriptors: Sequence[MapStateDescriptor],
    ) -> None:
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = tuple(broadcast_state_descriptors)

    def process(
        self,
        func: BroadcastProcessFunction | KeyedBroadcastProcessFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Make any number of results of each record, for the main output and for side outputs.

        Args:
            func: A `KeyedBroadcastProcessFunction` if the stream is keyed, else a
                `BroadcastProcessFunction`.
            output_type: The type of the results in the main output. Default: any.

        Returns:
            The main output; `get_side_output` gives the others.

        Raises:
            InvalidFunctionError: If the function cannot be called so, or is of the other kind.
        """
        check_methods(func, _METHODS, 2, "process()")
        keyed = is_keyed(self.non_broadcast_stream)
        wrong = BroadcastProcessFunction if keyed else KeyedBroadcastProcessFunction
        if isinstance(func, wrong):
            raise InvalidFunctionError(
                f"process() was given {type(func).__name__}, a {wrong.__name__}, for a stream "
                f"{'with' if keyed else 'without'} keys.",
                hint="With key_by() it is a KeyedBroadcastProcessFunction, without it a "
                "BroadcastProcessFunction.",
            )
        name = "Co-Process-Broadcast-Keyed" if keyed else "Co-Process-Broadcast"
        kind = KeyedBroadcastProcessOperator if keyed else BroadcastProcessOperator
        operator = kind(
            name_results_of(func, _METHODS, output_type), self.broadcast_state_descriptors
        )
        return self.non_broadcast_stream._transform(  # noqa: SLF001
            name, operator, output_type, second=self.broadcast_stream.input_stream
        )
