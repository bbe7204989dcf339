"""All that can be configured, by the names of its options."""

from __future__ import annotations

from penstock.common.configuration.options import *  # noqa: F403 - as many names as there are options
