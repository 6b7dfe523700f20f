"""redis-py and its descendant valkey-py. Arguments: redis or valkey; sync or asyncio; default, or the protocol (2, 3) to ask for.

Both flavours run the same text: what the blocking client has done already, `done` passes on; what asyncio promises, it awaits.
"""
import asyncio
import importlib
import importlib.util
import inspect
import sys

from suite import (GROUPS, HOST, NOT_YET, PASSWORD, PASSWORD_PORT, PORT, PROXY_PORT, RESTART, RESTART_PORT, Failed, Stopwatch, Suite,
                   begins, between, check_batch, check_identity, check_reservations, check_shift, equal, show)

LIBRARY, FLAVOUR, CHOICE = sys.argv[1:]
redis = importlib.import_module(LIBRARY)
flavoured = redis if FLAVOUR == "sync" else importlib.import_module(f"{LIBRARY}.asyncio")
Retry = importlib.import_module(f"{flavoured.__name__}.retry").Retry
NoBackoff = importlib.import_module(f"{LIBRARY}.backoff").NoBackoff

MAJOR = int(redis.__version__.split(".")[0])
AGAIN = LIBRARY == "redis" and MAJOR >= 8                   # the defaults of 8: RESP3, and ten retries
RESP3 = CHOICE == "3" or (CHOICE == "default" and AGAIN)
OPTIONS = {} if CHOICE == "default" else {"protocol": int(CHOICE)}
PARSER = " hiredis" if importlib.util.find_spec("hiredis") else ""

suite = Suite(f"{LIBRARY}-py {MAJOR}{PARSER} {FLAVOUR} RESP{3 if RESP3 else 2}", RESP3)
LOGIN = {"username": "default", "password": PASSWORD, "db": 3, "client_name": "from-options"}
checks = []


def check(body):
    checks.append((body.__doc__, body))


def connect(**options):
    return flavoured.Redis(host=HOST, port=options.pop("port", PORT), **OPTIONS, **options)


async def done(value):
    return await value if inspect.isawaitable(value) else value


async def close(client):
    await done(client.close() if FLAVOUR == "sync" else client.aclose())


def text(value):
    """Which methods decode their reply differs from version to version."""
    return value.decode() if isinstance(value, bytes) else value


async def call(*words):
    try:
        return await done(raw.execute_command(*words))
    except redis.RedisError as error:
        return error


async def batch(commands, transaction=False):
    pipe = raw.pipeline(transaction=transaction)
    for words in commands:
        pipe.execute_command(*words)
    return await done(pipe.execute(raise_on_error=False))


@check
async def _():
    """connects, PING"""
    equal(await done(client.ping()), True, "ping")
    wanted = b"resp=3" if RESP3 else b"resp=2"             # the server's own word on what was negotiated
    info = await call("CLIENT", "INFO")
    if wanted not in info:
        raise Failed(f"CLIENT INFO has no {wanted}: {info}")


@check
async def _():
    """CLIENT SETNAME and GETNAME, client_name"""
    one = connect(single_connection_client=True)
    equal(await done(one.client_setname("worker-1")), True, "setname")
    equal(text(await done(one.client_getname())), "worker-1", "getname")
    await close(one)
    named = connect(client_name="from-options")
    equal(text(await done(named.client_getname())), "from-options", "client_name")
    await close(named)


@check
async def _():
    """SELECT 3, and db in the constructor"""
    chosen, switched = connect(db=3), connect(single_connection_client=True)
    await done(switched.execute_command("SELECT", 3))
    await done(switched.delete("shared"))
    equal((await done(switched.execute_command("RL.TAKE", "shared", 5, "1/h")))[2], 4, "db 3 by SELECT")
    equal((await done(chosen.execute_command("RL.TAKE", "shared", 5, "1/h")))[2], 3, "db 3 by constructor")
    await done(client.delete("shared"))
    equal(await done(chosen.exists("shared")), 1, "the key stays in db 3")
    await close(chosen)
    await close(switched)


@check
async def _():
    """100 RL.TAKE in one batch"""
    key = suite.prefix + "batch"
    await done(client.delete(key))
    check_batch(await batch([["RL.TAKE", key, 60, "1/h"]] * 100))


@check
async def _():
    """an error inside a batch does not shift the others"""
    key = suite.prefix + "shift"
    await done(client.delete(key))
    take = ["RL.TAKE", key, 10, "1/h"]
    check_shift(await batch([take, ["RL.TAKE", key, "ten", "1/h"], ["NOSUCH"], take, ["ECHO", "last"]]))


