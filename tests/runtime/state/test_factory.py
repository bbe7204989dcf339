from __future__ import annotations

import pytest

from penstock.errors import InvalidConfigurationValueError
from penstock.runtime.state.factory import create_backend


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InvalidConfigurationValueError, match="'disk'"):
        create_backend("disk", max_parallelism=1, key_groups=range(1), clock=lambda: 0)
