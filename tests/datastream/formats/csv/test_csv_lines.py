from __future__ import annotations

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastream.formats.csv.csv_lines import CsvForm, values_of_line

FORMS = [CsvForm(), CsvForm(delimiter=";", quote="'"), CsvForm(quote=None, escape="\\")]


@given(
    st.text("a1,;'\"\\ \0", min_size=1, max_size=8),
    st.sampled_from(["", "\n", "\r\n", "\r"]),
    st.sampled_from(FORMS),
)
def test_a_line_has_the_values_that_csv_finds(text: str, end: str, form: CsvForm) -> None:
    text += end
    try:
        (expected,) = csv.reader([text], **form.dialect())
    except csv.Error:
        with pytest.raises(ValueError, match=r"."):
            values_of_line(text, form)
    else:
        assert values_of_line(text, form) == expected
