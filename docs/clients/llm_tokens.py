"""An LLM client under two limits at once, requests and tokens a minute. The tokens are held by an estimate before the
call and settled by the bill after it."""

import time
from collections.abc import Callable
from typing import Any

import redis

POLICY = "llm"


class TooBusy(Exception):
    """No room within the time the caller would wait."""


def setup(client: redis.Redis, requests_a_minute: int = 500, tokens_a_minute: int = 200_000) -> None:
    """Once at start, and again to change the limits for everybody."""
    client.execute_command(
        "RL.POLICY", "SET", POLICY,
        requests_a_minute, f"{requests_a_minute}/m", "AND", tokens_a_minute, f"{tokens_a_minute}/m",
    )  # fmt: skip


def complete(
    client: redis.Redis,
    account: str,
    estimate: int,
    call: Callable[[], tuple[Any, int]],
    max_wait_ms: int = 60_000,
    sleep: Callable[[float], None] = time.sleep,
) -> Any:
    """Waits until one request and `estimate` tokens fit, makes the `call`, and settles the tokens it really took.

    `call` returns its answer and the tokens on the bill. A call that fails gives everything back.
    """
    key = f"llm:{account}"
    wait_ms, ticket = client.execute_command(
        "RL.RESERVE", key, "POLICY", POLICY, max_wait_ms, "COST", f"1,{estimate}", "TICKET"
    )
    if wait_ms < 0:
        raise TooBusy(f"no room for {estimate} tokens within {max_wait_ms} ms")
    while wait_ms > 0:
        sleep(wait_ms / 1000)
        wait_ms = client.execute_command("RL.CONFIRM", key, ticket)
    try:
        answer, tokens = call()
    except Exception:
        client.execute_command("RL.CANCEL", key, ticket)
        raise
    client.execute_command("RL.SETTLE", key, ticket, f"1,{tokens}")
    return answer
