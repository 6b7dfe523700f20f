"""redis-py over TLS and through the Unix socket. Prints what is wrong."""
import asyncio
import os

import redis
import redis.asyncio

DIRECTORY, SOCKET = os.environ["TLS_DIRECTORY"], os.environ["TLS_SOCKET"]
URL = f"rediss://127.0.0.1:{os.environ['TLS_PORT']}"
TRUST = {"ssl_ca_certs": f"{DIRECTORY}/ca.crt"}
SHOWN = {"ssl_certfile": f"{DIRECTORY}/client.crt", "ssl_keyfile": f"{DIRECTORY}/client.key"}
LONG = "x" * 20_000                 # more than one record of TLS. All of a batch fits into a Unix socket, for it is sent before it reads
WAYS = [(URL, TRUST), (URL, {**TRUST, **SHOWN}), (f"unix://{SOCKET}", {})]


def batch(pipe):
    for _ in range(10):
        pipe.execute_command("ECHO", LONG)
    return pipe.execute()


def blocking(url, options):
    client = redis.Redis.from_url(url, **options)
    assert client.ping() is True
    assert batch(client.pipeline(transaction=False)) == [LONG.encode()] * 10
    listener = client.pubsub(ignore_subscribe_messages=True)
    listener.subscribe("tls")
    listener.get_message(timeout=5)
    assert client.publish("tls", LONG) == 1
    assert listener.get_message(timeout=5)["data"] == LONG.encode()
    listener.close()
    client.close()


async def asynchronous(url, options):
    client = redis.asyncio.Redis.from_url(url, **options)
    assert await client.ping() is True
    assert await batch(client.pipeline(transaction=False)) == [LONG.encode()] * 10
    waits = await asyncio.gather(*(client.execute_command("RL.RESERVE", f"tls:{url}", 100, "1/h", 0) for _ in range(10)))
    assert waits == [0] * 10, waits
    await client.aclose()


for url, options in WAYS:
    blocking(url, options)
    redis.Redis.from_url(url, **options).delete(f"tls:{url}")
    asyncio.run(asynchronous(url, options))

try:
    redis.Redis.from_url(URL, retry=None).ping()
    raise SystemExit("an authority that is not known was trusted")
except redis.ConnectionError as error:
    assert "CERTIFICATE_VERIFY_FAILED" in str(error), error
