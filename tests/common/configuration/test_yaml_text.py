from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.common.configuration.yaml_text import list_items, without_quotes

ITEMS = st.lists(st.text(st.sampled_from("ab ;,[]"), min_size=1))


@given(ITEMS)
def test_items_in_quotes_are_kept_in_every_form(items: list[str]) -> None:
    quoted = [f"'{item}'" for item in items]
    for text in (f"[{', '.join(quoted)}]", "; ".join(quoted), "\n".join(f"- {q}" for q in quoted)):
        assert [without_quotes(item) for item in list_items(text)] == items
