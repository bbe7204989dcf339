"""Driving one function of two streams by hand."""

from __future__ import annotations

from typing import Any

from penstock.datastream.functions.broadcast_functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from penstock.datastream.functions.co_functions import CoProcessFunction, KeyedCoProcessFunction
from penstock.datastream.functions.function_checks import Key, check_methods
from penstock.datastream.streams.two_streams import check_broadcast_states
from penstock.runtime.operators.broadcast_process import (
    BroadcastOperator,
    BroadcastProcessOperator,
    KeyedBroadcastProcessOperator,
)
from penstock.runtime.operators.co_process import CoProcessOperator, KeyedCoProcessOperator
from penstock.runtime.operators.function_operator import FunctionOperator
from penstock.runtime.state.descriptors import MapStateDescriptor
from penstock.testing.two_input_harness import TwoInputOperatorHarness

_CO = ("process_element1", "process_element2")
_BROADCAST = ("process_element", "process_broadcast_element")


class _CoFunctionHarness(TwoInputOperatorHarness):
    """What the harnesses of functions of two streams have in common."""

    @property
    def function(self) -> Any:
        """The copy of the function that runs."""
        assert isinstance(self.operator, FunctionOperator)
        return self.operator.function.function


class CoProcessFunctionHarness(_CoFunctionHarness):
    """Drives one process function of two streams without keys; see `TwoInputOperatorHarness`.

    Args:
        function: A `CoProcessFunction`.
        **options: What else `TwoInputOperatorHarness` takes.

    Raises:
        InvalidFunctionError: If the function cannot be called so.
    """

    def __init__(self, function: CoProcessFunction, **options: Any) -> None:
        check_methods(function, _CO, 2, "The harness")
        super().__init__(CoProcessOperator(function), **options)


class KeyedCoProcessFunctionHarness(_CoFunctionHarness):
    """Drives one process function of two keyed streams; see `TwoInputOperatorHarness`.

    Args:
        function: A `KeyedCoProcessFunction`.
        key_selector1: What `key_by` would be given for the first stream.
        key_selector2: The same for the second stream.
        **options: What else `TwoInputOperatorHarness` takes.

    Raises:
        InvalidFunctionError: If the function cannot be called so.

    Example:
        >>> from penstock.common import Types
        >>> from penstock.datastream import KeyedCoProcessFunction, ValueStateDescriptor
        >>> class Latest(KeyedCoProcessFunction):
        ...     def open(self, runtime_context):
        ...         descriptor = ValueStateDescriptor("price", Types.LONG())
        ...         self.price = runtime_context.get_state(descriptor)
        ...     def process_element1(self, value, ctx):
        ...         yield value, self.price.value()
        ...     def process_element2(self, value, ctx):
        ...         self.price.update(value[1])
        >>> with KeyedCoProcessFunctionHarness(Latest(), lambda name: name, 0) as harness:
        ...     harness.process_element2(("tea", 3))
        ...     harness.process_element1("tea")
        ...     harness.process_element1("milk")
        ...     harness.extract_output_values()
        [('tea', 3), ('milk', None)]
    """

    def __init__(
        self,
        function: KeyedCoProcessFunction,
        key_selector1: Key,
        key_selector2: Key,
        **options: Any,
    ) -> None:
        check_methods(function, _CO, 2, "The harness")
        super().__init__(
            KeyedCoProcessOperator(function),
            key_selector1=key_selector1,
            key_selector2=key_selector2,
            **options,
        )


class _BroadcastFunctionHarness(_CoFunctionHarness):
    """What the harnesses of functions with broadcast state have in common."""

    def process_element(self, value: Any, timestamp: int | None = None) -> None:
        """Give the function a record that was not broadcast.

        Args:
            value: The record.
            timestamp: Its event timestamp in milliseconds; None for none.

        Raises:
            UserFunctionError: If the function raises.
        """
        self.process_element1(value, timestamp)

    def process_broadcast_element(self, value: Any, timestamp: int | None = None) -> None:
        """Give the function a record that was broadcast.

        Args:
            value: The record.
            timestamp: Its event timestamp in milliseconds; None for none.

        Raises:
            UserFunctionError: If the function raises.
        """
        self.process_element2(value, timestamp)

    def broadcast_state(self, descriptor: MapStateDescriptor) -> dict[Any, Any]:
        """Return what a broadcast state holds.

        Args:
            descriptor: Names it.
        """
        self._check_is_open("Looking at state")
        assert isinstance(self.operator, BroadcastOperator)
        return dict(self.operator.broadcast_state.get_broadcast_state(descriptor).items())


class BroadcastProcessFunctionHarness(_BroadcastFunctionHarness):
    """Drives one function of a stream without keys and one that is broadcast beside it.

    See `TwoInputOperatorHarness`.

    Args:
        function: A `BroadcastProcessFunction`.
        *descriptors: What `broadcast` would be given.
        **options: What else `TwoInputOperatorHarness` takes.

    Raises:
        InvalidFunctionError: If the function cannot be called so.
        InvalidArgumentError: If a descriptor is no `MapStateDescriptor`, or two have one name.
    """

    def __init__(
        self, function: BroadcastProcessFunction, *descriptors: MapStateDescriptor, **options: Any
    ) -> None:
        check_methods(function, _BROADCAST, 2, "The harness")
        check_broadcast_states(descriptors, "The harness")
        super().__init__(BroadcastProcessOperator(function, descriptors), **options)


class KeyedBroadcastProcessFunctionHarness(_BroadcastFunctionHarness):
    """Drives one function of a keyed stream and one that is broadcast beside it.

    See `TwoInputOperatorHarness`.

    Args:
        function: A `KeyedBroadcastProcessFunction`.
        key_selector: What `key_by` would be given.
        *descriptors: What `broadcast` would be given.
        **options: What else `TwoInputOperatorHarness` takes.

    Raises:
        InvalidFunctionError: If the function cannot be called so.
        InvalidArgumentError: If a descriptor is no `MapStateDescriptor`, or two have one name.

    Example:
        >>> from penstock.common import Types
        >>> from penstock.datastream import KeyedBroadcastProcessFunction
        >>> limits = MapStateDescriptor("limits", Types.STRING(), Types.LONG())
        >>> class Check(KeyedBroadcastProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         limit = ctx.get_broadcast_state(limits).get(ctx.get_current_key())
        ...         yield limit is None or value[1] <= limit
        ...     def process_broadcast_element(self, value, ctx):
        ...         ctx.get_broadcast_state(limits).put(*value)
        >>> with KeyedBroadcastProcessFunctionHarness(Check(), 0, limits) as harness:
        ...     harness.process_element(("tea", 5))
        ...     harness.process_broadcast_element(("tea", 3))
        ...     harness.process_element(("tea", 5))
        ...     harness.extract_output_values(), harness.broadcast_state(limits)
        ([True, False], {'tea': 3})
    """

    def __init__(
        self,
        function: KeyedBroadcastProcessFunction,
        key_selector: Key,
        *descriptors: MapStateDescriptor,
        **options: Any,
    ) -> None:
        check_methods(function, _BROADCAST, 2, "The harness")
        check_broadcast_states(descriptors, "The harness")
        super().__init__(
            KeyedBroadcastProcessOperator(function, descriptors),
            key_selector1=key_selector,
            **options,
        )
