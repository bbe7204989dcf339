from __future__ import annotations

from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st
from tests.graph.programs import Programs

from penstock.graph.plan.plan_layout import Box, lay_out
from penstock.graph.plan.plan_svg import plan_svg

SVG = "{http://www.w3.org/2000/svg}"


def picture(program: Programs) -> ET.Element:
    return ET.fromstring(plan_svg(program.job_graph()))


def texts(root: ET.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def classes(root: ET.Element) -> list[str]:
    return [element.get("class", "") for element in root.iter(f"{SVG}rect")]


def diamond() -> Programs:
    program = Programs()
    source = program.source()
    left = program.map(program.key_by(source), name="left")
    long = program.map(program.key_by(program.map(program.key_by(source), name="mid")), name="long")
    program.sink(program.map(program.union(left, long, source), name="join"))
    return program


def test_chains_operators_and_exchanges_are_drawn() -> None:
    root = picture(diamond())
    assert {"Source: numbers", "left", "mid", "long", "join", "Sink: Print"} <= set(texts(root))
    assert {"level 0", "level 3", "[1] parallelism 1", "FORWARD"} <= set(texts(root))
    assert texts(root).count("HASH (key by)") == 3
    assert classes(root).count("chain") == 5
    assert sum(name.startswith("operator") for name in classes(root)) == 6
    assert classes(root).count("operator source") == classes(root).count("operator sink") == 1


def test_names_are_escaped() -> None:
    program = Programs()
    name = "<b>&\"'\x00"
    program.sink(program.map(program.source(), name=name, description=name), name="Sink: </svg>")
    assert {"<b>&\"'", "Sink: </svg>"} <= set(texts(picture(program)))


@given(st.text())
def test_any_name_gives_a_picture(name: str) -> None:
    program = Programs()
    keyed = program.key_by(
        program.side_output(program.map(program.source(), name=name), "x" + name)
    )
    program.sink(keyed)
    picture(program)


def test_long_names_are_shortened_and_kept_as_tooltip() -> None:
    program = Programs()
    name = "a name that is longer than any box could be in a picture"
    program.sink(program.map(program.source(), name=name))
    root = picture(program)
    assert name not in texts(root)
    assert name in [element.text for element in root.iter(f"{SVG}title")]


def test_side_outputs_are_labelled() -> None:
    program = Programs()
    source = program.source()
    program.sink(program.side_output(source, "late"))
    program.sink(program.key_by(program.side_output(source, "odd")))
    assert {"'late': Sink: Print", "'odd', HASH (key by)"} <= set(texts(picture(program)))


def do_meet(one: Box, other: Box) -> bool:
    return (
        one.x < other.right
        and other.x < one.right
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


def test_boxes_do_not_meet_and_arrows_go_right() -> None:
    layout = lay_out(diamond().job_graph())
    column_of = {box: place for place, column in enumerate(layout.columns) for box in column}
    boxes = list(column_of)
    assert len(boxes) == 5 + 3  # the chains, and lanes for the edges that skip levels
    assert not any(do_meet(one, other) for one, other in combinations(boxes, 2))
    for box in boxes:
        assert 0 < box.x < box.right < layout.width
        assert 0 < box.y < box.y + box.height < layout.height
    for arrow in layout.arrows:
        places = [column_of[box] for box in arrow.path]
        assert places == list(range(places[0], places[-1] + 1))
        assert all(before.right < after.x for before, after in pairwise(arrow.path))
        assert [x for x, _ in arrow.points] == sorted(x for x, _ in arrow.points)


def test_arrows_that_meet_are_spread() -> None:
    layout = lay_out(diamond().job_graph())
    assert len({arrow.points[0] for arrow in layout.arrows if arrow.edge.source == 0}) == 3
    assert len({arrow.points[-1] for arrow in layout.arrows}) == len(layout.arrows)
