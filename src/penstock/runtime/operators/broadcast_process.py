"""Process functions of a stream and of one that is broadcast beside it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, NoReturn

from penstock.errors import InvalidFunctionError, NoKeyError, UnknownBroadcastStateError
from penstock.runtime.exchange.elements import Block
from penstock.runtime.objects.mutability import copied
from penstock.runtime.operator import TwoInputOperator
from penstock.runtime.operators.collector import Collector
from penstock.runtime.operators.function_operator import FunctionOperator
from penstock.runtime.operators.keyed_process import (
    KeyedProcessContext,
    KeyedProcessOperator,
    UserTimers,
)
from penstock.runtime.operators.process import (
    NoTimers,
    ProcessContext,
    ProcessOperator,
    process_records,
)
from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.state.broadcast_state import BroadcastStateStore, ReadOnlyView
from penstock.runtime.state.descriptors import MapStateDescriptor, StateDescriptor
from penstock.runtime.user_code import UserFunction

_SECOND: Final = "process_broadcast_element"

ApplyToKeyedState = Callable[[StateDescriptor, Callable[[Any, Any], None]], None]
"""Calls a function for each key that has a state."""


class BroadcastStates:
    """The broadcast states that a program declared for one operator, in one subtask.

    Args:
        store: Keeps them.
        declared: What `broadcast` was told of them.
    """

    def __init__(
        self, store: BroadcastStateStore, declared: tuple[MapStateDescriptor, ...]
    ) -> None:
        self._store = store
        self._names = [descriptor.name for descriptor in declared]
        for descriptor in declared:
            store.get_broadcast_state(descriptor)

    def get(self, descriptor: MapStateDescriptor) -> Any:
        """Return a state as it is for the side that may change it.

        Raises:
            UnknownBroadcastStateError: If it was not declared.
            StateTypeMismatchError: If it was declared, or written, with another type.
        """
        if not isinstance(descriptor, MapStateDescriptor) or descriptor.name not in self._names:
            asked_for = getattr(descriptor, "name", descriptor)
            raise UnknownBroadcastStateError(
                f"Operator {self._store.operator!r} asks for the broadcast state {asked_for!r}; "
                f"broadcast() was told of {', '.join(map(repr, self._names))}.",
                hint="Give broadcast() the MapStateDescriptor of each state, and ask for it by that.",
            )
        return self._store.get_broadcast_state(descriptor)

    def read_only(self, descriptor: MapStateDescriptor) -> ReadOnlyView:
        """Return a state as it is for the side that may only read it; see `get`."""
        return ReadOnlyView(self.get(descriptor), descriptor.name, self._store.operator)


class _Times:
    """What all contexts here tell about time."""

    timers: Any

    def current_processing_time(self) -> int:
        """Return the time in milliseconds since the epoch."""
        return int(self.timers.current_processing_time())

    def current_watermark(self) -> int:
        """Return the last watermark in milliseconds."""
        return int(self.timers.current_watermark())


class ReadOnlyContext(_Times, ProcessContext):
    """What a function may ask about a record that was not broadcast, of a stream without keys."""

    def __init__(self, states: BroadcastStates, timers: NoTimers) -> None:
        super().__init__(timers)
        self._states = states

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyView:
        """Return a broadcast state, to be read."""
        return self._states.read_only(state_descriptor)


class KeyedReadOnlyContext(_Times, KeyedProcessContext):
    """What a function may ask about a record or timer of the stream that comes by key."""

    def __init__(
        self, states: BroadcastStates, state: KeyedStateBackend, timers: UserTimers
    ) -> None:
        super().__init__(state, timers)
        self._states = states

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyView:
        """Return a broadcast state, to be read."""
        return self._states.read_only(state_descriptor)


class BroadcastContext(_Times):
    """What a function may ask about a record that was broadcast.

    Args:
        states: The broadcast states.
        timers: Tells the time.
    """

    def __init__(self, states: BroadcastStates, timers: NoTimers | UserTimers) -> None:
        self._states = states
        self.timers = timers
        self.record_timestamp: int | None = None

    def timestamp(self) -> int | None:
        """Return the event timestamp of the record in milliseconds, or None if it has none."""
        return self.record_timestamp

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> Any:
        """Return a broadcast state, to be read and changed."""
        return self._states.get(state_descriptor)


class KeyedBroadcastContext(BroadcastContext):
    """What a function may do for a broadcast record beside a keyed stream.

    Args:
        states: The broadcast states.
        timers: Tells the time.
        apply: Calls a function for each key that has a state.
    """

    def __init__(
        self, states: BroadcastStates, timers: UserTimers, apply: ApplyToKeyedState
    ) -> None:
        super().__init__(states, timers)
        self._apply = apply

    def apply_to_keyed_state(
        self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], None]
    ) -> None:
        """Call a function with each key of this subtask that has a state, and the state at that key."""
        self._apply(state_descriptor, function)


class BroadcastOperator(FunctionOperator, TwoInputOperator):
    """What both operators have in common: the second input, and the state that it changes.

    Both are broadcast: every subtask has the whole of them.

    Args:
        function: The user's function.
        declared: What `broadcast` was told of the states.
    """

    method = "process_element"
    _broadcast_context: BroadcastContext
    _collector: Collector

    def __init__(self, function: Any, declared: tuple[MapStateDescriptor, ...]) -> None:
        super().__init__(function)
        self._declared = declared

    @cached_property
    def broadcast_state(self) -> BroadcastStateStore:
        """What its broadcast states are kept in."""
        return BroadcastStateStore(self.name)

    def stores(self, operator_id: str) -> dict[str, KeyedStateBackend]:
        return {
            **super().stores(operator_id),
            f"{operator_id} broadcast": self.broadcast_state,
        }

    def open(self) -> None:
        self._second_call = UserFunction(self.function.function, _SECOND).call
        self._states = BroadcastStates(self.broadcast_state, self._declared)
        super().open()

    def process_block2(self, block: Block) -> None:
        process_records(
            self.name, block, self._second_call, self._broadcast_context, self._collector
        )


class BroadcastProcessOperator(BroadcastOperator, ProcessOperator):
    """Calls the user's function for each record, by another method if it was broadcast."""

    def open(self) -> None:
        super().open()
        timers = self._context.timers
        self._context = ReadOnlyContext(self._states, timers)
        self._broadcast_context = BroadcastContext(self._states, timers)

    def process_block1(self, block: Block) -> None:
        self.process_block(block)


