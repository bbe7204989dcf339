"""The settings of a job."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

from penstock.common.configuration.config_option import ConfigOption
from penstock.common.configuration.options import OPEN_PREFIXES, OPTIONS, OPTIONS_BY_EVERY_KEY
from penstock.errors import UnknownConfigurationKeyError

__all__ = ["Configuration"]

T = TypeVar("T")
KeySet: TypeAlias = set[str]  # inside of the class below, set is a method


class Configuration:
    """Settings by key. The keys are Flink's, and a few of penstock's own; see `options`.

    Every value is kept as text and may be read as any type that the text allows, whichever method
    set it. A value is checked when it is set. Keys that begin with `spark.` go to Spark as they
    are; values of those that begin with `metrics.`, which have no effect, or with
    `pipeline.global-job-parameters.` are not checked.

    Two configurations are equal if they have the same keys and values. All methods that set
    something return the configuration.

    Args:
        other: A configuration whose settings are copied.

    Raises:
        UnknownConfigurationKeyError: On setting a key that there is not.
        InvalidConfigurationValueError: On setting a value that the key cannot have, and on reading
            one as a type that it is not of.

    Example:
        >>> configuration = Configuration().set_integer("parallelism.default", 4)
        >>> configuration.get_string("parallelism.default", "1")
        '4'
        >>> configuration.set_string("paralelism.default", "4")
        Traceback (most recent call last):
        ...
        penstock.errors.UnknownConfigurationKeyError: There is no configuration key 'paralelism.default'.
        <BLANKLINE>
        Hint: Did you mean 'parallelism.default'?
    """

    def __init__(self, other: Configuration | None = None) -> None:
        self._values: dict[str, str] = {} if other is None else other.to_dict()

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
        texts = (self._values[key] for key in option.keys if key in self._values)
        text = next(texts, None)
        return option.default if text is None else option.parse(text)

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
        return self._put(option.key, value)

    def get_string(self, key: str, default_value: str) -> str:
        """Read a value as text.

        Args:
            key: The key.
            default_value: What to return if the key is not set.

        Returns:
            The value, or the default.
        """
        return self._values.get(key, default_value)

    def set_string(self, key: str, value: str) -> Configuration:
        """Set a value.

        Args:
            key: The key.
            value: The value.

        Returns:
            This configuration.

        Raises:
            UnknownConfigurationKeyError: If there is no such key.
            InvalidConfigurationValueError: If it cannot have this value.
        """
        return self._put(key, value)

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
            UnknownConfigurationKeyError: If there is no such key.
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
            UnknownConfigurationKeyError: If there is no such key.
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
            UnknownConfigurationKeyError: If there is no such key.
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
        """Set a value to bytes, kept as their hexadecimal text.

        Args:
            key: The key.
            value: The value.

        Returns:
            This configuration.

        Raises:
            UnknownConfigurationKeyError: If there is no such key.
            InvalidConfigurationValueError: If it cannot have this value.
        """
        return self._put(key, value.hex())

    def key_set(self) -> KeySet:
        """Return the keys that are set.

        Returns:
            A new set.
        """
        return set(self._values)

    def add_all_to_dict(self, target_dict: dict[str, str]) -> None:
        """Add all settings to a dict.

        Args:
            target_dict: The dict to add them to.
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
            UnknownConfigurationKeyError: If a key with the prefix is none.
            InvalidConfigurationValueError: If it cannot have the value.

        Example:
            >>> mine = Configuration().set_string("spark.app.id", "7")
            >>> Configuration().add_all(mine, "metrics.").key_set()
            {'metrics.spark.app.id'}
        """
        for key, value in other.to_dict().items():
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
        return dict(self._values)

    def remove_config(self, key: str) -> bool:
        """Remove a setting, so that its default holds.

        Args:
            key: The key.

        Returns:
            Whether it was set.
        """
        return self._values.pop(key, None) is not None

    def _put(self, key: str, value: object) -> Configuration:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        option = OPTIONS_BY_EVERY_KEY.get(key)
        if option is not None:
            option.parse(text)
        elif not key.startswith(OPEN_PREFIXES):
            raise _unknown_key(key)
        self._values[key] = text
        return self

    def __copy__(self) -> Configuration:
        return Configuration(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self._values == other._values

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return f"Configuration({self._values!r})"


def _unknown_key(key: str) -> UnknownConfigurationKeyError:
    import difflib

    similar = difflib.get_close_matches(key, OPTIONS, n=3)
    if similar:
        hint = f"Did you mean {' or '.join(map(repr, similar))}?"
    else:
        hint = (
            "Your own settings begin with 'pipeline.global-job-parameters.', Spark's with 'spark.'."
        )
    return UnknownConfigurationKeyError(f"There is no configuration key {key!r}.", hint=hint)
