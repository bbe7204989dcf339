from __future__ import annotations

import pytest

from penstock.connect_url import place_of, without_parameters


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("sc://host", ("host", 15002)),
        ("sc://host:443/;use_ssl=true", ("host", 443)),
        ("sc://", None),
        ("sc://host:port", None),
        ("local[2]", None),
        ("http://host", None),
    ],
)
def test_a_url_names_a_host_and_a_port(url: str, place: tuple[str, int] | None) -> None:
    assert place_of(url) == place


def test_secrets_are_left_out() -> None:
    assert without_parameters("sc://user:word@host:443/;token=secret") == "sc://host:443"
