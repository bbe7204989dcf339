from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.datastream.connectors.kafka import KafkaRecord
from penstock.datastream.connectors.kafka.staged_records import staged, unstaged

CONTENTS = st.none() | st.binary(max_size=3)
RECORDS = st.builds(
    KafkaRecord,
    topic=st.sampled_from(["words", "a.b-c_d"]),
    value=CONTENTS,
    key=CONTENTS,
    timestamp=st.none() | st.sampled_from([0, 1, 2**63 - 1]),
    partition=st.none() | st.integers(0, 2),
    headers=st.lists(st.tuples(st.sampled_from(["h", "", "ü"]), CONTENTS), max_size=3),
)


@given(st.lists(RECORDS, min_size=1, max_size=8), st.integers(1, 3))
def test_records_come_back_as_they_were(records: list[KafkaRecord], times: int) -> None:
    records *= times
    assert list(unstaged(staged(records))) == records


def test_what_all_records_have_is_staged_once() -> None:
    records = [KafkaRecord("a long name of a topic", b"%d" % n, b"same key") for n in range(1000)]
    data = staged(records)
    assert (data.count(b"a long name"), data.count(b"same key")) == (1, 1)
    assert list(unstaged(staged(records[:1] * 3))) == records[:1] * 3
