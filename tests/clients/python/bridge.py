"""Clients of languages that have no suite of their own. Arguments: the command that starts a bridge.

A bridge is a small program that does through its client what it is told. It gets its options (host, port, user, password,
database, name) as JSON in its last argument, connects, and prints a line about itself, or {"error": text}:

    {"client": name and version, "resends": whether the client sends again what was under way when a connection broke,
     "renames": whether it gives its name again after one, "more": further verbs that it knows,
     "untyped": true if the client shows integers and texts alike; then a text of digits is told as an integer}

Then it reads a line of JSON a request, a verb and its arguments, and answers each with a line of JSON, errors as
{"error": text} and what is not there as null, until its input ends:

    ["call", words]               the reply, whatever the command
    ["pipeline", [words, ...]]    the replies; a client that tells only the first error answers with that
    ["transaction", [words, ...]] the same between MULTI and EXEC, the replies of EXEC
    ["scan", pattern]             keys, by the client's own way of going through SCAN
    ["listen", channel]           [channel, payload] of the first message on it, after unsubscribing again
    ["method", name, ...]         more: the client's own method of that name
    ["pool"]                      more: CLIENT ID of two connections, one after the other, from the client's pool
"""
import json
import select
import signal
import subprocess
import sys

from suite import (GROUPS, HOST, NOT_YET, PASSWORD, PASSWORD_PORT, PORT, PROXY_PORT, RESTART, RESTART_PORT, Failed, Stopwatch, Suite, begins,
                   between, check_batch, check_identity, check_reservations, check_shift, equal)

COMMAND = sys.argv[1:]
EVERYTHING = {"user": "default", "password": PASSWORD, "database": 3, "name": "from-options"}
checks = []


def check(body):
    checks.append((body.__doc__, body))


def check_if(verb):
    return lambda body: check(body) if verb in main.about.get("more", []) else None


