"""Where a FileSink puts its records, when it begins another file, and how files are named."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from abc import ABC, abstractmethod
from typing import Any, Protocol

from penstock.datastream.connectors.files.date_pattern import DatePattern
from penstock.errors import InvalidArgumentError

__all__ = [
    "BucketAssigner",
    "BucketContext",
    "DefaultRollingPolicy",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "PartFileInfo",
    "RollingPolicy",
]


class BucketContext(Protocol):
    """What a `BucketAssigner` may ask about a record."""

    def timestamp(self) -> int | None:
        """Return the record's timestamp in milliseconds; None if it has none."""

    def current_watermark(self) -> int:
        """Return the sink's watermark, in milliseconds."""

    def current_processing_time(self) -> int:
        """Return the processing time, in milliseconds."""


class BucketAssigner(ABC):
    """Says into which folder below the base path a record goes.

    A class of your own defines `get_bucket_id`; PyFlink has no assigners in Python.

    Example:
        >>> class ByCountry(BucketAssigner):
        ...     def get_bucket_id(self, element, context):
        ...         return f"country={element['country']}"
        >>> ByCountry().get_bucket_id({"country": "it"}, None)
        'country=it'
    """

    @abstractmethod
    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        """Return the folder of a record: a path relative to the base path; "" is the base path itself.

        Args:
            element: The record.
            context: Tells times.
        """

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """Return an assigner that puts all files into the base path.

        Example:
            >>> BucketAssigner.base_path_bucket_assigner().get_bucket_id("a", None)
            ''
        """
        return _BasePath()

    @staticmethod
    def date_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner:
        """Return an assigner that goes by the processing time.

        Args:
            format_str: What the names of folders look like, in the letters of Java's
                DateTimeFormatter: y, M, d, D, H, m, s and S. Default: a folder for each hour.
            timezone_id: The time zone, as "Europe/Rome" or "GMT-08:00". Default: that of the machine
                that writes.

        Raises:
            InvalidArgumentError: If there is no such time zone, or the format has other letters.
        """
        return _DateTime(format_str, timezone_id)


class _BasePath(BucketAssigner):
    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        return ""


class _DateTime(BucketAssigner):
    def __init__(self, format_str: str, timezone_id: str | None) -> None:
        DatePattern(format_str)
        self._format = format_str
        self._zone = None if timezone_id is None else _zone(timezone_id)
        self._forget()

    def _forget(self) -> None:
        self._pattern: DatePattern | None = None
        self._millisecond = -1
        self._bucket = ""

    def __getstate__(self) -> dict[str, Any]:
        return {"_format": self._format, "_zone": self._zone}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        now = context.current_processing_time()
        if now != self._millisecond:
            if self._pattern is None:
                self._pattern = DatePattern(self._format)
            time = datetime.datetime.fromtimestamp(now / 1000, datetime.UTC)
            self._bucket = self._pattern.format(time.astimezone(self._zone))
            self._millisecond = now
        return self._bucket


def _zone(name: str) -> datetime.tzinfo:
    offset = re.fullmatch(r"(?:GMT|UTC)?([+-])(\d{1,2}):?(\d{2})?", name)
    if offset is not None:
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        return datetime.timezone(datetime.timedelta(minutes=int(f"{offset[1]}{minutes}")))
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
        raise InvalidArgumentError(
            f"There is no time zone {name!r}.",
            hint="Give a name such as 'Europe/Rome', or an offset such as 'GMT-08:00'.",
        ) from error


class PartFileInfo(Protocol):
    """What a rolling policy may know of a file that is being written.

    Attributes:
        bucket_id: The folder it goes into, relative to the base path.
        creation_time: The processing time at which it was begun, in milliseconds.
        last_update_time: The processing time of its last record, in milliseconds.
        size: Its size in bytes; of bulk formats what is written of it until now.
    """

    bucket_id: str
    creation_time: int
    last_update_time: int

    @property
    def size(self) -> int:
        """Its size in bytes."""


