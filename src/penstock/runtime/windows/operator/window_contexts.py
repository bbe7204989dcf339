"""What assigners, triggers, evictors and the functions of windows may ask and do."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from typing import Any

from penstock.errors import UnsupportedOperationError, WindowStateError
from penstock.metrics import MetricGroup
from penstock.runtime.context import RuntimeContext
from penstock.runtime.keys.key_types import VOID_NAMESPACE
from penstock.runtime.state.api import KeyedStateStore
from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.state.descriptors import StateDescriptor
from penstock.runtime.state.states import KeyedMergingState
from penstock.runtime.timers.internal_timer_service import InternalTimerService
from penstock.runtime.timestamp import MAX_TIMESTAMP
from penstock.runtime.windows.assigners.assigner import WindowAssigner
from penstock.runtime.windows.evictors import Evictor
from penstock.runtime.windows.triggers.trigger import Trigger


class Clocks(WindowAssigner.WindowAssignerContext, Evictor.EvictorContext):
    """What assigners and evictors may ask."""

    def __init__(self, context: RuntimeContext, timers: InternalTimerService) -> None:
        self._context = context
        self._timers = timers

    def get_current_processing_time(self) -> int:
        return self._timers.current_processing_time()

    def get_current_watermark(self) -> int:
        return self._timers.current_watermark

    def get_runtime_context(self) -> RuntimeContext:
        return self._context

    def get_metric_group(self) -> MetricGroup:
        return self._context.get_metrics_group()


class WindowStates(KeyedStateStore):
    """The states of one window, the `namespace`, apart from all other states of the operator.

    Two users of states, such as the trigger and the function, may take the same name for a state, so
    each has names of its own: their owner stands before them.
    """

    def __init__(self, backend: KeyedStateBackend, owner: str) -> None:
        self._backend = backend
        self._owner = owner
        self._renamed: dict[str, tuple[StateDescriptor, StateDescriptor]] = {}
        self.namespace: Any = VOID_NAMESPACE

    def get(self, descriptor: StateDescriptor) -> Any:
        known = self._renamed.get(descriptor.name)
        if known is None or known[0] is not descriptor:
            renamed = copy.copy(descriptor)
            renamed.name = f"{self._owner}: {renamed.name}"
            known = self._renamed[descriptor.name] = descriptor, renamed
        return self._backend.get_state(known[1], self.namespace)

    _state = get


class TriggerContext(Clocks, Trigger.OnMergeContext):
    """What a trigger may ask and do.

    A window's cleanup may be due when a timer of the trigger is, and they are one timer then. It
    stays when the trigger deletes its own (in Flink it goes, and what is kept of the window stays for
    ever).
    """

    def __init__(
        self,
        context: RuntimeContext,
        timers: InternalTimerService,
        state: KeyedStateBackend,
        cleanup_time: Callable[[Any], int],
        namespace_of: Callable[[Any], Any],
        *,
        is_event_time: bool,
    ) -> None:
        super().__init__(context, timers)
        self._states = WindowStates(state, "trigger")
        self._cleanup_time = cleanup_time
        self._namespace_of = namespace_of
        self._is_event_time = is_event_time
        # The window it is called for, and those that became it, while the trigger is told so.
        self.window: Any = None
        self.merged: Collection[Any] = ()

    def register_processing_time_timer(self, time: int) -> None:
        self._timers.register_processing_time_timer(
            self._namespace_of(self.window), min(time, MAX_TIMESTAMP)
        )

    def register_event_time_timer(self, time: int) -> None:
        self._timers.register_event_time_timer(
            self._namespace_of(self.window), min(time, MAX_TIMESTAMP)
        )

    def delete_processing_time_timer(self, time: int) -> None:
        if self._is_event_time or not self._is_cleanup(time):
            self._timers.delete_processing_time_timer(
                self._namespace_of(self.window), min(time, MAX_TIMESTAMP)
            )

    def delete_event_time_timer(self, time: int) -> None:
        if not (self._is_event_time and self._is_cleanup(time)):
            self._timers.delete_event_time_timer(
                self._namespace_of(self.window), min(time, MAX_TIMESTAMP)
            )

    def _is_cleanup(self, time: int) -> bool:
        return time < MAX_TIMESTAMP and time == self._cleanup_time(self.window)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        self._states.namespace = self._namespace_of(self.window)
        return self._states.get(state_descriptor)

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        state = self.get_partitioned_state(state_descriptor)
        if not isinstance(state, KeyedMergingState):
            raise UnsupportedOperationError(
                f"A trigger would merge its state {state_descriptor.name!r}, which is no state to "
                "which values are added.",
                hint="List, reducing and aggregating states can be merged; read and write others.",
            )
        namespace_of = self._namespace_of
        state.merge_namespaces(namespace_of(self.window), list(map(namespace_of, self.merged)))


class WindowContext(Clocks):
    """What the function of a window, the `current` one, may ask."""

    def __init__(
        self,
        context: RuntimeContext,
        timers: InternalTimerService,
        state: KeyedStateBackend,
        namespace_of: Callable[[Any], Any],
        *,
        merges: bool,
    ) -> None:
        super().__init__(context, timers)
        self._states = WindowStates(state, "window")
        self._namespace_of = namespace_of
        self._merges = merges
        self.current: Any = None

    current_processing_time = Clocks.get_current_processing_time
    current_watermark = Clocks.get_current_watermark

    def window(self) -> Any:
        return self.current

    def window_state(self) -> KeyedStateStore:
        if self._merges:
            raise WindowStateError(
                f"Operator {self._context.task_name!r} asks for the state of the window "
                f"{self.current!r}, and its windows merge.",
                hint="Use global_state(), which a key has for all its windows.",
            )
        self._states.namespace = self._namespace_of(self.current)
        return self._states

    def global_state(self) -> KeyedStateStore:
        return self._context
