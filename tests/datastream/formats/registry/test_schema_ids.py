from __future__ import annotations

import uuid

import pytest

from penstock.datastream.formats.registry.schema_ids import SchemaId, SchemaIds
from penstock.errors import InvalidArgumentError, NoSchemaIdError

GUID = uuid.UUID(int=7)


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (("__value_schema_id", b"\1" + GUID.bytes), SchemaId("guid", str(GUID))),
        (("__value_schema_id", b"\1" + GUID.bytes + b"\0"), SchemaId("guid", str(GUID))),
        (("__value_schema_id", b"\0\0\0\0\5"), SchemaId("id", 5)),
        (("apicurio.value.globalId", bytes(7) + b"\5"), SchemaId("globalId", 5)),
        (("apicurio.value.contentId", bytes(7) + b"\5"), SchemaId("contentId", 5)),
    ],
)
def test_an_id_in_a_header_comes_first_and_the_last_of_several(
    header: tuple[str, bytes], found: SchemaId
) -> None:
    ids, of_keys = SchemaIds(4), SchemaIds(4, is_key=True)
    before = ("apicurio.value.globalId", b"none")
    of_key = (header[0].replace("value", "key"), header[1])
    headers = [("h", b"1"), before, header, ("apicurio.value.globalId", None), of_key]

    place, start = ids.place(b"\0\0\0\0\1x", headers)
    assert (ids.named(place), start) == (found, 0)
    assert ids.start(b"x", headers) == 0
    place, start = of_keys.place(b"x", [before, header, of_key])
    assert (of_keys.named(place), start) == (found, 0)
    place, start = of_keys.place(b"\0\0\0\0\1x", [before, header])
    assert (of_keys.named(place), start) == (SchemaId("id", 1), 5)


def test_before_a_message_ids_have_four_bytes_or_eight() -> None:
    for length in (4, 8):
        ids = SchemaIds(length)
        place, start = ids.place(ids.before(300) + b"x")
        assert (ids.named(place), start) == (SchemaId("id", 300), 1 + length)
        assert ids.start(ids.before(300) + b"x", ()) == start
    with pytest.raises(InvalidArgumentError, match="4 bytes or 8, not 5"):
        SchemaIds(5)


def test_what_is_no_id_is_shown() -> None:
    ids = SchemaIds(4)
    for wrong in (b"", b"\0\0\0\0", b"\1\0\0\0\1x"):
        with pytest.raises(NoSchemaIdError, match="does not begin with the id of a schema"):
            ids.start(wrong, ())
    for header in (
        ("__value_schema_id", b"\1" + GUID.bytes[1:]),
        ("__value_schema_id", b"\0\0"),
        ("__value_schema_id", b""),
        ("apicurio.value.globalId", b"\0\0\0\5"),
    ):
        with pytest.raises(NoSchemaIdError, match=f"header '{header[0]}' has .* no id of a schema"):
            ids.start(b"\0\0\0\0\1x", [header])
