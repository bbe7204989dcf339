"""How the values of keys that name files are written: as PyFlink writes them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from penstock.common.configuration.config_option import ConfigOption
from penstock.common.configuration.options import CACHED_FILES
from penstock.errors import InvalidConfigurationValueError

_BETWEEN: Final = ","
_PARAMETER: Final = "#"


def is_of_flink(jar: str) -> bool:
    """Whether a jar is one of Flink's own, by its name: Spark has no use for it.

    Example:
        >>> is_of_flink("/lib/flink-connector-kafka.jar"), is_of_flink("/lib/delta.jar")
        (True, False)
    """
    return os.path.basename(jar).startswith("flink-")


@dataclass(frozen=True)
class CachedEntry:
    """A file that functions find by a name.

    Attributes:
        name: The name.
        path: Its path or URL.
        is_executable: Whether it can be executed.
    """

    name: str
    path: str
    is_executable: bool = False

    def __str__(self) -> str:
        return f"name:{self.name},path:{self.path},executable:{str(self.is_executable).lower()}"


def entries(text: str | None) -> list[str]:
    """Return the paths in the value of a key.

    Example:
        >>> entries("a.zip#data,b.zip"), entries(None)
        (['a.zip#data', 'b.zip'], [])
    """
    return [entry.strip() for entry in (text or "").split(_BETWEEN) if entry.strip()]


def with_entry(text: str | None, entry: str, *, first: bool = False) -> str:
    """Return the value of a key with another path."""
    known = entries(text)
    return _BETWEEN.join([entry, *known] if first else [*known, entry])


def with_parameter(entry: str) -> tuple[str, str | None]:
    """Return a path, and what follows it.

    Example:
        >>> with_parameter("a.zip#data"), with_parameter("a.zip")
        (('a.zip', 'data'), ('a.zip', None))
    """
    path, _, parameter = entry.partition(_PARAMETER)
    return path, parameter or None


def as_parameter(path: str, parameter: str | None) -> str:
    """Return a path together with what follows it."""
    return path if parameter is None else f"{path}{_PARAMETER}{parameter}"


def cached_entries(text: str | None) -> list[CachedEntry]:
    """Return the files in the value of `pipeline.cached-files`; of two of one name the last.

    Raises:
        InvalidConfigurationValueError: If one has no name or no path.

    Example:
        >>> cached_entries("name:x,path:hdfs://a/b;name:y,path:c,executable:true")[1]
        CachedEntry(name='y', path='c', is_executable=True)
    """
    found = [_cached_entry(part) for part in (text or "").split(";") if part.strip()]
    return list({entry.name: entry for entry in found}.values())


def _cached_entry(text: str) -> CachedEntry:
    option: ConfigOption[dict[str, str]] = ConfigOption(CACHED_FILES.key, dict, {}, "")
    fields = option.parse(text)
    if not fields.get("name") or not fields.get("path"):
        raise InvalidConfigurationValueError(
            f"{text!r} is no file of the configuration key {CACHED_FILES.key!r}.",
            hint="Write name:prices,path:/data/prices.csv, or call env.register_cached_file().",
        )
    return CachedEntry(fields["name"], fields["path"], fields.get("executable") == "true")
