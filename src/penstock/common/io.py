"""What is read by `create_input`: where PyFlink has it."""

from __future__ import annotations

from penstock.common.serialization.input_format import InputFormat

__all__ = ["InputFormat"]
