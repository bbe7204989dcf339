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
    RESTART_STRATEGY,
    RUNTIME_MODE,
    STRICT,
    TARGET,
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
            (TARGET, "kubernetes-application", "spark"),
            (RESTART_STRATEGY, "fixeddelay", "fixed-delay"),
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
            ("rest.bind-port", "0-999999999999"),
            ("rest.bind-port", "8090-8081"),
            ("rest.bind-port", "-1"),
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


class TestOwnKeys:
    def test_are_carried_whatever_sets_them(self) -> None:
        configuration = (
            Configuration()
            .set_string("shop.country", "CH")
            .set_integer("k2", 1)
            .set_float("k3", 1.5)
            .set_boolean("", value=True)
        )

        assert configuration.get_string("shop.country", "") == "CH"
        assert configuration.get_string("no.such.key", "default") == "default"
        assert not configuration.remove_config("no.such.key")
        assert configuration.to_dict() == {
            "shop.country": "CH",
            "k2": "1",
            "k3": "1.5",
            "": "true",
        }

    def test_that_seem_mistyped_are_refused_if_that_is_wanted(self) -> None:
        configuration = Configuration().set_boolean(STRICT.key, value=True)
        for setter, value in [
            (configuration.set_string, "1"),
            (configuration.set_integer, 1),
            (configuration.set_float, 1.0),
            (configuration.set_boolean, True),
            (configuration.set_bytearray, bytearray(b"1")),
        ]:
            with pytest.raises(UnknownConfigurationKeyError, match=r"paralelism\.default"):
                setter("paralelism.default", value)  # type: ignore[operator]
        assert configuration.key_set() == {STRICT.key}

    def test_that_seem_mistyped_are_refused_whatever_was_set_first(self) -> None:
        keys = {"paralelism.default": "4", STRICT.key: "true"}
        for items in (keys.items(), reversed(keys.items())):
            with pytest.raises(UnknownConfigurationKeyError):
                Configuration.from_dict(dict(items))

    def test_error_is_a_key_error_and_can_be_pickled(self) -> None:
        with pytest.raises(KeyError) as raised:
            Configuration().set_boolean(STRICT.key, value=True).set_string("pipeline.nam", "1")

        assert isinstance(raised.value, PenstockError)
        assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


class TestLists:
    @pytest.mark.parametrize(
        ("text", "items"),
        [
            (None, []),
            ("", []),
            ("a", ["a"]),
            ("a: b", ["a: b"]),
            ("file:///a b;c", ["file:///a b", "c"]),
            ("[]", []),
            ("[a, b]", ["a", "b"]),
            ("['a;b', \"c, d\"]", ["a;b", "c, d"]),
            ("- a\n- b", ["a", "b"]),
            ("[1, 2.5, true, null, '1']", [1, 2.5, True, None, "1"]),
        ],
    )
    def test_are_read_as_pyflink_reads_them(self, text: str | None, items: list[Any]) -> None:
        assert Configuration.parse_list_value(text) == items

    @pytest.mark.parametrize("text", ["[a", "['a]"])
    def test_that_do_not_end_are_refused(self, text: str) -> None:
        with pytest.raises(InvalidConfigurationValueError, match="is no list"):
            Configuration.parse_list_value(text)


class TestWhole:
    def test_knows_its_keys(self) -> None:
        configuration = Configuration().set_integer("parallelism.default", 4)

        assert configuration.key_set() == {"parallelism.default"}
        assert configuration.contains_key("parallelism.default")
        assert configuration.remove_config("parallelism.default")
        assert not configuration.contains_key("parallelism.default")

    def test_keeps_nothing_that_can_be_changed(self) -> None:
        items: Any = [1]
        configuration = Configuration.from_dict({"a": items})
        copy = Configuration(configuration)
        items.append(2)
        assert (configuration.to_dict(), hash(configuration)) == ({"a": "[1]"}, hash(copy))

        nothing: Any = None
        with pytest.raises(InvalidConfigurationValueError, match="'b' was set to None"):
            Configuration.from_dict({"b": nothing})

    def test_is_made_out_of_a_dict(self) -> None:
        settings = {"parallelism.default": "4", "shop.country": "CH"}

        assert Configuration.from_dict(settings).to_dict() == settings
        with pytest.raises(InvalidConfigurationValueError):
            Configuration.from_dict({"parallelism.default": "none"})

    def test_can_be_added_to_a_dict_with_its_types(self) -> None:
        target: dict[str, Any] = {"a": "1"}
        Configuration().set_string("k1", "v1").set_integer("k2", 1).set_float(
            "k3", 1.2
        ).set_boolean("k4", value=True).set_bytearray("k5", bytearray([1, 2, 3])).add_all_to_dict(
            target
        )

        assert target == {"a": "1", "k1": "v1", "k2": 1, "k3": 1.2, "k4": True, "k5": b"\1\2\3"}
        assert [type(value) for value in target.values()] == [str, str, int, float, bool, bytes]

    def test_bytes_have_the_text_that_yaml_has(self) -> None:
        configuration = Configuration().set_bytearray("a", bytearray([1, 2, 3]))

        assert configuration.get_string("a", "") == "!!binary |-\n  AQID"
        assert configuration.set_bytearray("a", bytearray()).to_dict() == {"a": '!!binary ""'}
        assert (
            Configuration.from_dict(configuration.to_dict()).get_bytearray("a", bytearray(b"x"))
            == b""
        )
        with pytest.raises(InvalidConfigurationValueError):
            Configuration().set_string("a", "AQID").get_bytearray("a", bytearray())

    def test_can_be_added_to_another(self) -> None:
        mine = Configuration().set_string(FREE, "old").set_integer("parallelism.default", 1)
        other = Configuration().set_integer("parallelism.default", 2)

        assert mine.add_all(other) is mine
        assert mine.to_dict() == {FREE: "old", "parallelism.default": "2"}

    def test_is_checked_when_added_with_a_prefix(self) -> None:
        other = Configuration().set_integer("max-parallelism", 0)

        assert Configuration().add_all(other, "my.").to_dict() == {"my.max-parallelism": "0"}
        with pytest.raises(InvalidConfigurationValueError):
            Configuration().add_all(other, "pipeline.")

    def test_can_be_added_to_itself(self) -> None:
        mine = Configuration().set_integer("a", 1)

        assert mine.add_all(mine, "b.").to_dict() == {"a": "1", "b.a": "1"}

    def test_compares_by_keys_values_and_types(self) -> None:
        number = Configuration().set_integer("parallelism.default", 4)
        text = Configuration().set_string("parallelism.default", "4")

        assert number == Configuration().set_integer("parallelism.default", 4)
        assert hash(number) == hash(Configuration().set_integer("parallelism.default", 4))
        assert number != text
        assert number != Configuration()
        assert number != {"parallelism.default": 4}
        assert Configuration().set_integer("a", 1) != Configuration().set_boolean("a", value=True)

    def test_prints_as_pyflink_does_and_hides_secrets(self) -> None:
        configuration = Configuration().set_string("k1", "v1").set_integer("k2", 1)
        configuration.set_boolean("k4", value=True).set_string("my.Password", "xyz")

        assert str(configuration) == "{k1=v1, k2=1, k4=true, my.Password=******}"
        assert "xyz" not in repr(configuration)
        assert configuration.get_string("my.Password", "") == "xyz"
        assert str(Configuration()) == "{}"

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
