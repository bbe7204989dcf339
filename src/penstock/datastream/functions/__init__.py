"""The classes from which functions are derived that need more than one call.

Every operation takes a plain callable as well. A class is for functions that prepare something in
`open`: a model, a connection, a counter.
"""

from __future__ import annotations

from penstock.datastream.functions.broadcast_functions import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from penstock.datastream.functions.co_functions import (
    CoFlatMapFunction,
    CoGroupFunction,
    CoMapFunction,
    CoProcessFunction,
    FlatJoinFunction,
    JoinFunction,
    KeyedCoProcessFunction,
    ProcessJoinFunction,
)
from penstock.datastream.functions.one_input import (
    AggregateFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
    SinkFunction,
)
from penstock.datastream.functions.timer_service import TimerService
from penstock.datastream.functions.window_functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from penstock.runtime.async_io.async_function import AsyncFunction
from penstock.runtime.async_io.retry_strategies import AsyncRetryPredicate, AsyncRetryStrategy
from penstock.runtime.context import RuntimeContext
from penstock.runtime.function import Function
from penstock.runtime.planned.source_function import SourceContext, SourceFunction
from penstock.runtime.state.api import KeyedStateStore

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "Function",
    "JoinFunction",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapFunction",
    "Partitioner",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RuntimeContext",
    "SinkFunction",
    "SourceContext",
    "SourceFunction",
    "TimerService",
    "WindowFunction",
]
