"""A source that is several, one after the other."""

from __future__ import annotations

from penstock.datastream.connectors.base import Source
from penstock.errors import InvalidArgumentError
from penstock.runtime.planned.hybrid import SourceAfterSource
from penstock.runtime.planned.planned_source import PlannedSource
from penstock.runtime.source import NativeSource

__all__ = ["HybridSource", "HybridSourceBuilder"]


class HybridSource(Source):
    """Reads sources one after the other: what is old from files, for instance, and then what comes.

    The switch takes place between two epochs, once, also where the job is started again. All records of a source are
    in earlier epochs than those of the next. Event time goes on: it does not end before the last source does.

    The program may be given further sources behind those it has. Those that were read have to stay.

    Built with `builder`.

    Example:
        >>> from penstock.common import WatermarkStrategy
        >>> from penstock.datastream.connectors.number_seq import NumberSequenceSource
        >>> from penstock.testing import local_environment
        >>> old, new = NumberSequenceSource(1, 2), NumberSequenceSource(3, 4)
        >>> source = HybridSource.builder(old).add_source(new).build()
        >>> numbers = local_environment().from_source(
        ...     source, WatermarkStrategy.no_watermarks(), "numbers"
        ... )
        >>> list(numbers.execute_and_collect())
        [1, 2, 3, 4]
    """

    def __init__(self, sources: tuple[Source, ...]) -> None:
        self._sources = sources
        self.is_bounded = sources[-1].is_bounded
        types = {source.produced_type for source in sources}
        self.produced_type = types.pop() if len(types) == 1 else None

    @staticmethod
    def builder(first_source: Source) -> HybridSourceBuilder:
        """Begin to build one.

        Args:
            first_source: The source that is read first.

        Raises:
            InvalidArgumentError: If it is none that can be read so.
        """
        return HybridSourceBuilder(first_source)

    def description(self) -> SourceAfterSource:
        """See `Source.description`."""
        return SourceAfterSource([source.description() for source in self._sources])


class HybridSourceBuilder:
    """Builds a `HybridSource`."""

    def __init__(self, first_source: Source) -> None:
        self._sources = [_checked(first_source)]

    def add_source(self, source: Source) -> HybridSourceBuilder:
        """Add the source that is read when those before have ended.

        Raises:
            InvalidArgumentError: If it is none that can be read so, or the one before it does not end.
        """
        if not self._sources[-1].is_bounded:
            raise InvalidArgumentError(
                f"A HybridSource was given {type(source).__name__} behind {type(self._sources[-1]).__name__}, "
                "which does not end.",
                hint="All sources but the last have to be bounded.",
            )
        self._sources.append(_checked(source))
        return self

    def build(self) -> HybridSource:
        """Return the source."""
        return HybridSource(tuple(self._sources))


def _checked(source: Source) -> Source:
    if not isinstance(source, Source):
        raise InvalidArgumentError(
            f"A HybridSource was given {source!r}, which is no Source.",
            hint="For instance: HybridSource.builder(FileSource...).add_source(...).build().",
        )
    if not isinstance(source.description(), (PlannedSource, NativeSource)):
        raise InvalidArgumentError(
            f"A HybridSource was given {type(source).__name__}, which Spark reads.",
            hint="Give it sources that need no Spark, such as a FileSource.",
        )
    return source
