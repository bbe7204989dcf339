"""What can be configured, and how its text is read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from penstock.common.configuration.memory_size import MemorySize
from penstock.common.configuration.yaml_text import (
    bytes_in_yaml,
    list_items,
    split_outside_quotes,
    without_quotes,
)
from penstock.common.time import Duration
from penstock.errors import InvalidConfigurationValueError, PenstockError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ConfigOption", "ConfigOptions"]

T = TypeVar("T")

_LAST_PORT: Final = 65_535
_QUALIFIED_NAME: Final = re.compile(r"[^\s.:]+(\.[^\s.:]+)+")


class Location(str):
    """The type of values that name a folder, or a place in an object store."""

    __slots__ = ()


class ClassNames(dict[str, str]):
    """The type of values that give classes other names: qualified names by qualified names."""


class Ports(str):
    """The type of values that name ports: numbers and ranges, as "8081-8090,9000".

    Example:
        >>> Ports("9000,8081-8083").numbers()
        [9000, 8081, 8082, 8083]
    """

    __slots__ = ()

    def numbers(self) -> list[int]:
        """Return the ports, in the order in which they are to be tried.

        Raises:
            ValueError: If it names none.
        """
        found: list[int] = []
        for part in self.split(","):
            first, _, last = (text.strip() for text in part.partition("-"))
            lowest, highest = int(first), int(last or first)
            if not 0 <= lowest <= highest <= _LAST_PORT:
                raise ValueError(self)
            found += range(lowest, highest + 1)
        return found


class ConfigOption(Generic[T]):
    """A key that can be configured, with the type of its value and its default.

    Args:
        key: The key.
        type: `str`, `int`, `float`, `bool`, `Duration`, `MemorySize`, `bytes` for YAML's binary texts,
            `Location` for folders and places in object stores, or
            `list` for texts such as `a;b` or `[a, b]`, `dict` for texts such as `a:1,b:2` or
            `{a: 1, b: 2}`, `ClassNames` for such with qualified names, `Ports` for ports and ranges of them.
        default: The value where the key is not set; None if there is none.
        description: What the value changes.
        choices: The only values that there are, if not every value of the type is one. They are
            read without regard to case, and to whether words are joined by `-` or `_`, or not at all.
        synonyms: Other texts that stand for one of them.
        minimum: The least value; of a duration, in milliseconds, of an amount of memory, in bytes.
        maximum: The greatest value; of a duration, in milliseconds, of an amount of memory, in bytes.
        fallback_keys: Older keys that say the same, read if the key is not set.

    Example:
        >>> ConfigOption("a.delay", Duration, None, "How long to wait.").parse("10 s")
        Duration.of_seconds(10)
    """

    def __init__(
        self,
        key: str,
        type: type[Any],
        default: T,
        description: str,
        *,
        choices: tuple[str, ...] = (),
        synonyms: dict[str, str] | None = None,
        minimum: float | None = None,
        maximum: float | None = None,
        fallback_keys: tuple[str, ...] = (),
    ) -> None:
        self.key = key
        self.type = type
        self.default = default
        self.description = description
        self.choices = choices
        self.synonyms = synonyms or {}
        self.minimum = minimum
        self.maximum = maximum
        self.keys = (key, *fallback_keys)

    def parse(self, text: str) -> T:
        """Read a value.

        Args:
            text: The text of the value.

        Returns:
            The value.

        Raises:
            InvalidConfigurationValueError: If the text is no value of this option.

        Example:
            >>> ConfigOption("a.port", int, 80, "The port.").parse("8081")
            8081
        """
        try:
            value = _PARSERS[self.type](text)
        except (ValueError, PenstockError):
            raise self._invalid(text) from None
        if self.choices:
            meant = {**dict(zip(self.choices, self.choices, strict=True)), **self.synonyms}
            by_text = {_normalized(text): choice for text, choice in meant.items()}
            value = by_text.get(_normalized(value))
        if value is None or not self._is_within_bounds(value):
            raise self._invalid(text)
        return cast("T", value)

    def _is_within_bounds(self, value: Any) -> bool:
        if self.minimum is None and self.maximum is None:
            return True
        size = value
        if isinstance(value, Duration):
            size = value.to_millis()
        elif isinstance(value, MemorySize):
            size = value.get_bytes()
        at_least = self.minimum is None or size >= self.minimum
        return at_least and (self.maximum is None or size <= self.maximum)

    def _invalid(self, text: str) -> InvalidConfigurationValueError:
        if self.choices:
            expected = f"one of {', '.join(self.choices)}"
        else:
            expected = _EXPECTATIONS[self.type]
        unit = {Duration: " ms", MemorySize: " bytes"}.get(self.type, "")
        if self.minimum is not None:
            expected += f", at least {self.minimum}{unit}"
        if self.maximum is not None:
            expected += f", at most {self.maximum}{unit}"
        return InvalidConfigurationValueError(
            f"{text!r} is no value of the configuration key {self.key!r}.",
            hint=f"Give {expected}.",
        )

    def __repr__(self) -> str:
        return f"ConfigOption({self.key!r}, default={self.default!r})"


class ConfigOptions:
    """Makes options of your own; `Configuration.get` reads one, and `Configuration.set` sets it.

    Example:
        >>> from penstock.common import ConfigOptions, Configuration
        >>> items = ConfigOptions.key("shop.items").int_type().default_value(10)
        >>> Configuration().get(items), Configuration().set_string("shop.items", "3").get(items)
        (10, 3)
    """

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        """Begin an option.

        Args:
            key: Its key.

        Returns:
            What its type is asked of.
        """
        return ConfigOptions.OptionBuilder(key)

    class OptionBuilder:
        """Gives an option its type.

        Args:
            key: The option's key.
        """

        def __init__(self, key: str) -> None:
            self._key = key

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            """Let its values be true or false."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, bool)

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """Let its values be whole numbers of 32 bits, from -2,147,483,648 to 2,147,483,647."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, int, bits=32)

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """Let its values be whole numbers of 64 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, int, bits=64)

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """Let its values be numbers. They are not rounded to 32 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, float)

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """Let its values be numbers."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, float)

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            """Let its values be texts."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, str)

    class TypedConfigOptionBuilder(Generic[T]):
        """Gives an option its default.

        Args:
            key: The option's key.
            type: The type of its values.
            bits: How many bits a whole number has.
        """

        def __init__(self, key: str, type: type[Any], *, bits: int | None = None) -> None:
            self._key = key
            self._type = type
            self._least = None if bits is None else -(1 << (bits - 1))

        def default_value(self, value: T) -> ConfigOption[T]:
            """Make the option.

            Args:
                value: The value where the key is not set.

            Returns:
                The option.

            Raises:
                InvalidConfigurationValueError: If the default is not of the option's type.
            """
            option = cast("ConfigOption[T]", self.no_default_value())
            option.default = option.parse(str(value))
            return option

        def no_default_value(self) -> ConfigOption[T | None]:
            """Make the option, without a default: where the key is not set, its value is None.

            Returns:
                The option.
            """
            most = None if self._least is None else -self._least - 1
            return ConfigOption(self._key, self._type, None, "", minimum=self._least, maximum=most)


def _normalized(text: str) -> str:
    return text.strip().lower().replace("-", "").replace("_", "")


def _without_underscores(text: str) -> str:
    if "_" in text:  # which Python would read over
        raise ValueError(text)
    return text


def _parse_int(text: str) -> int:
    return int(_without_underscores(text))


def _parse_float(text: str) -> float:
    return float(_without_underscores(text))


def _parse_bool(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.strip().lower())


def _parse_location(text: str) -> str:
    if not text.strip() or text.startswith("~"):
        raise ValueError(text)
    return text


def _parse_list(text: str) -> list[str]:
    return [without_quotes(item) for item in list_items(text)]


def _parse_map(text: str) -> dict[str, str]:
    text = text.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    pairs = [entry.split(":", 1) for entry in split_outside_quotes(text.replace("\n", ","), ",")]
    return {without_quotes(key.strip()): without_quotes(value.strip()) for key, value in pairs}


def _parse_ports(text: str) -> Ports:
    ports = Ports(_without_underscores(text))
    ports.numbers()
    return ports


def _parse_class_names(text: str) -> ClassNames:
    names = ClassNames(_parse_map(text))
    for name in (*names, *names.values()):
        if _QUALIFIED_NAME.fullmatch(name) is None:
            raise ValueError(name)
    return names


_PARSERS: Final[dict[type, Callable[[str], Any]]] = {
    str: str,
    Location: _parse_location,
    int: _parse_int,
    float: _parse_float,
    bool: _parse_bool,
    bytes: bytes_in_yaml,
    Duration: Duration.of,
    MemorySize: MemorySize.parse,
    list: _parse_list,
    dict: _parse_map,
    ClassNames: _parse_class_names,
    Ports: _parse_ports,
}
_EXPECTATIONS: Final[dict[type, str]] = {
    str: "a text",
    Location: "the whole path of a folder, without ~, or a URL; leave the key out if there is none",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    bytes: "bytes as YAML writes them, such as '!!binary AQID'",
    Duration: "a duration such as '10 s', '200 ms' or '5 min'",
    MemorySize: "an amount of memory such as '512 mb' or '2 gb'",
    list: "a list such as 'a;b' or '[a, b]'",
    dict: "pairs such as 'a:1,b:2'",
    Ports: "ports such as '8081', '8081-8090' or '8081,9000-9010'",
    ClassNames: "pairs of qualified names such as 'shop.Order:shop.orders.Order'",
}
