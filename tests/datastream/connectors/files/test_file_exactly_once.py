"""Whatever dies at whatever moment, each record is in one visible file, once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.datastream.connectors.sink_job import SINK_ID, NewJob, SinkJob

from penstock.common import Encoder, Types
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.connectors.files.committer import FileCommitter
from penstock.datastream.connectors.files.compaction import FileCompactor, FileCompactStrategy
from penstock.datastream.connectors.files.policies import (
    BucketAssigner,
    BucketContext,
    RollingPolicy,
)
from penstock.datastream.connectors.files.staging import Staging
from penstock.datastream.connectors.files.writer import _Part
from penstock.datastream.formats.parquet import ParquetBulkWriters
from penstock.errors import LostOutputError
from penstock.runtime.sinks import Uncommitted


class ByRemainder(BucketAssigner):
    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        return f"remainder={element % 2}"


def visible(folder: Path, *, has_header: bool = True) -> list[int]:
    """Return the records that readers see: those of files that are not in a hidden folder."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file() and not any(part.startswith(".") for part in path.parts):
            lines = path.read_bytes()
            assert lines.count(b"number\n") == lines.startswith(b"number\n") == has_header
            assert lines.endswith(b"\n")
            numbers = [int(line) for line in lines.split() if line != b"number"]
            assert path.parent.name in {f"remainder={number % 2}" for number in numbers}
            found += numbers
    return sorted(found)


def sink_of(
    folder: Path, policy: RollingPolicy, compaction: tuple[int, int, FileCompactor] | None = None
) -> FileSink:
    """Return a sink.

    Args:
        folder: Where it writes to.
        policy: When files are complete.
        compaction: After how many epochs, and from how many bytes on, they are compacted, and how.
    """
    encoder = Encoder.csv(["number"], header=begins_with_header(compaction))
    builder = (
        FileSink.for_row_format(str(folder), encoder)
        .with_bucket_assigner(ByRemainder())
        .with_rolling_policy(policy)
    )
    if compaction is not None:
        epochs, size, compactor = compaction
        strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(epochs)
        builder.enable_compact(strategy.set_size_threshold(size).build(), compactor)
    return builder.build()


def begins_with_header(compaction: tuple[int, int, FileCompactor] | None) -> bool:
    """Whether files begin with a header: those that are put one behind the other may not."""
    return compaction is None or not compaction[2].joins


@pytest.fixture
def new_job(tmp_path: Path, new_job: NewJob) -> NewJob:
    """Makes jobs of a sink; of a policy one whose sink writes below `out`."""

    def make(sink: RollingPolicy | FileSink, **options: Any) -> SinkJob:
        if isinstance(sink, RollingPolicy):
            sink = sink_of(tmp_path / "out", sink)
        return new_job(sink, **options)

    return make


class CrashError(BaseException):
    """The driver dies."""