class Bridge:
    def __init__(self, port=PORT, **options):
        told = json.dumps({"host": HOST, "port": port, **options})
        self.process = subprocess.Popen([*COMMAND, told], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.about = self.receive()

    def receive(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"the bridge ended with exit code {self.process.wait()}")
        return json.loads(line)

    def send(self, *request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def ask(self, *request):
        self.send(*request)
        return reply_of(self.receive())

    def call(self, *words):
        return self.ask("call", [str(word) for word in words])

    def batch(self, commands, verb="pipeline"):
        return self.ask(verb, [[str(word) for word in words] for words in commands])

    def heard(self, channel, *words):
        """What comes on a channel while another connection calls this again and again: not all clients tell when they are
        subscribed, and Perl's leaves a message lie that came with the confirmation until another comes."""
        self.send("listen", channel)
        while not select.select([self.process.stdout], [], [], 0.05)[0]:
            main.call(*words)
        return reply_of(self.receive())

    def close(self):
        self.process.stdin.close()
        equal(self.process.wait(), 0, "exit code of the bridge")


def reply_of(told):
    """As redis-py has replies: texts as bytes, errors as exceptions."""
    if isinstance(told, dict):
        return Exception(told["error"])
    if isinstance(told, list):
        return [reply_of(each) for each in told]
    return told.encode() if isinstance(told, str) else told


def untyped(want):
    """What is wanted of a client that cannot tell a text of digits from an integer."""
    if isinstance(want, dict):
        return {name: untyped(value) for name, value in want.items()}
    if isinstance(want, list):
        return [untyped(value) for value in want]
    return int(want) if isinstance(want, str) and want.isdecimal() else want


main = Bridge()
if "error" in main.about:
    print(f"FAIL {' '.join(COMMAND)}: connects: {main.about['error']}")
    sys.exit(1)
suite = Suite(main.about["client"], resp3=False)


@check
def _():
    """connects, PING"""
    equal(main.call("PING"), b"PONG", "PING")


@check
def _():
    """CLIENT SETNAME and GETNAME"""
    equal(main.call("CLIENT", "SETNAME", "worker-1"), b"OK", "SETNAME")
    equal(main.call("CLIENT", "GETNAME"), b"worker-1", "GETNAME")


@check
def _():
    """SELECT 3, and the database in the options"""
    switched, chosen = Bridge(), Bridge(database=3)
    equal(switched.call("SELECT", 3), b"OK", "SELECT")
    switched.call("DEL", "shared")
    equal(switched.call("RL.TAKE", "shared", 5, "1/h")[2], 4, "db 3 by SELECT")
    equal(chosen.call("RL.TAKE", "shared", 5, "1/h")[2], 3, "db 3 by options")
    main.call("DEL", "shared")
    equal(chosen.call("EXISTS", "shared"), 1, "the key stays in db 3")
    switched.close()
    chosen.close()


@check
def _():
    """100 RL.TAKE in one batch"""
    key = suite.prefix + "batch"
    main.call("DEL", key)
    check_batch(main.batch([["RL.TAKE", key, 60, "1/h"]] * 100))


@check
def _():
    """an error inside a batch does not shift the others"""
    key = suite.prefix + "shift"
    main.call("DEL", key)
    take = ["RL.TAKE", key, 10, "1/h"]
    replies = main.batch([take, ["RL.TAKE", key, "ten", "1/h"], ["NOSUCH"], take, ["ECHO", "last"]])
    if isinstance(replies, Exception):
        begins(replies, "ERR", "the batch")
    else:
        check_shift(replies)
    equal(main.call("RL.TAKE", key, 10, "1/h")[:3], [0, 10, 7], "the call after it")


@check
def _():
    """RL.RESERVE 80 80 30000, 83 times"""
    key = suite.prefix + "burst"
    main.call("DEL", key)
    with Stopwatch() as watch:
        waits = main.batch([["RL.RESERVE", key, 80, 80, 30000]] * 83)
    check_reservations(waits, watch.ms)


@check
def _():
    """MULTI and EXEC"""
    key = suite.prefix + "multi"
    main.call("DEL", key)
    replies = main.batch([["RL.TAKE", key, 10, "1/h"], ["RL.RESERVE", key, 10, "1/h", 0, "COST", 9]], "transaction")
    equal(replies, [[0, 10, 9, -1, 3_600_000], 0], "EXEC")
    broken = main.batch([["RL.TAKE", key]], "transaction")
    begins(broken, ("ERR wrong number", "EXECABORT"), "a call that cannot be queued")
    equal(main.call("EXISTS", key), 1, "the connection is in step after it")


@check
def _():
    """SCAN"""
    keys = [suite.prefix + "scan:" + each for each in "abc"]
    for key in keys:
        main.call("RL.TAKE", key, 10, "10/h")
    equal(sorted(main.ask("scan", suite.prefix + "scan:*")), [key.encode() for key in keys], "SCAN")


@check_if("method")
def _():
    """the methods people use"""
    key = suite.prefix + "method"
    main.call("RL.TAKE", key, 10, "10/h")
    between(main.ask("method", "ttl", key), 300, 360, "ttl")
    between(main.ask("method", "pttl", key), 300_000, 360_000, "pttl")
    equal(main.ask("method", "keys", suite.prefix + "meth*"), [key.encode()], "keys")
    equal(main.ask("method", "echo", "two\r\nlines"), b"two\r\nlines", "echo")
    equal(main.ask("method", "del", key), 1, "del")


@check_if("pool")
def _():
    """a connection from the pool is asked for an ECHO and used again"""
    first, second = main.ask("pool")
    between(first, 1, 10**9, "CLIENT ID")
    equal(second, first, "CLIENT ID of the second")


def check_group(group):
    def body():
        for key in suite.keys(group["steps"]):
            main.call("DEL", key)
        for words, want in group["steps"]:
            command = [suite.own(word) for word in words]
            suite.compare(command, untyped(want) if main.about.get("untyped") else want, main.call(*command))
    checks.append((group["name"], body))


for each in GROUPS:
    check_group(each)


@check
def _():
    """password: right, wrong, none"""
    right = Bridge(PASSWORD_PORT, password=PASSWORD)
    equal(right.call("PING"), b"PONG", "right password")
    right.close()
    for options, beginning in (({"password": "wrong"}, "WRONGPASS"), ({}, "NOAUTH")):
        stranger = Bridge(PASSWORD_PORT, **options)
        # Told when it connects, or by the first call where that is when it connects.
        told = reply_of(stranger.about) if "error" in stranger.about else stranger.call("RL.PEEK", "k", 1, 1)
        begins(told, beginning, options or "no password")
        stranger.process.stdin.close()
        stranger.process.wait()


@check
def _():
    """user, password, database and name at once"""
    whole = Bridge(PASSWORD_PORT, **EVERYTHING)
    check_identity(whole.call("CLIENT", "INFO"))
    whole.close()


if "SUBSCRIBE" not in NOT_YET:
    @check
    def _():
        """SUBSCRIBE: a message, and the event of a pause"""
        listener, channel, key = Bridge(), suite.prefix + "channel", suite.prefix + "event"
        equal(listener.heard(channel, "PUBLISH", channel, "hello"), [channel.encode(), b"hello"], "the message")
        equal(listener.call("PING"), b"PONG", "the connection after UNSUBSCRIBE")
        _, payload = listener.heard("__rl@0__:pause", "RL.PAUSE", key, "10m")
        if key.encode() not in payload:
            raise Failed(f"the event does not name the key: {payload}")
        listener.close()


@check
def _():
    """cut off between request and reply: with an ID the key is charged once"""
    proxied = Bridge(PROXY_PORT)
    for name, more in (("cut", []), ("cut-id", ["ID", "order-17"])):
        key = suite.prefix + name
        reply = proxied.call("RL.TAKE", key, 10, "10/h", *more)
        charged = 2 if main.about["resends"] and not more else 1
        if main.about["resends"]:
            equal(reply[:3], [0, 10, 10 - charged], f"the reply that came in the end, {more}")
        elif not isinstance(reply, Exception):
            raise Failed(f"expected that it tells the break, got {reply}")
        elif more:
            equal(main.call("RL.TAKE", key, 10, "10/h", *more)[:3], [0, 10, 9], "sent again by hand")
        equal(main.call("RL.PEEK", key, 10, "10/h")[2], 10 - charged, f"what remains, {more}")
    proxied.close()


@check
def _():
    """reconnects after a restart, debt and pause are still there"""
    lasting, key = Bridge(RESTART_PORT, **EVERYTHING), suite.prefix + "restart"
    lasting.call("DEL", key, key + ":paused")
    equal(lasting.call("RL.CHARGE", key, 10, "10/h", 15), 2_160_000, "RL.CHARGE")
    equal(lasting.call("RL.PAUSE", key + ":paused", "10m"), 600_000, "RL.PAUSE")
    equal(subprocess.run(RESTART, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode, 0, "exit code of the restart")
    peek = lasting.call("RL.PEEK", key, 10, "10/h")
    if isinstance(peek, Exception):                         # told once that the connection broke
        peek = lasting.call("RL.PEEK", key, 10, "10/h")
    equal([peek[0], peek[2]], [1, 0], "RL.PEEK after the restart")
    between(peek[3], 2_100_000, 2_160_000, "wait after the restart")
    between(lasting.call("RL.PAUSE", key + ":paused", 1000), 540_000, 600_000, "pause after the restart")
    check_identity(lasting.call("CLIENT", "INFO"), named=main.about["renames"])
    lasting.close()


@check
def _():
    """closes"""
    main.close()


def too_late(*_):
    raise Failed("no answer within 20 s")


signal.signal(signal.SIGALRM, too_late)
for title, body in checks:
    signal.alarm(20)
    try:
        body()
        suite.report(title, None)
    except Exception as error:
        suite.report(title, error)
    signal.alarm(0)
    if suite.failed and body is checks[0][1]:
        break                                               # no other can pass if it does not connect
sys.exit(1 if suite.failed else 0)
