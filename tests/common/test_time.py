from __future__ import annotations

import pickle
import re
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.time import Duration, Instant, Time
from penstock.errors import InvalidDurationError

NANOS = {"d": 86_400 * 10**9, "h": 3_600 * 10**9, "min": 60 * 10**9, "s": 10**9, "ms": 10**6}
SPELLINGS = {
    "d": ["d", "day", "days", "D"],
    "h": ["h", "hour", "hours"],
    "min": ["m", "min", "minute", "minutes", "Min"],
    "s": ["s", "sec", "second", "seconds"],
    "ms": ["ms", "milli", "millis", "millisecond", "milliseconds", ""],
}
ALL_UNITS = [
    *(name for names in SPELLINGS.values() for name in names),
    *("us", "\u00b5s", "\u03bcs", "micro", "micros", "microsecond", "microseconds"),
    *("ns", "nano", "nanos", "nanosecond", "nanoseconds", "secs"),
]
spaces = st.sampled_from(["", " ", "  ", "\t"])


class TestDuration:
    @pytest.mark.parametrize(
        ("duration", "millis"),
        [
            (Duration.of_days(2), 172_800_000),
            (Duration.of_hours(2), 7_200_000),
            (Duration.of_minutes(2), 120_000),
            (Duration.of_seconds(2), 2_000),
            (Duration.of_millis(2), 2),
            (Duration.of_nanos(2_999_999), 2),
            (Duration.of_millis(-1), -1),
        ],
    )
    def test_has_a_length_in_milliseconds(self, duration: Duration, millis: int) -> None:
        assert duration.to_millis() == millis

    @given(st.integers(), st.integers())
    def test_compares_by_length(self, one: int, other: int) -> None:
        left, right = Duration.of_nanos(one), Duration.of_nanos(other)

        assert (left == right) == (one == other)
        assert (left < right) == (one < other)
        assert (left <= right) == (one <= other)
        assert (hash(left) == hash(right)) or one != other

    def test_is_no_number(self) -> None:
        assert Duration.of_nanos(5) != 5

    @given(st.integers())
    def test_can_be_read_back_from_its_text(self, nanos: int) -> None:
        duration = Duration.of_nanos(nanos)

        assert Duration.of(str(duration)) == duration
        assert eval(repr(duration), {"Duration": Duration}) == duration
        assert pickle.loads(pickle.dumps(duration)) == duration

    @given(
        st.integers(min_value=0, max_value=10**9),
        st.sampled_from([(unit, name) for unit, names in SPELLINGS.items() for name in names]),
        spaces,
        spaces,
        spaces,
    )
    def test_is_read_from_a_number_and_a_unit(
        self, number: int, unit: tuple[str, str], before: str, between: str, after: str
    ) -> None:
        text = f"{before}{number}{between}{unit[1]}{after}"

        assert Duration.of(text) == Duration.of_nanos(number * NANOS[unit[0]])

    @pytest.mark.parametrize("text", ["7us", "7 µs", "7 \u03bcs", "7 micros", "7 microseconds"])
    def test_reads_microseconds(self, text: str) -> None:
        assert Duration.of(text) == Duration.of_nanos(7_000)

    @pytest.mark.parametrize("text", ["7ns", "7 nanos"])
    def test_reads_nanoseconds(self, text: str) -> None:
        assert Duration.of(text) == Duration.of_nanos(7)

    @pytest.mark.parametrize("text", ["", "s", "1.5 s", "10 x", "10 s 5 ms", "PT", "ten s"])
    def test_refuses_other_texts(self, text: str) -> None:
        with pytest.raises(InvalidDurationError, match=r"Hint: Write a whole number and a unit"):
            Duration.of(text)

    @given(st.text() | st.from_regex(r"\s*-?[0-9]{1,3} ?[a-z\u00b5]{0,12}", fullmatch=True))
    def test_reads_a_text_or_refuses_it(self, text: str) -> None:
        units = "|".join(ALL_UNITS).lower()
        if re.fullmatch(rf"\s*-?[0-9]+\s*({units})\s*", text.lower()):
            assert isinstance(Duration.of(text), Duration)
        else:
            with pytest.raises(InvalidDurationError, match=re.escape(repr(text))):
                Duration.of(text)

    @given(st.timedeltas())
    def test_is_made_of_a_timedelta(self, delta: timedelta) -> None:
        assert Duration.of(delta).to_millis() == delta // timedelta(milliseconds=1)

    @pytest.mark.parametrize(
        ("text", "nanos"),
        [
            ("PT10S", 10 * 10**9),
            (" pt1m30s ", 90 * 10**9),
            ("P1DT2H", 26 * 3_600 * 10**9),
            ("PT0.5S", 5 * 10**8),
            ("PT1.000000001S", 10**9 + 1),
        ],
    )
    def test_is_read_as_iso_8601_writes_it(self, text: str, nanos: int) -> None:
        assert Duration.of(text) == Duration.of_nanos(nanos)

    def test_is_made_of_a_time_a_duration_and_a_number_of_milliseconds(self) -> None:
        duration = Duration.of_seconds(5)

        assert Duration.of(duration) is duration
        assert Duration.of(Time.seconds(5)) == Duration.of(5_000) == duration

    @pytest.mark.parametrize("number", [1.5, True, None, [1]])
    def test_is_made_of_whole_numbers_only(self, number: Any) -> None:
        for make in (Duration, Duration.of, Duration.of_millis, Duration.of_days):
            with pytest.raises(InvalidDurationError, match="whole numbers"):
                make(number)


