from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.inspection.jobs import remember

from penstock.checkpoint.epoch_record import (
    EpochRecord,
    JobRecord,
    OperatorRecord,
    ReadSoFar,
    VertexRecord,
)
from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.storage import open_storage
from penstock.cli import main
from penstock.cli.layout import moment, watermark, write_table
from penstock.common.plain_text import Size
from penstock.datastream.connectors.files.committer import FileCommittable
from penstock.datastream.connectors.files.staging import PublishedFile, StagedFile
from penstock.datastream.connectors.kafka.writers import StagedRecords
from penstock.runtime.planned.kafka.source import KafkaRecords
from penstock.runtime.sinks import committable_to_plain
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP

if TYPE_CHECKING:
    from tests.servers.s3_server import S3Server

Run = Callable[..., tuple[int, str]]


@dataclasses.dataclass(frozen=True)
class Visit:
    number: int


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `penstock checkpoint`, and gives its exit code and what it wrote."""

    def run(*arguments: object) -> tuple[int, str]:
        code = main(["checkpoint", *map(str, arguments)])
        written = capsys.readouterr()
        assert bool(written.err) == (code == 2)
        return code, written.out + written.err

    return run


@pytest.fixture(scope="module")
def remembered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a job has left, to be copied."""
    folder = tmp_path_factory.mktemp("remembered")
    remember(str(folder), [[("ann", 1), ("bob", 2)], [("ann", 3)]])
    return folder


@pytest.fixture
def folder(tmp_path: Path, remembered: Path) -> Path:
    return shutil.copytree(remembered, tmp_path, dirs_exist_ok=True)


def state_files(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "state").rglob("*") if path.is_file())


class TestList:
    def test_epochs(self, folder: Path, run: Run) -> None:
        code, text = run("list", folder)

        lines = text.splitlines()
        assert code == 0
        assert lines[0].split() == ["EPOCH", "COMMITTED", "(UTC)", "MS", "STATE", "FILES", "DRIVER"]
        assert [line.split()[0] for line in lines[1:]] == ["0", "1", "2"]
        assert lines[3].endswith("job ended")
        assert not lines[2].endswith("job ended")

    def test_damaged_metadata(self, folder: Path, run: Run) -> None:
        (folder / "epochs" / "00000001").write_bytes(b"x")

        code, text = run("list", folder)

        assert code == 1
        assert text.splitlines()[2].split() == ["1", "-", "-", "-", "-", "-", "damaged"]

    def test_what_lies_below(self, tmp_path: Path, run: Run) -> None:
        for name in ("one", "deep/two"):
            remember(str(tmp_path / name), [[("ann", 1)]])

        code, text = run("list", tmp_path)

        assert code == 0
        assert [line for line in text.splitlines() if line.endswith(("one", "two"))] == [
            "deep/two",
            "one",
        ]

    def test_nothing(self, tmp_path: Path, run: Run) -> None:
        code, text = run("list", tmp_path)

        assert code == 2
        assert f"There is no checkpoint at {tmp_path}." in text
        assert "Hint: " in text


