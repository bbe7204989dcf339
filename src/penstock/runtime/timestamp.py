"""The least and the greatest timestamp there is, in milliseconds since 1970 as all of them."""

from __future__ import annotations

from typing import Final

MIN_TIMESTAMP: Final = -(2**63)
"""The watermark before any watermark, in milliseconds."""

MAX_TIMESTAMP: Final = 2**63 - 1
"""The watermark after which no record comes, in milliseconds."""