class TestInstant:
    @given(st.integers(min_value=-(10**15), max_value=10**15))
    def test_keeps_milliseconds(self, millis: int) -> None:
        assert Instant.of_epoch_milli(millis).to_epoch_milli() == millis

    @given(st.integers(-(10**6), 10**6), st.integers(-(10**12), 10**12))
    def test_carries_nanoseconds_beyond_a_second(self, seconds: int, nanos: int) -> None:
        instant = Instant(seconds, nanos)

        assert 0 <= instant.nanos < 10**9
        assert instant.seconds * 10**9 + instant.nanos == seconds * 10**9 + nanos

    def test_rounds_milliseconds_down(self) -> None:
        assert Instant(0, 1_999_999).to_epoch_milli() == 1
        assert Instant(-1, 999_999_999).to_epoch_milli() == -1

    def test_compares_by_time(self) -> None:
        early, late = Instant(1, 5), Instant(2, 0)

        assert early < late
        assert early <= Instant(1, 5) == early
        assert not late <= early
        assert hash(early) == hash(Instant(0, 1_000_000_005))
        assert early != 1
        assert pickle.loads(pickle.dumps(early)) == early

    def test_shows_its_parts(self) -> None:
        assert repr(Instant.of_epoch_milli(-1)) == "Instant<-1, 999000000>"


class TestTime:
    @pytest.mark.parametrize(
        ("time", "millis"),
        [
            (Time.days(2), 172_800_000),
            (Time.hours(2), 7_200_000),
            (Time.minutes(2), 120_000),
            (Time.seconds(2), 2_000),
            (Time.milliseconds(2), 2),
        ],
    )
    def test_has_a_length_in_milliseconds(self, time: Time, millis: int) -> None:
        assert time.to_milliseconds() == millis
        assert repr(time) == f"Time.milliseconds({millis})"

    def test_compares_by_length(self) -> None:
        assert Time.seconds(60) == Time.minutes(1)
        assert hash(Time.seconds(60)) == hash(Time.minutes(1))
        assert Time.seconds(1) != Time.minutes(1)
        assert Time.milliseconds(1) != 1
        assert pickle.loads(pickle.dumps(Time.seconds(1))) == Time.seconds(1)