class RollingPolicy(ABC):
    """Says when a file is complete: then it is published at the epoch's end, and another is begun."""

    @abstractmethod
    def should_roll_on_checkpoint(self, part_file: PartFileInfo) -> bool:
        """Return whether the epoch's end completes a file."""

    @abstractmethod
    def should_roll_on_event(self, part_file: PartFileInfo, element: Any) -> bool:
        """Return whether a file is complete before a record that would go into it."""

    @abstractmethod
    def should_roll_on_processing_time(self, part_file: PartFileInfo, current_time: int) -> bool:
        """Return whether time (milliseconds) has completed a file; asked at the epoch's end."""

    @staticmethod
    def default_rolling_policy(
        part_size: int = 1024 * 1024 * 128,
        rollover_interval: int = 60 * 1000,
        inactivity_interval: int = 60 * 1000,
    ) -> DefaultRollingPolicy:
        """Return a policy by size and age.

        Args:
            part_size: The size in bytes from which on a file is complete.
            rollover_interval: The age in milliseconds from which on it is.
            inactivity_interval: The time in milliseconds without a record after which it is.

        Raises:
            InvalidArgumentError: If one of them is below 1.
        """
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Return a policy by which each epoch completes its files."""
        return OnCheckpointRollingPolicy()


class DefaultRollingPolicy(RollingPolicy):
    """Completes files by size and age: see `RollingPolicy.default_rolling_policy`."""

    def __init__(self, part_size: int, rollover_interval: int, inactivity_interval: int) -> None:
        for what, value in (
            ("part size", part_size),
            ("rollover interval", rollover_interval),
            ("inactivity interval", inactivity_interval),
        ):
            if not isinstance(value, int) or value < 1:
                raise InvalidArgumentError(
                    f"{value!r} is no {what}.", hint="Give a whole number from 1 on."
                )
        self._part_size = part_size
        self._rollover_interval = rollover_interval
        self._inactivity_interval = inactivity_interval

    def should_roll_on_checkpoint(self, part_file: PartFileInfo) -> bool:
        """See `RollingPolicy.should_roll_on_checkpoint`."""
        return part_file.size >= self._part_size

    def should_roll_on_event(self, part_file: PartFileInfo, element: Any) -> bool:
        """See `RollingPolicy.should_roll_on_event`."""
        return part_file.size >= self._part_size

    def should_roll_on_processing_time(self, part_file: PartFileInfo, current_time: int) -> bool:
        """See `RollingPolicy.should_roll_on_processing_time`."""
        return (
            current_time - part_file.creation_time >= self._rollover_interval
            or current_time - part_file.last_update_time >= self._inactivity_interval
        )


class OnCheckpointRollingPolicy(RollingPolicy):
    """Completes files at each epoch's end: see `RollingPolicy.on_checkpoint_rolling_policy`."""

    def should_roll_on_checkpoint(self, part_file: PartFileInfo) -> bool:
        """See `RollingPolicy.should_roll_on_checkpoint`."""
        return True

    def should_roll_on_event(self, part_file: PartFileInfo, element: Any) -> bool:
        """See `RollingPolicy.should_roll_on_event`."""
        return False

    def should_roll_on_processing_time(self, part_file: PartFileInfo, current_time: int) -> bool:
        """See `RollingPolicy.should_roll_on_processing_time`."""
        return False


class OutputFileConfig:
    """How files are named: `{prefix}-{subtask}-{epoch}-{random}{suffix}`.

    Args:
        part_prefix: What names begin with.
        part_suffix: What they end with, as ".json".

    Raises:
        InvalidArgumentError: If one of them cannot be part of a file's name.

    Example:
        >>> OutputFileConfig.builder().with_part_suffix(".json").build().get_part_suffix()
        '.json'
    """

    class OutputFileConfigBuilder:
        """Makes an `OutputFileConfig`."""

        def __init__(self) -> None:
            self.part_prefix = "part"
            self.part_suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set what names begin with. Default: "part"."""
            self.part_prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set what names end with. Default: nothing."""
            self.part_suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            """Return the configuration."""
            return OutputFileConfig(self.part_prefix, self.part_suffix)

    def __init__(self, part_prefix: str, part_suffix: str) -> None:
        for text in (part_prefix, part_suffix):
            if "/" in text or "\0" in text:
                raise InvalidArgumentError(
                    f"{text!r} cannot be part of a file's name.", hint="Leave out slashes."
                )
        self._part_prefix = part_prefix
        self._part_suffix = part_suffix

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """Return what makes a configuration."""
        return OutputFileConfig.OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        """Return what names begin with."""
        return self._part_prefix

    def get_part_suffix(self) -> str:
        """Return what names end with."""
        return self._part_suffix
