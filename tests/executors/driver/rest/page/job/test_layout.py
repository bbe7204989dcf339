from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.browser

LAY_OUT = """
    return given[0].map(([boxes, edges, way]) => {
        const found = it.layout(boxes, edges, way);
        return { ...found, places: [...found.places], routes: [...found.routes] };
    });
"""


def graph(rng: random.Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A graph without circles, of boxes of all sizes, some of them with nothing to do with others."""
    count = rng.randint(1, 30)
    boxes = [
        {"id": f"b{number}", "width": rng.randint(100, 300), "height": rng.randint(40, 400)}
        for number in range(count)
    ]
    pairs = list(itertools.combinations(range(count), 2))
    chosen = rng.sample(pairs, min(len(pairs), rng.randint(0, 2 * count)))
    edges = [
        {"id": f"e{number}", "from": f"b{one}", "to": f"b{other}"}
        for number, (one, other) in enumerate(chosen)
    ]
    return boxes, edges


@pytest.mark.parametrize("way", ["across", "down", "column"])
def test_boxes_stand_apart_behind_those_that_feed_them_and_within_the_picture(
    call: Callable[..., Any], way: str
) -> None:
    rng = random.Random(7)
    graphs = [(*graph(rng), way) for _ in range(60)]
    for (boxes, edges, _), found in zip(
        graphs, call("job/layout.js", LAY_OUT, graphs), strict=True
    ):
        places = dict(found["places"])
        spans = {
            box["id"]: (
                (places[box["id"]]["x"], places[box["id"]]["x"] + box["width"]),
                (places[box["id"]]["y"], places[box["id"]]["y"] + box["height"]),
            )
            for box in boxes
        }
        for one, other in itertools.combinations(spans.values(), 2):
            assert any(a[1] < b[0] or b[1] < a[0] for a, b in zip(one, other, strict=True))
        axis = 0 if way == "across" else 1
        for edge in edges:
            assert spans[edge["from"]][axis][1] < spans[edge["to"]][axis][0]
        for x, y in spans.values():
            assert x[0] >= -1e-6
            assert x[1] <= found["width"] + 1e-6
            assert y[0] >= -1e-6
            assert y[1] <= found["height"] + 1e-6


def test_a_long_edge_goes_around_the_boxes_between(call: Callable[..., Any]) -> None:
    boxes = [{"id": name, "width": 200, "height": 90} for name in "abc"]
    edges = [
        {"id": "ab", "from": "a", "to": "b"},
        {"id": "bc", "from": "b", "to": "c"},
        {"id": "ac", "from": "a", "to": "c"},
    ]
    [found] = call("job/layout.js", LAY_OUT, [[boxes, edges, "down"]])
    beside = dict(found["places"])["b"]
    route = dict(found["routes"])["ac"]
    for point in route[1:-1]:
        assert not beside["x"] - 1 < point["x"] < beside["x"] + 201