class TestShow:
    def test_an_epoch(self, folder: Path, run: Run) -> None:
        code, text = run("show", folder)

        lines = text.splitlines()
        assert code == 0
        assert lines[0] == "job      job"
        assert lines[1].startswith("epoch    1, committed 20")
        assert lines[3] == "sources  Source: records"
        assert any(line.split()[:2] == ["Memory", "memory"] for line in lines)
        (row,) = (line for line in lines if line.startswith("Memory    map"))
        assert row.split() == ["Memory", "map", "map", *row.split()[3:-1], "3"]

    def test_an_earlier_epoch(self, folder: Path, run: Run) -> None:
        _, text = run("show", folder, "--epoch", 0, "--operator", "memory", "--state", "value")

        assert sorted(line.split()[1:] for line in text.splitlines()) == [
            ["KEY", "NAMESPACE", "VALUE"],
            ["ann", "-", "1"],
            ["bob", "-", "2"],
        ]

    def test_a_state_of_an_operator(self, folder: Path, run: Run) -> None:
        arguments = ("show", folder, "--operator", "memory", "--state", "list")

        _, text = run(*arguments)
        _, short = run(*arguments, "--limit", 1)

        assert text.splitlines()[0].split() == [
            "KEY_GROUP",
            "KEY",
            "NAMESPACE",
            "POSITION",
            "VALUE",
        ]
        assert len(text.splitlines()) == 4
        assert len(short.splitlines()) == 2

    def test_no_class_is_imported_unless_asked_for(self, tmp_path: Path, run: Run) -> None:
        remember(str(tmp_path), [[("ann", Visit(7))]])
        arguments = ("show", tmp_path, "--operator", "memory", "--state", "value")

        text = run(*arguments)[1]
        assert text.splitlines()[1].split()[3] == "Visit(number=7)", text
        assert "{'number': 7}" in run(*arguments, "--import-classes")[1]

    def test_the_timers_of_an_operator(self, folder: Path, run: Run) -> None:
        _, text = run("show", folder, "--operator", "memory")

        assert text.count("event time") == 2
        assert text.count("processing time") == 2

    def test_json(self, folder: Path, run: Run) -> None:
        _, text = run("show", folder, "--json")

        found = json.loads(text)
        assert (found["job"], found["epoch"], found["is_last"]) == ("job", 1, False)
        assert found["sources"] == [{"name": "Source: records", "finished": False}]
        (memory,) = (one for one in found["operators"] if one["uid"] == "memory")
        assert (memory["entries"], memory["records_in"]) == (12, 1)

    def test_rows_as_json(self, folder: Path, run: Run) -> None:
        _, text = run("show", folder, "--operator", "memory", "--state", "sum", "--json")

        assert sorted((row["key"], row["value"]) for row in json.loads(text)) == [
            ("ann", 2),
            ("bob", 1),
        ]

    def test_what_sinks_prepared_and_who_has_ended(self, tmp_path: Path, run: Run) -> None:
        sink = VertexRecord(
            0, (OperatorRecord("s", "Files", None, is_stateful=False),), 1, 128, is_shared=False
        )
        job = JobRecord("job", vertices=(sink,), sources=("s",))
        record = EpochRecord(
            7,
            job=job,
            prepared=[("s", {"file": "a"})],
            finished=frozenset({0}),
            is_drained=True,
            operators={"s": {"output_watermark": 1234}},
        )
        StoredEpochs(open_storage(str(tmp_path))).commit(record)

        code, text = run("show", tmp_path)

        assert code == 0
        assert "sources  Files (finished)" in text
        assert "in 0 ms, event time ended\n" in text
        assert 'Files   -     13  {"file": "a"}' in text
        assert " 1234 " in text

    def test_what_a_sink_prepared_can_be_read(self, tmp_path: Path, run: Run) -> None:
        sink = FileCommittable([PublishedFile(StagedFile(".penstock/s-1/0-1", 7), "part-1")], [])
        anybody = Visit(7)
        prepared = [("s", committable_to_plain(one)) for one in (sink, anybody, "x" * 10_000)]
        record = EpochRecord(7, prepared=[*prepared, ("s", b64encode(b"no pickle").decode())])
        StoredEpochs(open_storage(str(tmp_path))).commit(record)

        _, text = run("show", tmp_path)
        assert "FileCommittable([PublishedFile(StagedFile('.penstock/s-1/0-1', 7" in text
        assert "Visit(number=7)" in text
        assert "cannot be shown: " in text
        assert max(map(len, text.splitlines())) < 600
        found = json.loads(run("show", tmp_path, "--json")[1])["prepared"]
        assert [one["kind"] for one in found] == ["FileCommittable", "Visit", "str", ""]
        assert found[2]["bytes"] > 10_000

    def test_how_far_topics_are_read_and_what_is_to_be_sent(self, tmp_path: Path, run: Run) -> None:
        operators = (
            OperatorRecord("in", "Source: fares", None, is_stateful=False),
            OperatorRecord(
                "out",
                "Sink",
                None,
                is_stateful=False,
                delivers_to="KafkaSink kafka:9092 counts",
            ),
        )
        vertex = VertexRecord(0, operators, 1, 128, is_shared=False)
        read = [["fares", 0, 12, None], ["fares", 1, 7, 9, "id"]]
        staged = StagedRecords("prepared/out/00000007-1", 15, 2)
        record = EpochRecord(
            7,
            job=JobRecord("job", vertices=(vertex,), sources=("in",)),
            planned={
                "in": ReadSoFar(KafkaRecords.kind, read),
                "new": ReadSoFar(KafkaRecords.kind),
                "files": ReadSoFar("a growing set of files", [["a", 0, 1, 2]]),
            },
            prepared=[("out", committable_to_plain(staged))],
        )
        StoredEpochs(open_storage(str(tmp_path))).commit(record)

        for options in ([], ["--import-classes"]):
            tables = run("show", tmp_path, *options)[1].split("\n\n")
            assert [line.split() for line in tables[-2].splitlines()] == [
                ["SOURCE", "PARTITION", "NEXT", "OFFSET", "END", "OFFSET"],
                ["Source:", "fares", "fares-0", "12", "-"],
                ["Source:", "fares", "fares-1", "7", "9"],
            ]
            assert "Sink  KafkaSink kafka:9092 counts  " in tables[-1]
            assert "  15 records of subtask 2, in prepared/out/00000007-1\n" in tables[-1]
        found = json.loads(run("show", tmp_path, "--json")[1])
        assert found["offsets"][1] == {
            "source": "Source: fares",
            "partition": "fares-1",
            "next_offset": 7,
            "end_offset": 9,
        }

    def test_a_state_is_found_without_its_operator(self, folder: Path, run: Run) -> None:
        _, named = run("show", folder, "--operator", "memory", "--state", "value")
        code, found = run("show", folder, "--state", "value")

        assert (code, found) == (0, named)

    def test_an_operator_without_timers(self, folder: Path, run: Run) -> None:
        code, text = run("show", folder, "--operator", "Source: records")

        assert code == 0
        assert text == (
            "The operator 'Source: records' has no timers in epoch 1; it has no keyed state either.\n"
        )

    def test_types_are_named_as_a_program_does(self, tmp_path: Path, run: Run) -> None:
        remember(str(tmp_path), [[("ann", Visit(7))]])
        text = run("show", tmp_path)[1]

        assert "PICKLED_BYTE_ARRAY" in text
        assert "TypeInfo" not in text

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--epoch", "9"], "Epoch 9 is not at"),
            (["--state", "nix"], "No operator has a state 'nix'"),
            (["--operator", "x"], "There is no operator 'x'"),
            (["--operator", "memory", "--state", "x"], "has no state 'x'"),
        ],
    )
    def test_what_is_not_there(
        self, folder: Path, run: Run, arguments: list[str], message: str
    ) -> None:
        code, text = run("show", folder, *arguments)

        assert code == 2
        assert message in text


