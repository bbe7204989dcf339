"""The name of a side output."""

from __future__ import annotations

from typing import Any

from penstock.errors import InvalidArgumentError


class OutputTag:
    """The name of a side output, with the type of its values.

    Two tags are the same side output if their ids are equal.

    Args:
        tag_id: The id, not empty.
        type_info: The type of the values, if declared.

    Raises:
        InvalidArgumentError: If the id is empty or no string.

    Example:
        >>> OutputTag("late") == OutputTag("late")
        True
    """

    def __init__(self, tag_id: str, type_info: Any = None) -> None:
        if not isinstance(tag_id, str) or not tag_id:
            raise InvalidArgumentError(
                f"The id of an OutputTag must be a string that is not empty, not {tag_id!r}.",
                hint="Name the side output, as in OutputTag('late').",
            )
        self.tag_id = tag_id
        self.type_info = type_info

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputTag) and other.tag_id == self.tag_id

    def __hash__(self) -> int:
        return hash(self.tag_id)

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r})"


def check_output_tag(tag: Any, operation: str, hint: str) -> OutputTag:
    """Return what an operation was given for a tag, sure to be one.

    Raises:
        InvalidArgumentError: If it is none.
    """
    if isinstance(tag, OutputTag):
        return tag
    raise InvalidArgumentError(
        f"{operation}() was given {tag!r}, which is no OutputTag.", hint=hint
    )
