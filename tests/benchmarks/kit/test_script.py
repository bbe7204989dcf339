from __future__ import annotations

import json
from pathlib import Path

from benchmarks.kit import script
from benchmarks.kit.measure import Row

FILE = "/somewhere/benchmarks/chain.py"


def part(job: str) -> script.Part:
    return lambda: [Row(job=job, unit="s", penstock=[1.0])]


def test_every_row_has_the_command_that_runs_its_part(tmp_path: Path) -> None:
    written = tmp_path / "found.json"
    arguments = script.parser("doc", 2).parse_args(["--quick", "--json", str(written)])
    script.run(FILE, arguments, [part("a"), part("b")])
    rows = [Row.from_json(row) for row in json.loads(written.read_text())["rows"]]
    assert [(row.job, row.command) for row in rows] == [
        ("a", "python benchmarks/chain.py --part 1 --quick"),
        ("b", "python benchmarks/chain.py --part 2 --quick"),
    ]


def test_one_part_runs_alone(tmp_path: Path) -> None:
    written = tmp_path / "found.json"
    arguments = script.parser("doc", 2).parse_args(["--part", "2", "--json", str(written)])
    script.run(FILE, arguments, [part("a"), part("b")])
    assert [row["job"] for row in json.loads(written.read_text())["rows"]] == ["b"]


def test_a_command_says_all_that_it_was_told_and_is_understood() -> None:
    parser = script.parser("doc", 3)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--cluster", action="store_true")
    arguments = parser.parse_args(["--cluster", "--rounds", "7"])
    command = script.command(FILE, arguments, 3)
    assert command == "python benchmarks/chain.py --part 3 --rounds 7 --cluster"
    again = parser.parse_args(command.split()[2:])
    assert (again.part, again.rounds, again.cluster, again.quick) == (3, 7, True, False)