@check
async def _():
    """RL.RESERVE 80 80 30000, 83 times"""
    key = suite.prefix + "burst"
    await done(client.delete(key))
    with Stopwatch() as watch:
        waits = await batch([["RL.RESERVE", key, 80, 80, 30000]] * 83)
    check_reservations(waits, watch.ms)


@check
async def _():
    """MULTI and EXEC"""
    key = suite.prefix + "multi"
    await done(client.delete(key))
    replies = await batch([["RL.TAKE", key, 10, "1/h"], ["RL.RESERVE", key, 10, "1/h", 0, "COST", 9]], transaction=True)
    equal(replies, [[0, 10, 9, -1, 3_600_000], 0], "exec")
    pipe = client.pipeline()                                # transaction=True is the default
    pipe.execute_command("RL.TAKE", key)
    try:
        replies = await done(pipe.execute())
    except redis.ResponseError:
        replies = None
    equal(replies, None, "a call that cannot be queued")
    equal(await done(client.exists(key)), 1, "the connection is in step after it")


@check
async def _():
    """the methods people use"""
    key = suite.prefix + "method"
    await done(client.delete(key))
    await done(client.execute_command("RL.TAKE", key, 10, "10/h"))
    between(await done(client.ttl(key)), 300, 360, "ttl")
    between(await done(client.pttl(key)), 300_000, 360_000, "pttl")
    equal(text(await done(client.type(key))), "ratelimit", "type")
    scan = client.scan_iter(match=suite.prefix + "meth*")
    found = list(scan) if FLAVOUR == "sync" else [each async for each in scan]
    equal(found, [key.encode()], "scan_iter")
    equal(await done(client.keys(suite.prefix + "meth*")), [key.encode()], "keys")
    databases = await done(client.config_get("databases"))
    equal({text(name): text(value) for name, value in databases.items()}, {"databases": "16"}, "config_get")
    if "redis_version" not in await done(client.info()):
        raise Failed("info() has no redis_version")
    between(await done(client.command_count()), 40, 1000, "command_count")
    keys = await done(client.command_getkeys("RL.TAKE", "a", 1, 1, "AND", "b", 1, 1))
    equal([text(each) for each in keys], ["a", "b"], "command_getkeys")
    equal(await done(client.delete(key)), 1, "delete")


def check_group(group):
    async def body():
        for key in suite.keys(group["steps"]):
            await call("DEL", key)
        for words, want in group["steps"]:
            command = [suite.own(word) for word in words]
            suite.compare(command, want, await call(*command))
    checks.append((group["name"], body))


for each in GROUPS:
    check_group(each)


@check
async def _():
    """password: right, wrong, none"""
    right = connect(port=PASSWORD_PORT, password=PASSWORD)
    equal(await done(right.ping()), True, "right password")
    await close(right)
    # redis-py cuts the code off the errors that it has a class for.
    wrong, none = ("WRONGPASS", "invalid username-password pair"), ("NOAUTH", "Authentication required", "HELLO must be called")
    for options, beginning in (({"password": "wrong"}, wrong), ({}, none)):
        # redis-py 8 tries a refused login ten times, ever slower: once is enough here.
        stranger = connect(port=PASSWORD_PORT, retry=Retry(NoBackoff(), 0), **options)
        try:
            reply = await done(stranger.execute_command("RL.PEEK", "k", 1, 1))
        except redis.RedisError as error:
            reply = error
        begins(reply, beginning, options or "no password")
        await close(stranger)


@check
async def _():
    """user, password, database and name at once"""
    whole = connect(port=PASSWORD_PORT, **LOGIN)
    check_identity(await done(whole.execute_command("CLIENT", "INFO")))
    await close(whole)


@check
async def _():
    """a user that is kept to a prefix"""
    name = f"tenant-{suite.prefix}"
    rules = "on >pw ~t7:* &t7:* +@ratelimit +@connection +@transaction +subscribe -@dangerous".split()
    equal(await call("ACL", "SETUSER", name, *rules), b"OK", "ACL SETUSER")
    tenant = connect(username=name, password="pw")
    equal(await done(tenant.execute_command("RL.RESERVE", f"t7:{name}", 5, 1, 0)), 0, "its own key")
    for words, told in (
        (("RL.TAKE", f"t7:{name}", 5, 1, "AND", "t8:a", 5, 1), "No permissions to access a key"),
        (("GET", f"t7:{name}"), f"User {name} has no permissions to run the 'get' command"),
        (("SUBSCRIBE", "t8:a"), "No permissions to access a channel"),
    ):
        try:
            reply = await done(tenant.execute_command(*words))
        except redis.exceptions.NoPermissionError as error:
            reply = error
        # redis-py cuts the code off.
        begins(reply, (told, "NOPERM " + told), words)
    await close(tenant)
    equal(await call("ACL", "DELUSER", name), 1, "ACL DELUSER")


