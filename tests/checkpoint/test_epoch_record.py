from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.checkpoint.epoch_record import (
    FORMAT,
    EdgeRecord,
    EpochRecord,
    JobRecord,
    OperatorRecord,
    RowNames,
    VertexRecord,
    decode,
    digest_of,
    encode,
)
from penstock.checkpoint.handles import StateHandle
from penstock.errors import DamagedStateError

WHERE = "epochs/00000007"

JOB = JobRecord(
    name="clicks",
    digest="d1",
    state_backend="rocksdb",
    vertices=(
        VertexRecord(
            0, (OperatorRecord("s", "Source", None, is_stateful=False),), 1, 128, is_shared=True
        ),
        VertexRecord(
            1,
            (
                OperatorRecord("c", "Count", "count", is_stateful=True),
                OperatorRecord("p", "Print", None, is_stateful=False),
            ),
            4,
            128,
            is_shared=False,
        ),
    ),
    edges=(EdgeRecord(0, "s", "c", 0),),
    sources=("s",),
)
RECORD = EpochRecord(
    7,
    generation=3,
    previous="d0",
    job=JOB,
    handles={
        (1, 0): (
            StateHandle("state/1-0/a", 10, 99, is_snapshot=True),
            StateHandle("b", 5, 7, is_snapshot=False),
        )
    },
    progress={(0, -1): {"watermark": [5, False]}, (1, 3): {"clock": 12}},
    finished=frozenset({0}),
    is_last=True,
    prepared=[("p", {"files": ["one"], "bytes": "AAEC"}), ("p", None)],
    operators={"c": {"records_in": 1}},
    duration=12,
    committed_at=1_700_000_000_000,
    folded_at=1_600_000_000_000,
    engine={"query": "q"},
)

ROWS = frozenset({RowNames("c", "", ("a", "b")), RowNames("c broadcast", "rules", ("b", "a"))})

texts = st.text(max_size=8)
counts = st.integers(0, 2**63)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
owners = st.tuples(st.integers(0, 99), st.integers(-1, 99))
handles = st.builds(StateHandle, texts, counts, st.integers(0, 2**32 - 1), st.booleans())
operators = st.builds(OperatorRecord, texts, texts, st.none() | texts, st.booleans())
vertices = st.builds(
    VertexRecord, counts, st.lists(operators, max_size=2).map(tuple), counts, counts, st.booleans()
)
edges = st.builds(EdgeRecord, counts, texts, texts, counts)
jobs = st.builds(
    JobRecord,
    name=texts,
    digest=texts,
    vertices=st.lists(vertices, max_size=2).map(tuple),
    edges=st.lists(edges, max_size=2).map(tuple),
    sources=st.lists(texts, max_size=2).map(tuple),
)
records = st.builds(
    EpochRecord,
    number=counts,
    generation=counts,
    previous=texts,
    job=jobs,
    handles=st.dictionaries(owners, st.lists(handles, max_size=2).map(tuple), max_size=2),
    progress=st.dictionaries(owners, plain, max_size=2),
    finished=st.frozensets(counts, max_size=3),
    is_last=st.booleans(),
    prepared=st.lists(st.tuples(texts, plain), max_size=2),
    operators=st.dictionaries(texts, plain, max_size=2),
    duration=counts,
    engine=st.dictionaries(texts, plain, max_size=2),
    old_rows=st.none()
    | st.frozensets(
        st.builds(RowNames, texts, texts, st.lists(texts, max_size=2).map(tuple)), max_size=2
    ),
)


def turned_round(record: EpochRecord) -> EpochRecord:
    """Return an equal record in which what has no order stands in another one."""
    return dataclasses.replace(
        record,
        operators=dict(reversed(record.operators.items())),
        engine=dict(reversed(record.engine.items())),
    )


def written(body: object) -> bytes:
    """Metadata with that content, whose checksum is right."""
    data = json.dumps(body).encode()
    return digest_of(data).encode() + b"\n" + data


def test_what_is_read_is_what_was_written() -> None:
    found = decode(encode(RECORD), WHERE)

    assert found == RECORD
    assert isinstance(found.handles[1, 0][0], StateHandle)
    assert isinstance(found.job.vertices[1].operators[0], OperatorRecord)
    assert found.job.edges[0].target == "c"


@given(record=records)
def test_any_record_is_read_as_it_was_written_and_equal_ones_are_equal_bytes(
    record: EpochRecord,
) -> None:
    found = decode(encode(record), WHERE)

    assert found == record
    assert encode(turned_round(found)) == encode(record)


@given(data=st.data())
def test_damage_of_any_byte_is_found(data: st.DataObject) -> None:
    damaged = bytearray(encode(RECORD))
    place = data.draw(st.integers(0, len(damaged) - 1))
    match data.draw(st.sampled_from(["flipped", "truncated", "longer", "shorter"])):
        case "flipped":
            damaged[place] ^= 1 << data.draw(st.integers(0, 7))
        case "truncated":
            del damaged[place:]
        case "longer":
            damaged.insert(place + 1, damaged[place] ^ 1)
        case "shorter":
            del damaged[place]

    with pytest.raises(DamagedStateError, match=f"The metadata {WHERE} is damaged") as raised:
        decode(bytes(damaged), WHERE)
    assert "penstock checkpoint list" in str(raised.value.hint)


def test_another_form_is_refused() -> None:
    body = json.loads(encode(RECORD).partition(b"\n")[2])

    other = FORMAT + 1
    with pytest.raises(
        DamagedStateError, match=f"has the form {other}; .* reads {FORMAT}"
    ) as raised:
        decode(written({**body, "format": other}), WHERE)
    assert raised.value.hint == "Use the version of penstock that wrote it."
    assert decode(written(body), WHERE) == RECORD


def first_form(**changed: object) -> EpochRecord:
    """Return what is read where the version before had written the record."""
    body = json.loads(encode(RECORD).partition(b"\n")[2])
    for name in ("read", "is_drained", "pieces", "old_rows", "states"):
        del body[name]
    for vertex in body["job"]["vertices"]:
        vertex["operators"] = [operator[:5] for operator in vertex["operators"]]
    return decode(written({**body, "format": 1, **changed}), WHERE)


def test_the_first_form_is_read() -> None:
    found = first_form()

    assert found == dataclasses.replace(RECORD, old_rows=None)
    # Who begins from it writes it anew, and has not looked at its keys either.
    assert decode(encode(found), WHERE) == found
    assert decode(encode(dataclasses.replace(found, old_rows=ROWS)), WHERE).old_rows == ROWS


@pytest.mark.parametrize("finished", [[], [0]])
@pytest.mark.parametrize("is_last", [True, False])
def test_of_the_first_form_a_job_was_drained_whose_sources_had_all_ended_before_it(
    finished: list[int], is_last: bool
) -> None:
    found = first_form(finished=finished, is_last=is_last)

    assert found.is_drained == (finished == [0] and not is_last)
    assert found.finished == (frozenset() if found.is_drained else frozenset(finished))


def test_names_the_files_of_the_state() -> None:
    assert RECORD.files() == {"state/1-0/a", "b"}


def test_wakes_up_when_the_first_subtask_wants_to() -> None:
    def record(*times: int | None) -> EpochRecord:
        return EpochRecord(
            1, progress={(0, index): {"next_wake_up": at} for index, at in enumerate(times)}
        )

    assert record(None, 9, 4, None).next_wake_up() == 4
    assert record(None).next_wake_up() is None
    assert record().next_wake_up() is None
