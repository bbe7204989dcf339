"""Numbers and names that PyFlink has under these names."""

from __future__ import annotations

from typing import Final

__all__ = ["DEFAULT_OUTPUT_TAG", "MAX_LONG_VALUE", "MIN_LONG_VALUE"]

MAX_LONG_VALUE: Final = 2**63 - 1
"""The greatest whole number of 64 bits: the last timestamp there is, in milliseconds."""
MIN_LONG_VALUE: Final = -(2**63)
"""The least whole number of 64 bits."""
DEFAULT_OUTPUT_TAG: Final = ""
"""What the main output is called among the side outputs."""