class TestVerify:
    def test_what_is_whole(self, folder: Path, run: Run) -> None:
        code, text = run("verify", folder)

        assert code == 0
        assert text.splitlines()[:3] == [f"epoch {number}  complete" for number in range(3)]

    def test_what_is_damaged(self, folder: Path, run: Run) -> None:
        newest = next(path for path in state_files(folder) if path.name.startswith("00000001"))
        newest.write_bytes(newest.read_bytes()[:-1])

        code, text = run("verify", folder)

        assert code == 1
        assert "epoch 1  damaged" in text
        assert str(newest) in text
        assert "set execution.state-recovery.epoch to 0 for one start" in text

    def test_damage_that_keeps_no_job_from_going_on(self, folder: Path, run: Run) -> None:
        (folder / "epochs" / "00000000").write_bytes(b"x")

        code, text = run("verify", folder)

        assert code == 1
        assert "Epoch 2, the last one, is complete: a job goes on from it." in text

    def test_what_is_lost(self, folder: Path, run: Run) -> None:
        for path in state_files(folder):
            path.unlink()

        code, text = run("verify", folder, "--epoch", 1)

        assert code == 1
        assert "None of these epochs is complete." in text

    def test_the_metadata_of_the_last_epoch(self, folder: Path, run: Run) -> None:
        assert (folder / "published").exists()
        max((folder / "epochs").iterdir()).unlink()

        code, text = run("verify", folder)

        assert code == 1
        assert "epoch 1  complete\nepoch 2  damaged\n  The metadata of epoch 2 is gone" in text
        assert "A start on this location is refused. Restore the checkpoint location" in text

    def test_in_an_object_store(self, s3: tuple[S3Server, str], run: Run) -> None:
        _, location = s3
        remember(location, [[("ann", 1)]])

        assert run("verify", location)[0] == 0
        open_storage(location).delete(open_storage(location).names("state"))
        code, text = run("verify", location)

        assert code == 1
        assert f"{location}/state/" in text


class TestCommand:
    @pytest.mark.parametrize(
        "arguments",
        [
            [],
            ["checkpoint"],
            ["checkpoint", "show"],
            ["checkpoint", "show", "x", "--epoch", "one"],
            ["checkpoint", "show", "x", "--limit", "-1"],
        ],
    )
    def test_wrong_arguments(
        self, arguments: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit) as raised:
            main(arguments)
        assert raised.value.code == 2
        assert "usage: penstock" in capsys.readouterr().err

    def test_as_a_process(self, folder: Path) -> None:
        command = [sys.executable, "-W", "error", "-m", "penstock", "checkpoint", "verify"]
        command.append(str(folder))

        state_files(folder)[0].unlink()
        damaged = subprocess.run(command, capture_output=True, text=True, check=False)

        assert (damaged.returncode, damaged.stderr) == (1, "")
        assert "epoch 1  damaged" in damaged.stdout

    def test_output_that_is_not_read_to_its_end_is_no_error(self, remembered: Path) -> None:
        command = [sys.executable, "-W", "error", "-m", "penstock", "checkpoint"]
        command += ["list", str(remembered)]
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "w") as nobody:
            run = subprocess.run(
                command, stdout=nobody, stderr=subprocess.PIPE, text=True, check=False
            )

        assert (run.returncode, run.stderr) == (141, "")


class TestLayout:
    def test_columns(self, capsys: pytest.CaptureFixture[str]) -> None:
        write_table(
            ["name", "size"], [("a", Size(12)), ("long\nname", Size(1_234_567)), ("b", None)]
        )

        assert capsys.readouterr().out == (
            "NAME          SIZE\na             12 B\nlong\\nname  1.2 MB\nb                -\n"
        )

    def test_no_rows(self, capsys: pytest.CaptureFixture[str]) -> None:
        write_table(["name", "size"], [])

        assert capsys.readouterr().out == "NAME  SIZE\n"

    def test_moments(self) -> None:
        assert moment(1_700_000_000_000) == "2023-11-14 22:13:20"

    def test_watermarks(self) -> None:
        assert [watermark(at) for at in (None, MIN_TIMESTAMP, 5, MAX_TIMESTAMP)] == [
            None,
            None,
            5,
            "end",
        ]
