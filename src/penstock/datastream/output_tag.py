"""The name of a side output."""

from __future__ import annotations

from penstock.runtime.output_tag import OutputTag

__all__ = ["OutputTag"]
