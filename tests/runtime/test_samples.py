from __future__ import annotations

from penstock.runtime.samples import Samples


class Strange:
    def __repr__(self) -> str:
        raise ValueError("not shown")


def test_a_few_a_second_are_kept() -> None:
    now = [1.0]
    samples = Samples(clock=lambda: now[0])
    for number in range(100):
        now[0] = 1.0 + number / 50
        samples.failed(number, "ValueError: no")
    assert [sample.record for sample in samples.take()] == ["0", "1", "2", "50", "51", "52"]


def test_the_last_ten_of_a_long_epoch_are_kept() -> None:
    now = [0.0]
    samples = Samples(clock=lambda: now[0])
    for number in range(50):
        now[0] = 2.0 * number
        samples.late(number, 5)
    assert [sample.record for sample in samples.take()] == [str(n) for n in range(40, 50)]


def test_long_records_and_reasons_are_cut_and_have_one_line() -> None:
    samples = Samples(clock=lambda: 1.0)
    samples.failed("x" * 1000, "first\nsecond")
    (found,) = samples.take()
    assert len(found.record) == 200
    assert found.reason == "first second"


def test_a_record_that_cannot_be_shown_does_no_harm() -> None:
    samples = Samples(clock=lambda: 1.0)
    samples.failed(Strange(), "no")
    (found,) = samples.take()
    assert found.record == "<a Strange whose repr raised ValueError>"
