from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.configuration import Configuration
from penstock.common.configuration.config_option import (
    ClassNames,
    ConfigOption,
    ConfigOptions,
    Location,
)
from penstock.common.time import Duration
from penstock.errors import InvalidConfigurationValueError

NAMES = "pairs of qualified names such as 'shop.Order:shop.orders.Order'"
PLACE = "the whole path of a folder, without ~, or a URL; leave the key out if there is none"


def option(type: type[Any], **limits: Any) -> ConfigOption[Any]:
    return ConfigOption("the.key", type, None, "", **limits)


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (str, " any text ", " any text "),
        (Location, "jobs/~a", "jobs/~a"),
        (Location, "s3://bucket/a", "s3://bucket/a"),
        (int, "-5", -5),
        (float, "1.5", 1.5),
        (bool, "true", True),
        (bool, " FALSE ", False),
        (bytes, "!!binary |-\n  AP8=", b"\x00\xff"),
        (bytes, "!!binary AP8=", b"\x00\xff"),
        (Duration, "5 min", Duration.of_minutes(5)),
        (Duration, "200", Duration.of_millis(200)),
        (dict, "a:1, b: x:y ", {"a": "1", "b": "x:y"}),
        (dict, "", {}),
        (dict, "{a: 1, b: 'c, d'}", {"a": "1", "b": "c, d"}),
        (dict, "a: 1\nb: 2", {"a": "1", "b": "2"}),
        (list, "a; b", ["a", "b"]),
        (list, "'a;b';c", ["a;b", "c"]),
        (list, "['a;b', c, 1]", ["a;b", "c", "1"]),
        (list, "- a\n- b", ["a", "b"]),
        (list, "", []),
        (ClassNames, " a.B:a.b.C, __main__.D:a.D,", {"a.B": "a.b.C", "__main__.D": "a.D"}),
    ],
)
def test_reads_texts(type: type[Any], text: str, value: Any) -> None:
    assert option(type).parse(text) == value


@pytest.mark.parametrize(
    ("type", "text", "hint"),
    [
        *((Location, text, PLACE) for text in ("", " ", "\t", "~", "~/jobs", "~ann/jobs")),
        (int, "four", "a whole number"),
        (int, "1.5", "a whole number"),
        (int, "1_000", "a whole number"),
        (float, "1_0.5", "a number"),
        (float, "x", "a number"),
        (bool, "yes", "true or false"),
        (bool, "1", "true or false"),
        (bytes, "0g", "bytes as YAML writes them, such as '!!binary AQID'"),
        (Duration, "soon", "a duration such as '10 s', '200 ms' or '5 min'"),
        (dict, "a", "pairs such as 'a:1,b:2'"),
        *((ClassNames, text, NAMES) for text in ("a.B", "a.B:", "a.B:C", "B:a.C", "a.B:b.C:c.D")),
        *((ClassNames, text, NAMES) for text in ("a.B:b C.D", "a.B:b..C", ".B:a.C")),
    ],
)
def test_refuses_texts_of_another_type(type: type[Any], text: str, hint: str) -> None:
    with pytest.raises(InvalidConfigurationValueError) as raised:
        option(type).parse(text)

    assert str(raised.value) == (
        f"{text!r} is no value of the configuration key 'the.key'.\n\nHint: Give {hint}."
    )


class TestChoices:
    MODE = option(str, choices=("EXACTLY_ONCE", "fixed-delay"))

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("EXACTLY_ONCE", "EXACTLY_ONCE"),
            ("exactly-once", "EXACTLY_ONCE"),
            (" Exactly_Once ", "EXACTLY_ONCE"),
            ("FIXED_DELAY", "fixed-delay"),
        ],
    )
    def test_are_read_without_regard_to_case(self, text: str, value: str) -> None:
        assert self.MODE.parse(text) == value

    def test_are_all_there_is(self) -> None:
        with pytest.raises(
            InvalidConfigurationValueError, match=r"Give one of EXACTLY_ONCE, fixed-delay\."
        ):
            self.MODE.parse("sometimes")


class TestLimits:
    @given(st.integers())
    def test_hold_for_numbers(self, number: int) -> None:
        limited = option(int, minimum=1, maximum=10)
        if 1 <= number <= 10:
            assert limited.parse(str(number)) == number
        else:
            with pytest.raises(InvalidConfigurationValueError, match="at least 1, at most 10"):
                limited.parse(str(number))

    def test_hold_for_durations_in_milliseconds(self) -> None:
        limited = option(Duration, minimum=1)

        assert limited.parse("1 ms") == Duration.of_millis(1)
        with pytest.raises(InvalidConfigurationValueError, match="at least 1 ms"):
            limited.parse("999 us")
        with pytest.raises(InvalidConfigurationValueError):
            limited.parse("-1 s")

    def test_no_number_is_within_no_limits(self) -> None:
        with pytest.raises(InvalidConfigurationValueError):
            option(float, minimum=0).parse("nan")


def test_shows_key_and_default() -> None:
    assert repr(ConfigOption("a.b", int, 5, "")) == "ConfigOption('a.b', default=5)"


@pytest.mark.parametrize(
    ("option", "text", "value", "wrong"),
    [
        (ConfigOptions.key("a").boolean_type().default_value(value=True), "false", False, "no"),
        (ConfigOptions.key("a").int_type().default_value(3), "-4", -4, "2147483648"),
        (ConfigOptions.key("a").long_type().default_value(3), "2147483648", 1 << 31, str(1 << 63)),
        (ConfigOptions.key("a").float_type().default_value(1), "0.5", 0.5, "x"),
        (ConfigOptions.key("a").double_type().default_value(1.5), "1e3", 1000.0, "x"),
        (ConfigOptions.key("a").string_type().default_value("x"), "y", "y", None),
    ],
)
def test_options_of_ones_own(
    option: ConfigOption[Any], text: str, value: object, wrong: str | None
) -> None:
    assert Configuration().get(option) == option.default is not None
    assert Configuration().set_string("a", text).get(option) == value
    if wrong is not None:
        with pytest.raises(InvalidConfigurationValueError, match="'a'"):
            Configuration().set_string("a", wrong).get(option)


def test_an_option_of_ones_own_may_be_without_default() -> None:
    option = ConfigOptions.key("a").int_type().no_default_value()

    assert Configuration().get(option) is None
    assert Configuration().set(option, 5).get(option) == 5
    with pytest.raises(InvalidConfigurationValueError):
        ConfigOptions.key("a").int_type().default_value("x")  # type: ignore[arg-type]


def test_a_choice_is_read_by_every_text_that_stands_for_it() -> None:
    one = option(str, choices=("fixed-delay", "none"), synonyms={"org.x.Fixed": "fixed-delay"})

    for text in ("fixed-delay", "FIXED_DELAY", "fixeddelay", "org.x.Fixed"):
        assert one.parse(text) == "fixed-delay"
    with pytest.raises(InvalidConfigurationValueError, match="Give one of fixed-delay, none"):
        one.parse("fixed")
