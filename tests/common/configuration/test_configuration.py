from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.configuration import Configuration
from penstock.common.configuration.options import (
    AUTO_WATERMARK_INTERVAL,
    CHECKPOINT_INTERVAL,
    EXPONENTIAL_MULTIPLIER,
    GLOBAL_JOB_PARAMETERS,
    MAX_PARALLELISM,
    OBJECT_REUSE,
    PARALLELISM,
    PIPELINE_NAME,
    RUNTIME_MODE,
)
from penstock.common.time import Duration
from penstock.errors import (
    InvalidConfigurationValueError,
    PenstockError,
    UnknownConfigurationKeyError,
)

FREE = "pipeline.global-job-parameters.free"


class TestUntypedAccess:
    @given(st.text())
    def test_keeps_strings(self, value: str) -> None:
        assert Configuration().set_string(FREE, value).get_string(FREE, "default") == value

    @given(st.integers())
    def test_keeps_integers(self, value: int) -> None:
        assert Configuration().set_integer(FREE, value).get_integer(FREE, 0) == value

    @given(st.floats(allow_nan=False))
    def test_keeps_floats(self, value: float) -> None:
        assert Configuration().set_float(FREE, value).get_float(FREE, 0.0) == value

    @given(st.booleans())
    def test_keeps_booleans(self, value: bool) -> None:
        assert Configuration().set_boolean(FREE, value).get_boolean(FREE, not value) is value

    @given(st.binary())
    def test_keeps_bytes(self, value: bytes) -> None:
        configuration = Configuration().set_bytearray(FREE, bytearray(value))

        assert configuration.get_bytearray(FREE, bytearray(b"default")) == bytearray(value)

    def test_gives_the_default_for_what_is_not_set(self) -> None:
        configuration = Configuration()

        assert configuration.get_string("parallelism.default", "x") == "x"
        assert configuration.get_integer("parallelism.default", 7) == 7
        assert configuration.get_float("parallelism.default", 1.5) == 1.5
        assert configuration.get_boolean("pipeline.object-reuse", default_value=True)
        assert configuration.get_bytearray(FREE, bytearray(b"x")) == bytearray(b"x")

    def test_reads_a_value_as_whatever_type_it_can_have(self) -> None:
        configuration = Configuration().set_integer(FREE, 1)

        assert configuration.get_string(FREE, "") == "1"
        assert configuration.get_float(FREE, 0.0) == 1.0
        with pytest.raises(InvalidConfigurationValueError, match="true or false"):
            configuration.get_boolean(FREE, default_value=False)
        with pytest.raises(InvalidConfigurationValueError, match="whole number"):
            Configuration().set_string(FREE, "x").get_integer(FREE, 0)

    def test_can_be_chained(self) -> None:
        configuration = Configuration()

        assert configuration.set_string(FREE, "1").set_integer(FREE, 2) is configuration
        assert configuration.to_dict() == {FREE: "2"}


class TestOptions:
    def test_have_their_default_unless_set(self) -> None:
        configuration = Configuration()

        assert configuration.get(PARALLELISM) is None
        assert configuration.get(AUTO_WATERMARK_INTERVAL) == Duration.of_millis(200)

    @pytest.mark.parametrize(
        ("option", "text", "value"),
        [
            (PARALLELISM, "4", 4),
            (PIPELINE_NAME, "a name", "a name"),
            (OBJECT_REUSE, "FALSE", False),
            (AUTO_WATERMARK_INTERVAL, "10 s", Duration.of_seconds(10)),
            (CHECKPOINT_INTERVAL, "5 min", Duration.of_minutes(5)),
            (EXPONENTIAL_MULTIPLIER, "2", 2.0),
            (RUNTIME_MODE, "batch", "BATCH"),
            (GLOBAL_JOB_PARAMETERS, "a:1,b:2", {"a": "1", "b": "2"}),
        ],
    )
    def test_are_read_as_their_type(self, option: Any, text: str, value: object) -> None:
        configuration = Configuration().set_string(option.key, text)

        assert configuration.get(option) == value
        assert Configuration().set(option, value).get(option) == value

    def test_are_removed_by_none(self) -> None:
        configuration = Configuration().set(PARALLELISM, 4).set(PARALLELISM, None)

        assert configuration == Configuration()

    def test_of_durations_take_milliseconds(self) -> None:
        configuration = Configuration().set_integer("pipeline.auto-watermark-interval", 50)

        assert configuration.get(AUTO_WATERMARK_INTERVAL) == Duration.of_millis(50)

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("parallelism.default", "0"),
            ("parallelism.default", "four"),
            ("pipeline.max-parallelism", "32769"),
            ("execution.runtime-mode", "SOMETIMES"),
            ("pipeline.object-reuse", "maybe"),
            ("pipeline.auto-watermark-interval", "10 parsec"),
            ("rest.port", "65536"),
        ],
    )
    def test_refuse_a_value_when_it_is_set(self, key: str, value: str) -> None:
        configuration = Configuration()
        with pytest.raises(InvalidConfigurationValueError, match=key):
            configuration.set_string(key, value)

        assert configuration.to_dict() == {}

    def test_refuse_a_value_of_another_type(self) -> None:
        with pytest.raises(InvalidConfigurationValueError):
            Configuration().set_float(MAX_PARALLELISM.key, 128.5)
        with pytest.raises(InvalidConfigurationValueError):
            Configuration().set_boolean(MAX_PARALLELISM.key, value=True)


