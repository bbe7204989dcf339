"""What subtasks take up of subtasks that were cut otherwise: files, watermarks, snapshots."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from typing import Any

import cloudpickle
import pytest

from penstock.checkpoint.epoch_record import EpochRecord, ReadSoFar
from penstock.checkpoint.handles import StateHandle
from penstock.errors import (
    CheckpointMismatchError,
    MaxParallelismChangedError,
    StateNotRescalableError,
    UnclaimedStateError,
)
from penstock.executors.driver.job_description import describe
from penstock.executors.driver.recovery.restoring import restored, with_key_groups_of
from penstock.runtime.epoch import SHARED
from penstock.runtime.exchange.elements import ChannelWatermark
from penstock.runtime.exchange.partitioners import KeyGroupStreamPartitioner
from penstock.runtime.operator import StreamOperator
from penstock.runtime.planned.kafka.source import KafkaRecords
from penstock.runtime.program import NetworkEdge, OperatorSpec, Program, Vertex
from penstock.runtime.progress import SubtaskProgress
from penstock.runtime.timestamp import MIN_TIMESTAMP

GROUPS = 16
A, B, C = (letter * 32 for letter in "abc")


def spec(operator_id: str, **options: Any) -> OperatorSpec:
    return OperatorSpec(operator_id, operator_id[0], pickle.dumps(StreamOperator()), **options)


def program(parallelism: int, *, key_groups: int = GROUPS, **options: Any) -> Program:
    """A source that sends by key to an operator with state."""
    partitioner = cloudpickle.dumps(KeyGroupStreamPartitioner(lambda value: value))
    edge = NetworkEdge(0, 0, 1, 0, partitioner)
    source = Vertex(0, A, "A", (spec(A, network=(edge,)),), 1, GROUPS, 0, source=0)
    keyed = Vertex(
        1, B, "B", (spec(B, is_keyed=True),), parallelism, key_groups, 1, (edge,), **options
    )
    return Program("job", (source, keyed))


def record(old: Program, progress: dict[Any, SubtaskProgress], **handles: Any) -> EpochRecord:
    return EpochRecord(
        3,
        job=describe(old),
        progress={owner: found.to_plain() for owner, found in progress.items()},
        handles={(1, int(key[1:])): found for key, found in handles.items()},
    )


def handle(name: str, **options: Any) -> StateHandle:
    return StateHandle(name, 10, 0, is_snapshot=True, **options)


def progress(watermark: int, **options: Any) -> SubtaskProgress:
    return SubtaskProgress(
        ChannelWatermark(watermark), gauges=((watermark, watermark - 1),), **options
    )


class TestFiles:
    def test_are_taken_for_the_key_groups_that_are_common(self) -> None:
        old = record(program(2), {}, _0=(handle("a"), handle("b")), _1=(handle("c"),))

        state = restored(old, program(3)).state

        assert {
            subtask: [(one.name, one.first, one.end, one.gives_broadcast) for one in found]
            for (_, subtask), found in state.items()
        } == {
            0: [("a", 0, 6, True), ("b", 0, 6, True)],
            1: [("a", 6, 8, True), ("b", 6, 8, True), ("c", 8, 11, False)],
            2: [("c", 11, 16, True)],
        }

    def test_are_taken_as_they_are_where_nothing_changed(self) -> None:
        files = {"_0": (handle("a"),), "_1": (handle("b", first=3, end=4),)}
        old = record(program(2), {}, **files)
        other_code = replace(program(2), job_parameters={"a": "b"}, digest="other")

        assert restored(old, other_code).state == {(1, 0): files["_0"], (1, 1): files["_1"]}

    def test_of_a_subtask_that_took_them_up_itself_are_cut_again(self) -> None:
        taken = handle("a", first=6, end=8, gives_broadcast=False)
        old = record(program(3), {}, _1=(taken, handle("c", first=8, end=11)))

        [found] = restored(old, program(1)).state.values()

        assert [(one.name, one.first, one.end, one.gives_broadcast) for one in found] == [
            ("a", 6, 8, False),
            ("c", 8, 11, True),
        ]


class TestWatermarks:
    def test_are_the_least_of_all_that_made_way(self) -> None:
        old = record(program(2), {(1, 0): progress(7, clock=5), (1, 1): progress(9, clock=8)})

        found = restored(old, program(3)).progress

        assert [found[1, subtask].watermark.timestamp for subtask in range(3)] == [7, 7, 7]
        assert found[1, 0].gauges == ((7, 6),)
        assert found[1, 0].clock == 8

    def test_of_those_that_are_idle_do_not_count(self) -> None:
        idle = SubtaskProgress(ChannelWatermark(3, is_idle=True))
        old = record(program(2), {(1, 0): idle, (1, 1): progress(9)})

        assert restored(old, program(3)).progress[1, 0].watermark == ChannelWatermark(9)

    def test_are_each_its_own_where_the_parallelism_is_the_same(self) -> None:
        old = record(program(2), {(1, 0): progress(7), (1, 1): progress(9)})
        changed = program(2)
        source = replace(changed.vertices[0], name="other")
        changed = replace(
            changed,
            vertices=(replace(source, operators=(spec(C), *source.operators)), changed.vertices[1]),
        )

        found = restored(old, changed).progress

        assert [found[1, subtask].watermark.timestamp for subtask in range(2)] == [7, 9]

    def test_of_edges_are_found_by_the_operators_at_their_ends(self) -> None:
        old_source = SubtaskProgress(
            gauges=((5, 5),), outputs=((0, ChannelWatermark(4)),), next_wake_up=77
        )
        changed = program(3)
        source, keyed = changed.vertices
        edge = replace(keyed.inputs[0], index=6)
        source = replace(source, operators=(spec(A, network=(edge,)),))
        changed = replace(changed, vertices=(source, replace(keyed, inputs=(edge,))))

        found = restored(record(program(2), {(0, 0): old_source}), changed).progress

        assert found[0, 0].outputs == ((6, ChannelWatermark(4)),)
        assert found[0, 0].next_wake_up == 77

    def test_of_a_new_operator_begin_anew(self) -> None:
        changed = program(2)
        first = replace(changed.vertices[0], operators=(spec(C),), vertex_id=C)
        changed = replace(changed, vertices=(first, changed.vertices[1]))

        old = record(program(2), {(0, 0): progress(5)})
        found = restored(old, changed, ignore_unclaimed_state=True).progress[0, 0]

        assert found == SubtaskProgress(gauges=((MIN_TIMESTAMP, MIN_TIMESTAMP),))


class TestSnapshots:
    def test_that_cannot_be_divided_name_their_operator(self) -> None:
        old = {(1, 0): progress(1, operators=((B, b"x"),)), (1, 1): progress(1)}

        with pytest.raises(
            StateNotRescalableError, match=r"'b' had 2 subtasks and has 3"
        ) as raised:
            restored(record(program(2), old), program(3))
        assert raised.value.hint == "Let it have the parallelism 2."

    def test_of_a_source_that_spark_reads_stay_whole(self) -> None:
        def shared(parallelism: int) -> Program:
            known = program(parallelism)
            source = replace(known.vertices[0], is_shared=True, parallelism=parallelism)
            return replace(known, vertices=(source, known.vertices[1]))

        old = record(shared(2), {(0, SHARED): progress(4, operators=((A, b"x"),))})

        found = restored(old, shared(5)).progress

        assert found[0, SHARED].operators == ((A, b"x"),)
        assert sorted(found) == [(0, SHARED), *((1, subtask) for subtask in range(5))]


def sources(*ids: str) -> Program:
    return Program(
        "job",
        tuple(
            Vertex(place, one, one[0], (spec(one),), 1, 1, 0, source=place)
            for place, one in enumerate(ids)
        ),
    )


class TestSources:
    def test_that_have_ended_are_known_by_their_operators(self) -> None:
        old = replace(record(sources(A, B, C), {}), finished=frozenset({0, 2}))

        assert restored(old, sources(A, B, C)).finished == {0, 2}
        found = restored(old, sources(C, B), {0: 2, 1: 2}, ignore_unclaimed_state=True)
        # What has ended does so once more, for those downstream that waited for what is gone.
        assert not found.finished
        assert found.read == {0: 2, 1: 2}

    def test_go_on_where_they_were(self) -> None:
        old = replace(record(sources(A, C), {}), read={A: 1, C: 2})

        assert restored(old, sources(B, C, A), {0: 1, 1: 1, 2: 3}).read == {0: 0, 1: 1, 2: 1}

    @pytest.mark.parametrize(
        ("read", "bounded", "message"),
        [
            ({}, {0: 1}, "'a'.* is bounded, and was a stream when epoch 3 was committed"),
            ({A: 1}, {}, "'a'.* is a stream, and was bounded when epoch 3 was committed"),
        ],
    )
    def test_are_refused_where_nothing_says_how_far_they_are(
        self, read: dict[str, int], bounded: dict[int, int], message: str
    ) -> None:
        old = replace(record(sources(A), {}), read=read)

        with pytest.raises(CheckpointMismatchError, match=message):
            restored(old, sources(A), bounded)

    def test_of_kafka_go_on_with_the_reader_that_the_error_names(self) -> None:
        topics = KafkaRecords.kind
        by_spark = replace(record(sources(A), {}), read={})
        by_python = replace(by_spark, planned={A: ReadSoFar(topics)})
        script = replace(by_spark, planned={A: ReadSoFar("a script")})

        for old, now, hint in (
            (by_spark, {0: topics}, "set kafka.reader to spark, and it goes on"),
            (by_python, {}, "set kafka.reader to python, and it goes on"),
            (script, {}, "^To read it from its beginning"),
        ):
            with pytest.raises(CheckpointMismatchError) as raised:
                restored(old, sources(A), {}, now)
            assert re.search(hint, raised.value.hint or "")

    def test_had_the_epochs_of_the_job_in_earlier_versions(self) -> None:
        old = record(sources(A, B), {})

        assert restored(old, sources(B, C, A), {0: 9, 1: 9, 2: 1}).read == {0: 4, 1: 0, 2: 1}


class TestKeyGroups:
    def test_are_those_of_the_checkpoint_if_the_user_set_none(self) -> None:
        old = describe(program(2))

        found = with_key_groups_of(old, program(3, key_groups=32))

        assert [vertex.max_parallelism for vertex in found.vertices] == [GROUPS, GROUPS]
        fixed = program(3, key_groups=32, fixes_key_groups=True)
        assert with_key_groups_of(old, fixed) == fixed

    def test_cannot_be_fewer_than_subtasks(self) -> None:
        with pytest.raises(MaxParallelismChangedError, match="17 subtasks") as raised:
            with_key_groups_of(describe(program(2)), program(17, key_groups=32))
        assert raised.value.hint == "Let it have a parallelism of 16 or less."

    def test_cannot_be_others(self) -> None:
        old = record(program(2), {}, _0=(handle("a"),))

        with pytest.raises(MaxParallelismChangedError, match="in 16 key groups"):
            restored(old, program(2, key_groups=32))

    def test_may_be_others_where_there_is_no_state(self) -> None:
        assert restored(record(program(2), {}), program(2, key_groups=32)).state == {}


class TestUnclaimed:
    def test_state_is_named(self) -> None:
        old = program(2)
        only_source = replace(old, vertices=(replace(old.vertices[0], operators=(spec(A),)),))
        found = record(old, {}, _0=(handle("a"),))

        with pytest.raises(UnclaimedStateError, match=f"'b' .without a uid, id {B}"):
            restored(found, only_source)
        assert restored(found, only_source, ignore_unclaimed_state=True).state == {}

    def test_records_are_named(self) -> None:
        old = program(2)
        keeps = replace(
            old,
            vertices=(
                old.vertices[0],
                replace(old.vertices[1], operators=(spec(B, keeps_records=True, uid="u"),)),
            ),
        )
        only_source = replace(old, vertices=(replace(old.vertices[0], operators=(spec(A),)),))

        with pytest.raises(UnclaimedStateError, match=r"'b' .uid 'u'"):
            restored(record(keeps, {(1, 0): progress(1, operators=((B, b"x"),))}), only_source)
        restored(record(keeps, {(1, 0): progress(1)}), only_source)

    def test_records_are_not_given_to_tasks_that_are_others_in_every_epoch(self) -> None:
        old = program(2)
        sink = spec(B, keeps_records=True, uid="u", delivers_to="FileSink /out")
        keeps = replace(
            old, vertices=(old.vertices[0], replace(old.vertices[1], operators=(sink,)))
        )
        first = old.vertices[0]
        chained = replace(
            old, vertices=(replace(first, operators=(spec(A), sink), is_shared=True),)
        )
        found = record(keeps, {(1, 0): progress(1, operators=((B, b"x"),))})

        with pytest.raises(UnclaimedStateError, match=r"'b' .uid 'u'.: FileSink /out"):
            restored(found, chained)
        taken = restored(found, chained, ignore_unclaimed_state=True)
        assert all(B not in dict(one.operators) for one in taken.progress.values())
