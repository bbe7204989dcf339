"""The settings of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from penstock.common.configuration.config_option import ConfigOption
from penstock.common.configuration.options import OPTIONS_BY_EVERY_KEY, STRICT
from penstock.common.configuration.remarks import check_key
from penstock.common.configuration.secrets import shown_setting
from penstock.common.configuration.yaml_text import yaml_bytes, yaml_list
from penstock.errors import InvalidConfigurationValueError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Configuration"]

T = TypeVar("T")
_TYPES: Final = (bool, int, float, bytes)
KeySet: TypeAlias = set[str]  # inside of the class below, set is a method


class Configuration:
    """Settings by key. The keys are Flink's, and a few of penstock's own; see `options`.

    A value keeps the type it was set with, and may be read as any type that its text allows. What
    changes something here is checked when it is set. A key of Flink that changes nothing here is
    accepted; the log says so once, with what does its work, if its value is not the default. Any
    other key is the user's own. One that is nearly a known one is taken for a typing mistake: the
    log has a warning, and with `configuration.strict` it is an error.

    Two configurations are equal if they have the same keys with equal values of the same types. All
    methods that set something return the configuration. Printed, it does not show passwords and
    other secrets.

    Args:
        other: A configuration whose settings are copied.

    Raises:
        UnknownConfigurationKeyError: On setting a key that seems to be a typing mistake, with
            `configuration.strict`.
        InvalidConfigurationValueError: On setting a value that the key cannot have, and on reading
            one as a type that it is not of.

    Example:
        >>> configuration = Configuration().set_integer("parallelism.default", 4)
        >>> configuration.get_string("parallelism.default", "1")
        '4'
        >>> configuration.set_string("shop.country", "CH").get_string("shop.country", "")
        'CH'
        >>> configuration.set_boolean("configuration.strict", True).set_string("paralelism.default", "4")
        Traceback (most recent call last):
        ...
        penstock.errors.UnknownConfigurationKeyError: There is no configuration key 'paralelism.default'.
        <BLANKLINE>
        Hint: Did you mean 'parallelism.default'? If the key is your own, set configuration.strict to false.
    """

    def __init__(self, other: Configuration | None = None) -> None:
        self._values: dict[str, Any] = {}
        if other is not None:
            other.add_all_to_dict(self._values)

    @classmethod
    def from_dict(cls, map: Mapping[str, Any]) -> Configuration:
        """Make a configuration out of a dict.

        Args:
            map: Texts by key. Numbers, booleans and bytes are kept as such.

        Returns:
            A new configuration.

        Raises:
            UnknownConfigurationKeyError: If a key seems to be a typing mistake, with `configuration.strict`.
            InvalidConfigurationValueError: If a key cannot have its value.

        Example:
            >>> Configuration.from_dict({"parallelism.default": "4"}).get_integer("parallelism.default", 1)
            4
        """
        configuration = cls()
        for key, value in map.items():
            if isinstance(value, _TYPES):
                configuration._put(key, value)
            else:
                configuration.set_string(key, value)
        return configuration

    @staticmethod
    def parse_list_value(value: str | None) -> list[Any]:
        """Read a list that is written in one text.

        Args:
            value: Items with `;` between them, or a list in YAML: `[a, b]`, or a line that begins with
                `- ` for each item. None and an empty text have no items.

        Returns:
            The items. Those in a list of YAML that are numbers, `true`, `false` or `null`, without quotes,
            are no texts.

        Raises:
            InvalidConfigurationValueError: If a bracket or a quote is not closed.

        Example:
            >>> Configuration.parse_list_value("a.jar;b.jar"), Configuration.parse_list_value("[a.jar, 2]")
            (['a.jar', 'b.jar'], ['a.jar', 2])
        """
        if not value:
            return []
        try:
            return yaml_list(value)
        except ValueError:
            raise InvalidConfigurationValueError(
                f"{value!r} is no list.", hint="Give a list such as 'a;b' or '[a, b]'."
            ) from None

    def get(self, option: ConfigOption[T]) -> T:
        """Read the value of an option.

        Args:
            option: One of `penstock.common.options`.

        Returns:
            The value, of the option's type; its default if the key is not set.

        Raises:
            InvalidConfigurationValueError: If the text of the value cannot be read.

        Example:
            >>> from penstock.common.options import AUTO_WATERMARK_INTERVAL
            >>> Configuration().get(AUTO_WATERMARK_INTERVAL)
            Duration.of_millis(200)
        """
        for key in option.keys:
            if key in self._values:
                return option.parse(_text(self._values[key]))
        return option.default

    def set(self, option: ConfigOption[T], value: T) -> Configuration:
        """Set the value of an option.

        Args:
            option: One of `penstock.common.options`.
            value: The value, of the option's type; None removes the setting.

        Returns:
            This configuration.

        Raises:
            InvalidConfigurationValueError: If the option cannot have this value.

        Example:
            >>> from penstock.common.options import PARALLELISM
            >>> Configuration().set(PARALLELISM, 4).to_dict()
            {'parallelism.default': '4'}
        """
        if value is None:
            for key in option.keys:
                self.remove_config(key)
            return self
        if isinstance(value, dict):
            return self._put(option.key, ",".join(f"{key}:{item}" for key, item in value.items()))
        if isinstance(value, list):
            return self._put(option.key, ";".join(map(str, value)))
        return self._put(option.key, value if isinstance(value, _TYPES) else str(value))

    def get_string(self, key: str, default_value: str) -> str:
        """Read a value as text.

        Args:
            key: The key.
            default_value: What to return if the key is not set.

        Returns:
            The value, or the default.
        """
        return _text(self._values[key]) if key in self._values else default_value

    def set_string(self, key: str, value: str) -> Configuration:
        """Set a value.

        Args:
            key: The key.
            value: The value.

        Returns:
            This configuration.

        Raises:
            UnknownConfigurationKeyError: If the key seems to be a typing mistake, with `configuration.strict`.
            InvalidConfigurationValueError: If it cannot have this value.
        """
        if value is None:
            raise InvalidConfigurationValueError(
                f"The configuration key {key!r} was set to None.",
                hint="Give a text; remove_config() takes a setting away.",
            )
        return self._put(key, str(value))

    def get_integer(self, key: str, default_value: int) -> int:
        """Read a value as a whole number.

        Args:
            key: The key.
            default_value: What to return if the key is not set.

        Returns:
            The value, or the default.

        Raises:
            InvalidConfigurationValueError: If the value is no whole number.
        """
        return self.get(ConfigOption(key, int, default_value, ""))

    def set_integer(self, key: str, value: int) -> Configuration:
        """Set a value to a whole number; of a duration, in milliseconds.

        Args:
            key: The key.
            value: The value.

        Returns:
            This configuration.

        Raises:
            UnknownConfigurationKeyError: If the key seems to be a typing mistake, with `configuration.strict`.
            InvalidConfigurationValueError: If it cannot have this value.
        """
        return self._put(key, value)

    def get_float(self, key: str, default_value: float) -> float:
        """Read a value as a number.

        Args:
            key: The key.
            default_value: What to return if the key is not set.

        Returns:
            The value, or the default.

        Raises:
            InvalidConfigurationValueError: If the value is no number.
        """
        return self.get(ConfigOption(key, float, default_value, ""))

    def set_float(self, key: str, value: float) -> Configuration:
        """Set a value to a number.

        Args:
            key: The key.
            value: The value.

        Returns:
            This configuration.

        Raises:
            UnknownConfigurationKeyError: If the key seems to be a typing mistake, with `configuration.strict`.
            InvalidConfigurationValueError: If it cannot have this value.
        """
        return self._put(key, float(value))

    def get_boolean(self, key: str, default_value: bool) -> bool:
        """Read a value as true or false.

        Args:
            key: The key.
            default_value: What to return if the key is not set.

        Returns:
            The value, or the default.

        Raises:
            InvalidConfigurationValueError: If the value is neither.
        """
        return self.get(ConfigOption(key, bool, default_value, ""))

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Set a value to true or false.

        Args:
            key: The key.
            value: The value.

        Returns:
            This configuration.

        Raises:
            UnknownConfigurationKeyError: If the key seems to be a typing mistake, with `configuration.strict`.
            InvalidConfigurationValueError: If it cannot have this value.
        """
        return self._put(key, bool(value))

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        """Read a value as bytes.

        Args:
            key: The key.
            default_value: What to return if the key is not set.

        Returns:
            The value, or a copy of the default.

        Raises:
            InvalidConfigurationValueError: If the value is not what `set_bytearray` wrote.
        """
        return bytearray(self.get(ConfigOption(key, bytes, bytes(default_value), "")))

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Set a value to bytes, whose text is that of YAML, in base 64.

        Args:
            key: The key.
            value: The value.

        Returns:
            This configuration.

        Raises:
            UnknownConfigurationKeyError: If the key seems to be a typing mistake, with `configuration.strict`.
            InvalidConfigurationValueError: If it cannot have this value.
        """
        return self._put(key, bytes(value))

    def key_set(self) -> KeySet:
        """Return the keys that are set.

        Returns:
            A new set.
        """
        return set(self._values)

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Add all settings to a dict, each with the type that it was set with.

        Args:
            target_dict: The dict to add them to.

        Example:
            >>> settings = {}
            >>> Configuration().set_integer("shop.items", 3).add_all_to_dict(settings)
            >>> settings
            {'shop.items': 3}
        """
        target_dict.update(self._values)

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Add all settings of another configuration to this one.

        Args:
            other: The other configuration.
            prefix: What to put before each of its keys.

        Returns:
            This configuration.

        Raises:
            UnknownConfigurationKeyError: If a key with the prefix seems to be a typing mistake, with
                `configuration.strict`.
            InvalidConfigurationValueError: If it cannot have the value.

        Example:
            >>> mine = Configuration().set_string("spark.app.id", "7")
            >>> Configuration().add_all(mine, "metrics.").key_set()
            {'metrics.spark.app.id'}
        """
        for key, value in list(other._values.items()):
            self._put(f"{prefix or ''}{key}", value)
        return self

    def contains_key(self, key: str) -> bool:
        """Tell whether a key is set.

        Args:
            key: The key.

        Returns:
            Whether it is.
        """
        return key in self._values

    def to_dict(self) -> dict[str, str]:
        """Return all settings.

        Returns:
            A new dict of the values' texts by key.
        """
        return {key: _text(value) for key, value in self._values.items()}

    def remove_config(self, key: str) -> bool:
        """Remove a setting, so that its default holds.

        Args:
            key: The key.

        Returns:
            Whether it was set.
        """
        return self._values.pop(key, None) is not None

    def _put(self, key: str, value: object) -> Configuration:
        text = _text(value)
        option = OPTIONS_BY_EVERY_KEY.get(key)
        if option is not None:
            option.parse(text)
        if option is STRICT and STRICT.parse(text):
            for other in self._values:
                check_key(other, _text(self._values[other]), is_strict=True)
        check_key(key, text, is_strict=self.get(STRICT))
        self._values[key] = value
        return self

    def _typed(self) -> dict[str, tuple[type, Any]]:
        return {key: (type(value), value) for key, value in self._values.items()}

    def shown(self) -> dict[str, str]:
        """Return the settings as text, without passwords and other secrets. PyFlink has no such method.

        Returns:
            The values by key: `******` for those of keys that sound like secrets, and in place of the
            secrets that are a part of another one. The logins of addresses are left out.
        """
        return {key: shown_setting(key, text) for key, text in self.to_dict().items()}

    def __copy__(self) -> Configuration:
        return Configuration(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self._typed() == other._typed()

    def __hash__(self) -> int:
        return hash(frozenset(self._typed().items()))

    def __str__(self) -> str:
        return f"{{{', '.join(f'{key}={text}' for key, text in self.shown().items())}}}"

    def __repr__(self) -> str:
        return f"Configuration({self.shown()!r})"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return yaml_bytes(value) if isinstance(value, bytes) else str(value)
