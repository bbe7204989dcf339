"""The output of an operator whose results have a declared type."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.common.typeinfo.conversion import Conversion, conversion_to
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.runtime.exchange.elements import Block, EndOfInput, WatermarkStatus
from penstock.runtime.exchange.output import Output


class ConvertingOutput(Output):
    """Makes of results values of the types that are declared for them, and passes these on.

    Args:
        output: Takes them.
        conversion: Makes those of the main output; None if they pass as they are.
        sides: Make those of side outputs, by the ids of their tags.
    """

    def __init__(
        self, output: Output, conversion: Conversion | None, sides: Mapping[str, Conversion]
    ) -> None:
        self._output = output
        self._conversion = conversion
        self._sides = sides
        self.runs_functions = output.runs_functions
        self.copies_will_do = output.copies_will_do

    @property
    def watermark(self) -> int:
        return self._output.watermark

    @watermark.setter
    def watermark(self, timestamp: int) -> None:
        self._output.watermark = timestamp

    def takes(self, tag: str | None) -> bool:
        return self._output.takes(tag)

    def collect(self, block: Block) -> None:
        self._output.collect(converted(block, self._conversion))

    def collect_side(self, tag: str, block: Block) -> None:
        self._output.collect_side(tag, converted(block, self._sides.get(tag)))

    def emit_watermark(self, timestamp: int) -> None:
        self._output.emit_watermark(timestamp)

    def emit_status(self, status: WatermarkStatus) -> None:
        self._output.emit_status(status)

    def end_input(self, end: EndOfInput) -> None:
        self._output.end_input(end)

    def flush(self) -> None:
        self._output.flush()


def converting(
    output: Output,
    operator: str,
    type_info: TypeInformation | None,
    sides: Mapping[str, TypeInformation],
) -> tuple[Output, Conversion | None]:
    """Return the output for the results of an operator, and what converts those of its main output.

    Args:
        output: Takes what they are converted to.
        operator: The name of the operator, for messages.
        type_info: The declared type of its results; None for any.
        sides: Those of its side outputs, by the ids of their tags.
    """
    conversion = conversion_to(type_info, f"The result of operator {operator!r}", operator)
    found = {
        tag: conversion_to(
            side, f"What operator {operator!r} gave to the side output {tag!r}", operator
        )
        for tag, side in sides.items()
    }
    by_tag = {tag: side for tag, side in found.items() if side is not None}
    if conversion is None and not by_tag:
        return output, None
    return ConvertingOutput(output, conversion, by_tag), conversion


def converted(block: Block, conversion: Conversion | None) -> Block:
    """Return a block whose values are of the declared type; None for any type."""
    if conversion is None:
        return block
    values = conversion.all(block.values)
    # What was made for it nobody else has.
    return block if values is block.values else Block(values, block.timestamps, block.keys)
