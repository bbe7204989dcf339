from __future__ import annotations

import json

import pytest
from tests.examples.running import interrupt, serving, started

LINES = (
    "tea 3 2",
    "jam 1 1",
    "not a sale",
    "tea 12 4",
    "tea 9 5",  # behind by three seconds, of five that are allowed
    "jam 30 7",
)


@pytest.mark.spark
def test_prints_its_plan_and_the_sum_of_each_window() -> None:
    with serving(*LINES) as server, started("socket_windows.py", "localhost", server.port) as run:
        assert run.stdout is not None
        printed = iter(run.stdout)
        plan = [next(printed)]
        while not plan[-1].startswith("}"):
            plan.append(next(printed))
        windows = {next(printed).strip() for _ in range(3)}
        server.send("tea 2 100", "tea 99 8")  # the window of the first was printed
        after = next(printed).strip()
        errors = interrupt(run)

    assert run.returncode == 0, errors
    nodes = json.loads("".join(plan))["nodes"]
    assert [node["type"] for node in nodes] == [
        "Source: Socket Stream",
        "Filter",
        "Map",
        "Timestamps/Watermarks",
        "TumblingEventTimeWindows",
        "Sink: Print to Std. Out",
    ]
    assert [edge["ship_strategy"] for edge in nodes[4]["predecessors"]] == ["HASH"]
    assert windows == {"('jam', 1000, 1)", "('tea', 3000, 7)", "('tea', 12000, 4)"}
    assert after == "('jam', 30000, 7)"