@contextmanager
def dying_after(renames: int) -> Iterator[None]:
    """Let the driver die when it has renamed so many files."""
    left = renames

    def replace(source: str, target: str) -> None:
        nonlocal left
        if left == 0:
            raise CrashError
        left -= 1
        os.rename(source, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", replace)
        yield


POLICIES = st.one_of(
    st.just(RollingPolicy.on_checkpoint_rolling_policy()),
    st.builds(
        RollingPolicy.default_rolling_policy,
        part_size=st.sampled_from([1, 12, 10_000]),
        rollover_interval=st.sampled_from([1, 25, 10_000]),
        inactivity_interval=st.sampled_from([10, 10_000]),
    ),
)
COMPACTIONS = st.none() | st.tuples(
    st.sampled_from([1, 2, 100]),
    st.sampled_from([1, 30, 10_000]),
    st.sampled_from(
        [FileCompactor.concat_file_compactor(), FileCompactor.identical_file_compactor()]
    ),
)
MISHAPS = st.sampled_from(["in an attempt", "after preparing", "zombies write", "a process"])
EPOCHS = st.lists(
    st.fixed_dictionaries(
        {
            "records": st.lists(st.integers(0, 5), min_size=3, max_size=3),
            "mishaps": st.lists(MISHAPS, max_size=2),
            "driver dies": st.sampled_from([None, None, 0, 1, 2]),
            "wait": st.sampled_from([0, 10, 30]),
            "parallelism": st.sampled_from([None, None, None, 1, 2, 3]),
        }
    ),
    min_size=1,
    max_size=6,
)


QUIET: dict[str, Any] = {"mishaps": [], "driver dies": None, "wait": 0, "parallelism": None}
ROLLS_AT_ONCE = RollingPolicy.default_rolling_policy(
    part_size=12, rollover_interval=1, inactivity_interval=10
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(policy=POLICIES, compaction=COMPACTIONS, epochs=EPOCHS)
# The next driver deletes the file that an attempt which was given up still writes.
@example(
    policy=ROLLS_AT_ONCE,
    compaction=None,
    epochs=[
        {**QUIET, "records": [0, 0, 0], "mishaps": ["in an attempt"]},
        {**QUIET, "records": [0, 3, 0], "driver dies": 0},
        {**QUIET, "records": [0, 0, 0]},
    ],
)
def test_the_visible_files_have_each_record_once(
    policy: RollingPolicy,
    compaction: tuple[int, int, FileCompactor] | None,
    epochs: list[dict[str, Any]],
) -> None:
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        # No machine goes down here, and a disk takes its time.
        patch.setattr(os, "fsync", lambda descriptor: None)
        folder = Path(place, "out")
        seen = partial(visible, folder, has_header=begins_with_header(compaction))
        job = SinkJob(sink_of(folder, policy, compaction), Path(place, "job"), parallelism=2)
        expected: list[int] = []
        for index, epoch in enumerate(epochs):
            ends = index == len(epochs) - 1
            if epoch["parallelism"] is not None:
                job.rescale(epoch["parallelism"])
            start = 100 * index
            values = [
                list(range(start + 10 * subtask, start + 10 * subtask + count))
                for subtask, count in enumerate(epoch["records"][: job.parallelism])
            ]
            job.now += epoch["wait"]
            for mishap in epoch["mishaps"]:
                happen(job, mishap, values)
            commit = job.prepare(values, ends=ends)
            happen(job, "zombies write", values)
            commit()
            expected += [value for part in values for value in part]
            publish(job, epoch["driver dies"])
            assert not Counter(seen()) - Counter(expected)
        assert seen() == sorted(expected)
        job.close()


def happen(job: SinkJob, mishap: str, values: list[list[int]]) -> None:
    if mishap == "in an attempt":
        job.begin([part[:1] for part in values])
        job.kill([0])
    elif mishap == "after preparing":
        # An attempt may come to other results, as where it asks a clock.
        job.prepare([[*part, 7, 8] for part in values])
        job.kill(range(0, job.parallelism, 2))
    elif mishap == "a process":
        job.kill([job.parallelism - 1])
    else:
        for zombie in job.zombies[-2:]:
            try:
                zombie.harness.process([1, 2, 3])
                zombie.harness.operator.flush()
            except LostOutputError:
                # The pieces that it was to go on with are gone, and with that it ends.
                job.zombies.remove(zombie)
                zombie.harness.operator.close()


def publish(job: SinkJob, dies_after: int | None) -> None:
    if dies_after is None:
        job.publish()
        return
    with dying_after(dies_after):
        try:
            job.publish()
        except CrashError:
            pass
        else:
            return
    job.start_driver()


ON_CHECKPOINT = RollingPolicy.on_checkpoint_rolling_policy()
LATER = RollingPolicy.default_rolling_policy()


class TestPublishing:
    def test_again_changes_nothing(self, new_job: NewJob, tmp_path: Path) -> None:
        job = new_job(ON_CHECKPOINT)
        job.run([[1, 2, 3]])
        before = sorted((tmp_path / "out").rglob("part-*"))
        job.publish()
        job.start_driver()

        assert sorted((tmp_path / "out").rglob("part-*")) == before
        assert visible(tmp_path / "out") == [1, 2, 3]

    @pytest.mark.parametrize("dies_after", [0, 1, 2])
    def test_is_completed_by_the_next_driver(
        self, new_job: NewJob, tmp_path: Path, dies_after: int
    ) -> None:
        job = new_job(ON_CHECKPOINT)
        job.prepare([[1, 2, 3]])()
        with dying_after(dies_after), pytest.raises(CrashError):
            job.publish()
        assert len(list((tmp_path / "out").rglob("part-*"))) == dies_after

        job.start_driver()
        assert visible(tmp_path / "out") == [1, 2, 3]

    def test_leaves_alone_what_readers_have_taken_away(
        self, new_job: NewJob, tmp_path: Path
    ) -> None:
        job = new_job(ON_CHECKPOINT)
        job.run([[1, 2, 3]])
        for path in (tmp_path / "out").rglob("part-*"):
            path.unlink()

        job.start_driver()
        assert visible(tmp_path / "out") == []

    def test_names_a_file_that_is_gone(self, new_job: NewJob, tmp_path: Path) -> None:
        job = new_job(ON_CHECKPOINT)
        job.prepare([[1]])()
        [staged] = hidden(tmp_path / "out")
        (tmp_path / "out" / staged).unlink()

        with pytest.raises(LostOutputError, match=staged):
            job.publish()

    def test_names_a_file_that_is_cut_off(self, new_job: NewJob, tmp_path: Path) -> None:
        job = new_job(ON_CHECKPOINT)
        job.prepare([[1]])()
        [staged] = hidden(tmp_path / "out")
        (tmp_path / "out" / staged).write_bytes(b"numb")

        with pytest.raises(LostOutputError, match="has 4 bytes, not 9"):
            job.publish()

    def test_names_a_file_that_was_damaged_before_the_job_started_again(
        self, new_job: NewJob, tmp_path: Path
    ) -> None:
        job = new_job(ON_CHECKPOINT)
        job.prepare([[1]])()
        [staged] = hidden(tmp_path / "out")
        flip(tmp_path / "out" / staged)

        with pytest.raises(LostOutputError, match=f"{staged}, .* is damaged"):
            job.start_driver()
        assert list((tmp_path / "out").rglob("part-*")) == []


def flip(path: Path, place: int = -2) -> None:
    """Change a bit of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def hidden(folder: Path) -> list[str]:
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.glob(f".penstock/{SINK_ID}-*/*"))
        if not path.name.startswith("published")
    ]


class TestTheHiddenFolder:
    def test_has_a_piece_for_each_epoch_until_the_file_is_complete(
        self, new_job: NewJob, tmp_path: Path
    ) -> None:
        job = new_job(LATER)
        for number in (0, 2, 4):
            job.run([[number]])
        assert len(hidden(tmp_path / "out")) == 3
        assert visible(tmp_path / "out") == []

        job.now += 60_000
        job.run([[6]])
        [file] = (tmp_path / "out").rglob("part-*")
        assert file.read_text() == "number\n0\n2\n4\n6\n"

    def test_is_emptied_of_what_nobody_needs(self, new_job: NewJob, tmp_path: Path) -> None:
        policy = RollingPolicy.default_rolling_policy(rollover_interval=1)
        job = new_job(policy)
        counts = []
        for number in range(20):
            job.begin([[number]])
            job.prepare([[number, 100 + number]])
            job.prepare([[number]])()
            job.publish()
            job.now += 10 * (number % 2)
            counts.append(len(hidden(tmp_path / "out")))

        assert max(counts) <= 16
        job.run([[20]], ends=True)
        assert hidden(tmp_path / "out") == []
        assert visible(tmp_path / "out") == list(range(21))

    def test_keeps_what_later_drivers_write_when_a_start_clears_it(self, tmp_path: Path) -> None:
        paths = {}
        for epoch, generation in ((4, 1), (5, 1), (5, 2), (5, 3), (6, 3)):
            staging = Staging(str(tmp_path), "sink", "lineage", generation)
            _, path = staging.new_path(epoch, 0)
            Path(path).touch()
            paths[epoch, generation] = Path(path)
        FileCommitter(str(tmp_path)).drop(Uncommitted("lineage", 4, 2, sink_id="sink"))

        left = {made for made, path in paths.items() if path.exists()}
        assert left == {(4, 1), (5, 3), (6, 3)}

    def test_is_one_for_each_history(self, new_job: NewJob, tmp_path: Path) -> None:
        jobs = [new_job(LATER, lineage=lineage) for lineage in "ab"]
        for number, job in enumerate(jobs):
            job.run([[number]])
        for number, job in enumerate(jobs, 10):
            job.run([[number]], ends=True)

        assert visible(tmp_path / "out") == [0, 1, 10, 11]

    def test_that_lost_a_piece_is_an_error(self, new_job: NewJob, tmp_path: Path) -> None:
        job = new_job(LATER)
        job.run([[1]])
        [piece] = hidden(tmp_path / "out")
        (tmp_path / "out" / piece).unlink()

        with pytest.raises(LostOutputError, match=piece):
            job.run([[3]], ends=True)

    @pytest.mark.parametrize("place", [0, 3, -1])
    @pytest.mark.parametrize("epochs", [1, 3])
    def test_that_has_a_byte_that_changed_is_an_error(
        self, new_job: NewJob, tmp_path: Path, epochs: int, place: int
    ) -> None:
        job = new_job(LATER)
        for number in range(epochs):
            job.run([[2 * number]])
        *_, piece = hidden(tmp_path / "out")
        flip(tmp_path / "out" / piece, place if epochs == 1 else place % 2)

        with pytest.raises(LostOutputError, match=rf"{piece}, .* checksum 0x\w+, not 0x"):
            job.run([[20]], ends=True)
        assert visible(tmp_path / "out") == []

    def test_that_earlier_versions_wrote_goes_on(
        self, new_job: NewJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def without_checksums(part: _Part) -> list[Any]:
            return [*real(part)[:3], [piece[:3] for piece in part.pieces]]

        real = _Part.to_plain
        job = new_job(LATER)
        with monkeypatch.context() as patch:
            patch.setattr(_Part, "to_plain", without_checksums)
            job.run([[0]])
        job.kill([0])
        job.run([[2]])
        job.run([[4]], ends=True)

        assert visible(tmp_path / "out") == [0, 2, 4]

    @pytest.mark.parametrize("then", [[], [3]])
    def test_lets_a_job_go_back_two_epochs(
        self, new_job: NewJob, tmp_path: Path, then: list[int]
    ) -> None:
        job = new_job(LATER)
        job.run([[1]])
        known = job.record, list(job._snapshots)
        job.now += 60_000
        job.run([then])
        job.run([[5]])

        job.kill([0])
        job.record, job._snapshots = known
        job.lineage = "after going back"
        job.start_driver()
        job.run([[7]], ends=True)
        files = sorted(path.read_text() for path in (tmp_path / "out").rglob("part-*"))
        assert files == ["number\n1\n" + "3\n" * len(then), "number\n1\n7\n"]


def test_bulk_files_are_complete_with_each_epoch(new_job: NewJob, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    rows = Types.ROW_NAMED(["number"], [Types.LONG()])
    sink = (
        FileSink.for_bulk_format(
            str(tmp_path / "out"), ParquetBulkWriters.for_row_type(rows, row_group_size=2)
        )
        .with_bucket_assigner(ByRemainder.base_path_bucket_assigner())
        .build()
    )
    job = new_job(sink, parallelism=2)
    job.begin([[1, 2, 3], [4]])
    job.kill([0, 1])
    job.prepare([[1, 2, 3, 9], [4]])
    job.run([[1, 2, 3], [4]])
    job.run([[5], []])

    files = sorted((tmp_path / "out").glob("part-*"))
    assert sorted(pq.read_table(file)["number"].to_pylist() for file in files) == [
        [1, 2, 3],
        [4],
        [5],
    ]
