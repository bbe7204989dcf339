from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from benchmarks.kit.measure import Row
from benchmarks.kit.pictures import INK, MISSED, REACHED, bars, curve

SLOWER = Row(
    job="an epoch", unit="s", penstock=[3.0], against="a bare one", other=[2.0], target=1.15,
    lower_is_better=True,
)  # fmt: skip
FASTER = Row(
    job="a chain", unit="records/s", penstock=[3.0], against="PyFlink", other=[1.0], target=2
)
ALONE = Row(job="memory", unit="bytes", penstock=[3.0], target=2)


def words(path: Path) -> str:
    return " ".join(
        "".join(text.itertext()) for text in ET.parse(path).iter() if "text" in text.tag
    )


def test_bars_are_the_same_each_time(tmp_path: Path) -> None:
    bars([SLOWER, FASTER], tmp_path / "a.svg")
    bars([SLOWER, FASTER], tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_bars_show_how_many_times_as_good_penstock_is_whichever_way_is_better(
    tmp_path: Path,
) -> None:
    bars([SLOWER, FASTER, ALONE], tmp_path / "a.svg")
    said = words(tmp_path / "a.svg")
    assert "an epoch (s), against a bare one: 0.67" in said
    assert "a chain (records/s), against PyFlink: 3.00" in said
    assert "memory" not in said


def test_bars_have_the_colour_of_their_verdict(tmp_path: Path) -> None:
    bars([SLOWER], tmp_path / "missed.svg")
    bars([FASTER], tmp_path / "reached.svg")
    assert MISSED in (tmp_path / "missed.svg").read_text()
    assert REACHED in (tmp_path / "reached.svg").read_text()


def test_text_has_the_colour_that_fits_the_page(tmp_path: Path) -> None:
    bars([FASTER], tmp_path / "a.svg")
    picture = (tmp_path / "a.svg").read_text()
    assert "prefers-color-scheme:dark" in picture
    assert "currentColor" in picture
    assert INK not in picture


def test_no_picture_of_rows_that_stand_alone(tmp_path: Path) -> None:
    bars([ALONE], tmp_path / "a.svg")
    assert not (tmp_path / "a.svg").exists()


def test_curves_are_the_same_each_time_and_named(tmp_path: Path) -> None:
    series = {"hashmap": [(100, 1.0), (1_000, 2.0)], "rocksdb": [(100, 3.0), (1_000, 2.0)]}
    for name in ("a", "b"):
        curve(series, tmp_path / f"{name}.svg", x_label="keys", y_label="records/s", log_x=True)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    said = words(tmp_path / "a.svg")
    assert all(word in said for word in ("hashmap", "rocksdb", "keys", "records/s"))
