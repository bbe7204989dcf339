"""Flink's keys that change nothing here, read from `flink_keys.txt` when the first is asked for."""

from __future__ import annotations

import functools
import re
from typing import Any, Final, NamedTuple

from penstock.common.configuration.config_option import ConfigOption
from penstock.common.configuration.memory_size import MemorySize
from penstock.common.time import Duration
from penstock.errors import InvalidConfigurationValueError

__all__ = ["FlinkKey", "FlinkKeys", "flink_keys"]

_PLACEHOLDER: Final = re.compile("<[a-z]+>")
_TYPES: Final[dict[str, type]] = {
    "bool": bool,
    "int": int,
    "float": float,
    "duration": Duration,
    "memory": MemorySize,
    "list": list,
    "map": dict,
}


class FlinkKey(NamedTuple):
    """A key of Flink that changes nothing here.

    Attributes:
        key: The key, in which a part in angle brackets stands for any text.
        type: What its values are: `bool`, `int`, `float`, `duration`, `memory`, `list`, `map`, `text`,
            or names with slashes between them.
        default: Flink's default; an empty text if it has none.
        older: Older names of the key.
        heading: What it is about.
        instead: What does its work here.
    """

    key: str
    type: str
    default: str
    older: tuple[str, ...]
    heading: str
    instead: str

    def is_default(self, text: str) -> bool:
        """Whether a value says what Flink does anyway.

        Example:
            >>> FlinkKey("a.b", "duration", "1 min", (), "", "").is_default("60 s")
            True
        """
        option: ConfigOption[Any] = ConfigOption(self.key, _TYPES.get(self.type, str), None, "")
        if text.strip().lower() == self.default.lower():
            return True
        try:
            return bool(option.parse(text) == option.parse(self.default))
        except InvalidConfigurationValueError:
            return False


class FlinkKeys:
    """Finds keys by any of their names.

    Args:
        keys: The keys.
    """

    def __init__(self, keys: tuple[FlinkKey, ...]) -> None:
        self.keys = keys
        self._by_name = {name: key for key in keys for name in (key.key, *key.older)}
        self._patterns = [
            (re.compile(".+".join(map(re.escape, _PLACEHOLDER.split(key.key)))), key)
            for key in sorted(keys, key=lambda key: -len(_PLACEHOLDER.sub("", key.key)))
            if _PLACEHOLDER.search(key.key)
        ]

    def names(self) -> list[str]:
        """All names that stand for themselves."""
        return [name for name in self._by_name if "<" not in name]

    def find(self, name: str) -> FlinkKey | None:
        """The key of this name; None if Flink has none, or one that is an option here.

        Example:
            >>> flink_keys().find("traces.reporter.mine.port").key
            'traces.reporter.<name>.<key>'
        """
        if name in self._by_name:
            return self._by_name[name]
        matching = (key for pattern, key in self._patterns if pattern.fullmatch(name))
        return next(matching, None)


@functools.cache
def flink_keys() -> FlinkKeys:
    """All of them."""
    import importlib.resources

    folder = importlib.resources.files("penstock.common.configuration")
    text = (folder / "flink_keys.txt").read_text(encoding="utf-8")
    found: list[FlinkKey] = []
    _, *sections = text.split("\n## ")
    for section in sections:
        heading, instead, *lines = section.splitlines()
        for line in filter(None, lines):
            key, kind, default, older = (line + " | | |").replace(" |", "|").split("|")[:4]
            found.append(
                FlinkKey(
                    key,
                    kind.strip(),
                    default.strip(),
                    tuple(older.split()),
                    heading,
                    instead.removeprefix("# "),
                )
            )
    return FlinkKeys(tuple(found))
