from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from benchmarks.nexmark.lookup import KEYS, LookupClient, LookupService, value_of


@pytest.fixture
def service() -> Iterator[LookupService]:
    with LookupService() as running:
        yield running


def test_each_request_gets_the_answer_to_it(service: LookupService) -> None:
    numbers = [*range(2_000), KEYS - 1, KEYS, KEYS + 1]

    async def ask() -> list[int]:
        client = await LookupClient.connect(service.port)
        found = await asyncio.gather(*map(client.ask, numbers))
        client.close()
        return found

    found = asyncio.run(ask())
    assert found == [value_of(number) for number in numbers]
    assert len(set(found)) == 2_001


def test_a_request_that_is_given_up_leaves_the_others_their_answers(
    service: LookupService,
) -> None:
    async def ask() -> int:
        client = await LookupClient.connect(service.port)
        client.ask(1).cancel()
        answer = await client.ask(2)
        client.close()
        return answer

    assert asyncio.run(ask()) == value_of(2)


def test_requests_fail_when_the_service_is_gone() -> None:
    async def ask() -> None:
        async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            writer.close()

        server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
        client = await LookupClient.connect(server.sockets[0].getsockname()[1])
        try:
            with pytest.raises(ConnectionResetError, match="The service is gone"):
                await client.ask(1)
            client.ask(2)
        finally:
            client.close()
            server.close()

    with pytest.raises(ConnectionResetError, match="The service is gone"):
        asyncio.run(ask())