class KeyedBroadcastProcessOperator(BroadcastOperator, KeyedProcessOperator):
    """Calls a function that has state and timers for each key of the stream that is not broadcast."""

    def open(self) -> None:
        super().open()
        timers = self._context.timers
        self._context = KeyedReadOnlyContext(self._states, self.state, timers)
        self._broadcast_context = KeyedBroadcastContext(
            self._states, timers, self._apply_to_keyed_state
        )

    def process_block1(self, block: Block) -> None:
        self.process_block(block)

    def process_block2(self, block: Block) -> None:
        self.state.set_current_key(_NoKey(self.name))
        super().process_block2(block)

    def _apply_to_keyed_state(
        self, descriptor: StateDescriptor, function: Callable[[Any, Any], None]
    ) -> None:
        if inspect.isgeneratorfunction(function):
            raise InvalidFunctionError(
                "apply_to_keyed_state() was given a generator, which would never run.",
                hint="Give a function of a key and a state that returns nothing.",
            )
        state = self.state.get_state(descriptor)
        try:
            for key in list(self.state.keys(descriptor.name)):
                self.state.set_current_key(key)
                function(copied(key), state)
        finally:
            self.state.set_current_key(_NoKey(self.name))


class _NoKey:
    """Stands for the current key where there is none: whoever looks something up under it is told so.

    Args:
        operator: The name of the operator.
    """

    def __init__(self, operator: str) -> None:
        self._operator = operator

    def __hash__(self) -> NoReturn:
        raise NoKeyError(
            f"Operator {self._operator!r} asks for keyed state while it processes a record that was "
            "broadcast, and so has no key.",
            hint="Use apply_to_keyed_state() of the context, or keep it in broadcast state.",
        )
