"""What tests of programs need: an environment without Spark, and input cut into epochs."""

from __future__ import annotations

from penstock.testing.environment import local_environment
from penstock.testing.source import TestingSource

__all__ = ["TestingSource", "local_environment"]
