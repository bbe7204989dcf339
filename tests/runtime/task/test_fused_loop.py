from __future__ import annotations

from penstock.runtime.task.fused_loop import FILE_NAME, new_loop, width_of


def test_each_loop_has_code_of_its_own() -> None:
    """The interpreter specialises code for the functions that it calls."""
    one, other = (new_loop(("map", "sink"), timed=False) for _ in range(2))

    assert one.run.__code__ is not other.run.__code__
    assert one.places is other.places


def test_the_code_tells_its_operators() -> None:
    code = new_loop(("reduce", "filter", "sink"), timed=False).run.__code__

    assert (code.co_filename, code.co_name) == (FILE_NAME, "reduce_filter_sink")


def test_counts_what_filters_drop_and_flat_maps_give() -> None:
    loop = new_loop(("filter", "flat_map", "map", "filter"), timed=True)
    results: list[int] = []
    times: list[int] = []
    functions = [lambda value: value > 1, range, lambda value: value + 1, lambda value: value < 3]
    counts = loop.run(None, functions, [1, 2, 3], [7, 8, 9], results, times, None, None)

    assert counts == (1, 5, 1)
    assert (results, times) == ([1, 2, 1, 2], [8, 8, 9, 9])


def test_places_name_the_operator_and_what_holds_its_record() -> None:
    loop = new_loop(("map", "flat_map", "filter", "sink"), timed=False)

    assert [loop.places[line] for line in sorted(loop.places)] == [
        (0, "v0"),
        (1, "v0"),
        (1, "v0"),
        (2, "v2"),
        (3, "v2"),
    ]


def test_sixty_operators_are_no_trouble() -> None:
    results: list[int] = []
    loop = new_loop(("map",) * 60, timed=False)
    loop.run(None, [lambda value: value + 1] * 60, [1], None, results, None, None, None)

    assert results == [61]


def test_a_function_alone_is_called_by_python_itself() -> None:
    for kind, function, found, counts in (
        ("map", lambda value: value + 1, [2, 3, 4], ()),
        ("filter", lambda value: value > 1, [2, 3], (1,)),
    ):
        results: list[int] = []
        loop = new_loop((kind,), timed=False, known=True)
        given = loop.run(None, [function], [1, 2, 3], None, results, None, None, None)

        assert (results, given) == (found, counts)
        assert set(loop.places.values()) == {(0, "rest")}


def test_a_loop_for_tuples_takes_other_values_too() -> None:
    class Fused:
        def __init__(self) -> None:
            self.noted: list[object] = []
            self.alone: list[object] = []

        def note_width(self, place: int, value: object) -> None:
            self.noted.append((place, value))

        def emit_alone(self, value: object, *_: object) -> None:
            self.alone.append(value)

    values = [
        (1, "a"),
        (2, 2.5),
        3,
        (4,),
        (5, 5, 5),
        (),
        (6, [6]),
        [7, 7],
        "8",
        (9, None),
        (10, (0,)),
    ]
    fused, results = Fused(), list[object]()
    loop = new_loop(("map",), timed=False, widths=(0, 2))
    loop.run(fused, [lambda value: value], values, None, results, None, None, None)

    assert fused.alone == [(6, [6]), [7, 7]]
    assert results == [value for value in values if value not in fused.alone]
    assert fused.noted == [(1, value) for value in (3, (4,), (5, 5, 5), (), "8", (10, (0,)))]
    assert list(map(width_of, ((1, "a"), 3, (), (1, (2,)), [1], (1,) * 9))) == [2, 0, *[None] * 4]