async def heard(pubsub):
    while True:
        message = await done(pubsub.get_message(timeout=10))
        if message is None or message["type"] == "message":
            return message and message["data"]


async def check_subscribe():
    """SUBSCRIBE: a message, and the event of a pause"""
    channel, key = suite.prefix + "channel", suite.prefix + "event"
    pubsub = client.pubsub()
    await done(pubsub.subscribe(channel, "__rl@0__:pause"))
    for _ in range(2):
        equal((await done(pubsub.get_message(timeout=10)))["type"], "subscribe", "the confirmation")
    equal(await done(client.publish(channel, "hello")), 1, "publish")
    equal(await heard(pubsub), b"hello", "the message")
    equal(await call("RL.PAUSE", key, "10m"), 600_000, "RL.PAUSE")
    event = await heard(pubsub)
    if key.encode() not in event:
        raise Failed(f"the event does not name the key: {event}")
    await done(pubsub.unsubscribe(channel))
    equal((await done(pubsub.get_message(timeout=10)))["type"], "unsubscribe", "the confirmation")
    equal(await done(client.publish(channel, "nobody")), 0, "publish after unsubscribe")
    await close(pubsub)


if "SUBSCRIBE" not in NOT_YET:
    check(check_subscribe)


@check
async def _():
    """cut off between request and reply: with an ID the key is charged once"""
    proxied = connect(port=PROXY_PORT)
    for name, more in (("cut", []), ("cut-id", ["ID", "order-17"])):
        take = ["RL.TAKE", suite.prefix + name, 10, "10/h"]
        charged = 2 if AGAIN and not more else 1
        try:
            reply = await done(proxied.execute_command(*take, *more))
        except redis.ConnectionError as error:
            reply = error
        if AGAIN:
            equal(reply[:3], [0, 10, 10 - charged], f"the reply that came in the end, {more}")
        elif not isinstance(reply, Exception):
            raise Failed(f"expected that it tells the break, got {show(reply)}")
        elif more:
            equal((await call(*take, *more))[:3], [0, 10, 9], "sent again by hand")
        equal((await call("RL.PEEK", *take[1:]))[2], 10 - charged, f"what remains, {more}")
    await close(proxied)


@check
async def _():
    """reconnects after a restart, debt and pause are still there"""
    lasting, key = connect(port=RESTART_PORT, **LOGIN), suite.prefix + "restart"
    await done(lasting.delete(key, key + ":paused"))
    equal(await done(lasting.execute_command("RL.CHARGE", key, 10, "10/h", 15)), 2_160_000, "RL.CHARGE")
    equal(await done(lasting.execute_command("RL.PAUSE", key + ":paused", "10m")), 600_000, "RL.PAUSE")
    restart = await asyncio.create_subprocess_exec(*RESTART, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL)
    equal(await restart.wait(), 0, "exit code of the restart")
    limited, _, remaining, retry, _ = await done(lasting.execute_command("RL.PEEK", key, 10, "10/h"))
    equal([limited, remaining], [1, 0], "RL.PEEK after the restart")
    between(retry, 2_100_000, 2_160_000, "wait after the restart")
    between(await done(lasting.execute_command("RL.PAUSE", key + ":paused", 1000)), 540_000, 600_000, "pause after the restart")
    check_identity(await done(lasting.execute_command("CLIENT", "INFO")))
    await close(lasting)


async def main():
    global client, raw
    client, raw = connect(), connect()
    raw.response_callbacks.clear()                          # for the table: replies as they come
    for title, body in checks:
        try:
            await asyncio.wait_for(body(), 20)
            suite.report(title, None)
        except Exception as error:
            suite.report(title, error)
            if body is checks[0][1]:
                break                                       # no other can pass if it does not connect
    await close(client)
    await close(raw)


asyncio.run(main())
sys.exit(1 if suite.failed else 0)
