"""Workers that share one provider's budget, with redis-py's asyncio client."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable

import redis.asyncio


class TooBusy(Exception):
    """No slot within the time the caller would wait."""


class TooManyRequests(Exception):
    """What `send` raises for a 429."""

    def __init__(self, retry_after_ms: int) -> None:
        super().__init__(f"retry after {retry_after_ms} ms")
        self.retry_after_ms = retry_after_ms


async def slot(client: redis.asyncio.Redis, phone: str, recipient: str, max_wait_ms: int = 30_000) -> None:
    """Waits for a slot of the phone number (80 a second) *and* of the recipient (1 in 6 seconds), booked in one call.

    The id makes it safe that redis-py sends the command again by itself when a connection breaks.
    """
    wait_ms, ticket = await client.execute_command(
        "RL.RESERVE", f"phone:{phone}", 80, 80, max_wait_ms,
        "AND", f"to:{recipient}", "PACE", "1/6s",
        "TICKET", "ID", uuid.uuid4().hex,
    )  # fmt: skip
    if wait_ms < 0:
        raise TooBusy(f"no slot within {max_wait_ms} ms")
    while wait_ms > 0:
        await asyncio.sleep(wait_ms / 1000)
        # Somebody may have paused the phone number meanwhile: then there is a new slot to wait for.
        wait_ms = await client.execute_command("RL.CONFIRM", f"phone:{phone}", ticket)


async def worker(
    client: redis.asyncio.Redis,
    phone: str,
    messages: "asyncio.Queue[tuple[str, str]]",
    send: Callable[[str, str], Awaitable[None]],
) -> None:
    """Sends messages of the queue, for ever. A 429 stops every worker that shares the phone number."""
    while True:
        recipient, text = await messages.get()
        try:
            await slot(client, phone, recipient)
            await send(recipient, text)
        except TooManyRequests as refused:
            await client.execute_command("RL.PAUSE", f"phone:{phone}", refused.retry_after_ms)
            await messages.put((recipient, text))
        except TooBusy:
            await messages.put((recipient, text))
        finally:
            messages.task_done()