class TestUnknownKeys:
    @pytest.mark.parametrize(
        ("key", "hint"),
        [
            ("paralelism.default", "'parallelism.default'"),
            ("execution.runtime.mode", "'execution.runtime-mode'"),
            ("execution.checkpoint.interval", "'execution.checkpointing.interval'"),
            ("jobmanager.memory.process.size", "pipeline.global-job-parameters."),
            ("", "spark."),
        ],
    )
    def test_are_refused_with_a_hint(self, key: str, hint: str) -> None:
        with pytest.raises(UnknownConfigurationKeyError) as raised:
            Configuration().set_string(key, "1")

        message, _, advice = str(raised.value).partition("\n\nHint: ")
        assert message == f"There is no configuration key {key!r}."
        assert hint in advice

    def test_are_refused_by_every_setter(self) -> None:
        configuration = Configuration()
        for setter, value in [
            (configuration.set_string, "1"),
            (configuration.set_integer, 1),
            (configuration.set_float, 1.0),
            (configuration.set_boolean, True),
            (configuration.set_bytearray, bytearray(b"1")),
        ]:
            with pytest.raises(UnknownConfigurationKeyError):
                setter("no.such.key", value)  # type: ignore[operator]
        assert configuration.key_set() == set()

    def test_error_is_a_key_error_and_can_be_pickled(self) -> None:
        with pytest.raises(KeyError) as raised:
            Configuration().set_string("no.such.key", "1")

        assert isinstance(raised.value, PenstockError)
        assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)

    def test_are_accepted_where_others_read_them(self) -> None:
        for key in ["spark.sql.shuffle.partitions", "metrics.reporters", FREE]:
            assert Configuration().set_string(key, "x").get_string(key, "") == "x"

    def test_cannot_be_set_but_asked_for(self) -> None:
        configuration = Configuration()

        assert configuration.get_string("no.such.key", "default") == "default"
        assert not configuration.contains_key("no.such.key")
        assert not configuration.remove_config("no.such.key")


class TestWhole:
    def test_knows_its_keys(self) -> None:
        configuration = Configuration().set_integer("parallelism.default", 4)

        assert configuration.key_set() == {"parallelism.default"}
        assert configuration.contains_key("parallelism.default")
        assert configuration.remove_config("parallelism.default")
        assert not configuration.contains_key("parallelism.default")

    def test_can_be_added_to_a_dict(self) -> None:
        target = {"a": "1"}
        Configuration().set_boolean("pipeline.object-reuse", value=False).add_all_to_dict(target)

        assert target == {"a": "1", "pipeline.object-reuse": "false"}

    def test_can_be_added_to_another(self) -> None:
        mine = Configuration().set_string(FREE, "old").set_integer("parallelism.default", 1)
        other = Configuration().set_integer("parallelism.default", 2)

        assert mine.add_all(other) is mine
        assert mine.to_dict() == {FREE: "old", "parallelism.default": "2"}

    def test_is_checked_when_added_with_a_prefix(self) -> None:
        other = Configuration().set_integer("parallelism.default", 2)
        mine = Configuration().add_all(other, "metrics.")

        assert mine.to_dict() == {"metrics.parallelism.default": "2"}
        with pytest.raises(UnknownConfigurationKeyError):
            Configuration().add_all(other, "my.")

    def test_compares_by_keys_and_values(self) -> None:
        one = Configuration().set_integer("parallelism.default", 4)
        other = Configuration().set_string("parallelism.default", "4")

        assert one == other
        assert hash(one) == hash(other)
        assert one != Configuration()
        assert one != {"parallelism.default": "4"}
        assert repr(one) == "Configuration({'parallelism.default': '4'})"

    def test_copies_are_independent(self) -> None:
        original = Configuration().set_integer("parallelism.default", 4)
        copies = [
            Configuration(original),
            copy.copy(original),
            copy.deepcopy(original),
            pickle.loads(pickle.dumps(original)),
        ]
        assert copies == [original] * len(copies)

        for one in copies:
            one.set_integer("parallelism.default", 5)
        assert original.get_integer("parallelism.default", 0) == 4
