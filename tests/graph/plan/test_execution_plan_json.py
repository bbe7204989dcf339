from __future__ import annotations

import json

import pytest
from tests.graph.programs import Programs, identity

from penstock.graph.plan.execution_plan import execution_plan
from penstock.runtime.exchange.partitioners import (
    BroadcastPartitioner,
    CustomPartitioner,
    ForwardPartitioner,
    GlobalPartitioner,
    KeyGroupStreamPartitioner,
    RebalancePartitioner,
    RescalePartitioner,
    ShufflePartitioner,
    StreamPartitioner,
)


def test_plan() -> None:
    program = Programs()
    source = program.source("numbers")
    program.sink(source)
    keyed = program.map(program.key_by(source), name="sum", description="sum of all", parallelism=2)
    program.sink(keyed, name="Sink: files")
    assert json.loads(execution_plan(program.graph())) == {
        "nodes": [
            {
                "id": 1,
                "type": "Source: numbers",
                "pact": "Data Source",
                "contents": "Source: numbers",
                "parallelism": 1,
            },
            {
                "id": 4,
                "type": "sum",
                "pact": "Operator",
                "contents": "sum of all",
                "parallelism": 2,
                "predecessors": [{"id": 1, "ship_strategy": "HASH", "side": "second"}],
            },
            {
                "id": 2,
                "type": "Sink: Print",
                "pact": "Data Sink",
                "contents": "Sink: Print",
                "parallelism": 1,
                "predecessors": [{"id": 1, "ship_strategy": "FORWARD", "side": "second"}],
            },
            {
                "id": 5,
                "type": "Sink: files",
                "pact": "Data Sink",
                "contents": "Sink: files",
                "parallelism": 1,
                "predecessors": [{"id": 4, "ship_strategy": "REBALANCE", "side": "second"}],
            },
        ]
    }


@pytest.mark.parametrize(
    ("partitioner", "strategy"),
    [
        (ForwardPartitioner(), "FORWARD"),
        (KeyGroupStreamPartitioner(identity), "HASH"),
        (RebalancePartitioner(), "REBALANCE"),
        (RescalePartitioner(), "RESCALE"),
        (ShufflePartitioner(), "SHUFFLE"),
        (BroadcastPartitioner(), "BROADCAST"),
        (GlobalPartitioner(), "GLOBAL"),
        (CustomPartitioner(max, identity), "CUSTOM"),
    ],
    ids=repr,
)
def test_ship_strategies(partitioner: StreamPartitioner, strategy: str) -> None:
    program = Programs()
    program.sink(program.partition(program.source(), partitioner))
    [_, sink] = json.loads(execution_plan(program.graph()))["nodes"]
    assert sink["predecessors"][0]["ship_strategy"] == strategy


def test_every_input_of_a_union_is_a_predecessor() -> None:
    program = Programs()
    program.sink(program.union(program.source("a"), program.source("b")))
    [*_, sink] = json.loads(execution_plan(program.graph()))["nodes"]
    assert [predecessor["id"] for predecessor in sink["predecessors"]] == [1, 2]
