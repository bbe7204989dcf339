"""What of a setting may be shown."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.common.configuration.configuration import Configuration
from penstock.common.configuration.options import OPTIONS_BY_EVERY_KEY
from penstock.common.configuration.secrets import shown_setting, without_secrets

SECRET = "hunter2"


@pytest.mark.parametrize(
    "key",
    [
        "shop.password",
        "db.passwd",
        "db.pwd",
        "db.pass",
        "dbPass",
        "rest.token",
        "encryption.key",
        "ssl.key",
        "accountKey",
        "fs.azure.account.key.shop.blob.core.windows.net",
        "fs.s3a.access-key",
        "s3.access_key",
        "kafka.sasl.jaas",
        "sasl.jaas.config",
        "metrics.reporter.otel.exporter.headers",
        "shop.auth",
        "cookie",
        "shop.credentials",
        "shop.private_key",
    ],
)
def test_shows_nothing_of_a_key_that_sounds_like_a_secret(key: str) -> None:
    assert shown_setting(key, SECRET) == "******"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("jdbc:postgresql://bob:hunter2@db/shop", "jdbc:postgresql://db/shop"),
        (
            "jdbc:x://db/shop?user=bob&password=hunter2&ssl=on",
            "jdbc:x://db/shop?user=bob&password=******&ssl=on",
        ),
        (
            "jdbc:sqlserver://db;user=bob;Pwd=hunter2;ssl=on",
            "jdbc:sqlserver://db;user=bob;Pwd=******;ssl=on",
        ),
        ("https://bob:hun@ter2@host/", "https://host/"),
        (
            "AccountName=shop;AccountKey=hunter2==;Suffix=x",
            "AccountName=shop;AccountKey=******;Suffix=x",
        ),
        (
            "SharedAccessKeyName=all;SharedAccessKey=hunter2=",
            "SharedAccessKeyName=all;SharedAccessKey=******",
        ),
        ("https://host/file?sv=2&sig=hunter2%3D", "https://host/file?sv=2&sig=******"),
        ("https://host/?access_token=hunter2", "https://host/?access_token=******"),
        ("Bearer hunter2", "Bearer ******"),
        ("x=1\nAuthorization: Basic hunter2\ny=2", "x=1\nAuthorization: ******\ny=2"),
        ('{"user": "bob", "password": "hunt\\"hunter2"}', '{"user": "bob", "password": ******}'),
        ("login required password='hunter2 x';", "login required password=******;"),
        ("-----BEGIN RSA PRIVATE KEY-----\nhunter2", "-----BEGIN RSA PRIVATE KEY-----******"),
    ],
)
def test_hides_the_secret_part_of_a_value(value: str, shown: str) -> None:
    assert Configuration().set_string("shop.place", value).shown() == {"shop.place": shown}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("shop.keyboard", "bypass=true"),
        ("shop.authors", "config=design"),
        ("shop.bypass-limit", "passes: 3"),
        ("shop.key-field", "jdbc:postgresql://db:5432/shop?ssl=true"),
        ("shop.monkey", "hdfs://one:8020/a@b"),
    ],
)
def test_shows_what_is_no_secret(key: str, value: str) -> None:
    assert shown_setting(key, value) == value


def test_hides_no_known_option_but_those_that_are_secrets() -> None:
    hidden = {key for key in OPTIONS_BY_EVERY_KEY if shown_setting(key, "1") != "1"}
    assert hidden == {"rest.token"}


TRACEBACK = """Traceback (most recent call last):
  File "/home/a:b/shop.py", line 7, in connect
    connection = connect(f"postgresql://{user}:{password}@db", retries=lines // 3)
psycopg.OperationalError: connection to "postgresql://bob:hunter2@db/shop" failed: FATAL: password=hunter2 host=db
{'user': 'bob', 'password': 'hunter2', "body": "{\\"token\\": \\"hunter2\\"}"} Authorization: Basic hunter2
-----BEGIN PRIVATE KEY-----
hunter2
-----END PRIVATE KEY-----
The above exception was the direct cause of the following exception:
RuntimeError: no shop"""


def test_a_text_of_many_lines_keeps_all_that_is_no_secret() -> None:
    shown = without_secrets(TRACEBACK)

    assert "hunter2" not in shown
    for kept in (
        'File "/home/a:b/shop.py", line 7, in connect',
        "retries=lines // 3)",
        'psycopg.OperationalError: connection to "postgresql://db/shop" failed: FATAL: password=****** host=db',
        "{'user': 'bob', 'password': ******,",
        "-----BEGIN PRIVATE KEY-----******-----END PRIVATE KEY-----\nThe above",
        "RuntimeError: no shop",
    ):
        assert kept in shown
    assert len(shown.splitlines()) == len(TRACEBACK.splitlines()) - 2


@given(st.text(alphabet="a/:@=\n \"'\\p", max_size=40))
@example(":a/b@a/b@")
def test_what_a_text_has_shown_once_it_shows_again(text: str) -> None:
    assert without_secrets(without_secrets(text)) == without_secrets(text)


@pytest.mark.parametrize(
    "part", ["//", ":a/", "@", "password=", '"', "bearer ", "a", "-----BEGIN "]
)
def test_a_long_text_is_looked_through_in_no_time(part: str) -> None:
    started = time.process_time()
    without_secrets(part * (200_000 // len(part)))
    assert time.process_time() - started < 2
