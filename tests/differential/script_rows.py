"""What libraries' scripts are called with: for each, keys and arguments that its library sends, and odd ones.

Texts are not here; a script is named by its SHA1. A row is a function that makes one call for a `World`:
`(sha1, keys, arguments)`. Remaining times in a reply are named by their places, since two servers answer them some
milliseconds apart; everything else must be the same, type for type.
"""
ODD = [b"", b"abc", b"-1", b"0", b"1.5", b"1e2", b"0x10", b" 5", b"5 ", b"-7", b"nan", b"1000", b"true", b"1,5"]   # nothing that a loop would count up to
# Spans of time: long ones in seconds as well as in milliseconds, since no test may depend on when something ends.
ODD_SPANS = [b"", b"abc", b"-1", b"0", b"-0.5", b"1e9", b"0x7fffffff", b" 500000000", b"500000000.5", b"nan", b"inf", b"9007199254740993", b"5e8 "]

ROWS = []


class Row:
    """One family of scripts.

    `times` are the places of remaining times in the reply, () for the reply itself, and `spans` those of spans of time in
    the arguments. `prepare` puts the keys into a state of which no decision is at its edge. `clock`: the script reads the
    server's clock and writes it to the key and, in seconds as text, into the reply; it rounds times to live up to seconds.
    `says` is what its library looks for in the text of an error. `packaged`: some package brings its text.
    """

    def __init__(self, name, scripts, call, times=(), spans=(), prepare=None, keys=("a", "b", "c"), clock=False, says=b"", packaged=True):
        self.name, self.scripts, self.call, self.times, self.spans, self.packaged = name, scripts, call, times, spans, packaged
        self.prepare, self.keys, self.clock, self.says = prepare, [key.encode() for key in keys], clock, says
        ROWS.append(self)


def number(value):
    return b"%d" % value


class World:
    """The chances and the clock of one row."""

    def __init__(self, draw, row):
        self.draw, self.row = draw, row
        self.clock_s = 1_700_000_000.123 + draw.random()

    def key(self):
        return self.draw.choice(self.row.keys)

    def few(self, most):
        return number(self.draw.randint(1, most))

    def span_ms(self):
        return number(self.draw.choice([3_600_000, 86_400_000, 100_000_000, 123_456_789]))

    def span_s(self):
        return number(self.draw.choice([100_000, 86_400, 123_456, 10_000_000]))

    def flag(self, yes=b"true", no=b"false"):
        return self.draw.choice([yes, no])

    def pass_s(self, most):
        """Let the caller's clock go on; sometimes back, as clocks of several machines do."""
        self.clock_s += self.draw.uniform(-most / 20, most)
        return self.clock_s

    def some_call(self):
        """The row's call, one in ten with something odd about it."""
        script, keys, arguments = self.row.call(self)
        chance = self.draw.random()
        if chance < 0.06 and arguments:
            at = self.draw.randrange(len(arguments))
            arguments[at] = self.draw.choice(ODD_SPANS if at in self.row.spans else ODD)
        elif chance < 0.075 and arguments:
            del arguments[self.draw.randrange(len(arguments)):]
        elif chance < 0.085:
            arguments.append(self.draw.choice(ODD))
        elif chance < 0.09:
            keys.append(b"one key too many")
        elif chance < 0.095:
            keys.pop()
        return script, keys, arguments


# --- rate-limiter-flexible ---------------------------------------------------------------------------------------------

def flexible(world):
    points, seconds = world.draw.choice([b"1", b"1", b"2", b"5", b"0", b"-1"]), world.span_s()
    return FLEXIBLE, [world.key()], [points, seconds, *world.draw.choice([[], [points, seconds]])]


FLEXIBLE = "a1de965f42e177aa339706bd580f049065eca79a"
Row("rate-limiter-flexible", [FLEXIBLE], flexible, times=(1,), spans=(1,))


# --- rate-limit-redis, hono-rate-limiter -------------------------------------------------------------------------------

def redis_6(world):
    return world.draw.choice([REDIS_6, REDIS_6, REDIS_GET]), [world.key()], [world.span_ms()]


def redis_4(world):
    script = world.draw.choice([REDIS_423, REDIS_3, REDIS_GET])
    return script, [world.key()], [world.flag(b"1", b"0"), world.span_ms()]


REDIS_6 = "895b92e1712734e1b464999be23953485475357b"
REDIS_GET = "6aeb97ed6086dcdeafdc6fda3999a0d0e38ec96a"
REDIS_423 = "81dbecea94d2d10514719b20ed51faf711529d9d"
REDIS_3 = "3f424a504987d231baa2e19159bb5def8ad32f87"
Row("rate-limit-redis 6", [REDIS_6, REDIS_GET], redis_6, times=(1,), spans=(0,))
Row("rate-limit-redis 3 to 5, hono", [REDIS_423, REDIS_3, REDIS_GET], redis_4, times=(1,), spans=(1,))


# --- @fastify/rate-limit -----------------------------------------------------------------------------------------------

def fastify_11(world):
    if world.draw.random() < 0.2:
        return FASTIFY_PEEK, [world.key()], []
    return FASTIFY_11, [world.key()], [world.span_ms(), world.few(6), world.flag(), world.flag()]


def fastify_9(world):
    return FASTIFY_9, [world.key()], [world.span_ms(), world.few(6), world.draw.choice([b"-1", b"0", b"2"]), world.flag()]


FASTIFY_11 = "b8a19d47785922bb04e7a9fdb49e90d89be1b8af"
FASTIFY_PEEK = "4c7d9ef62b3d4f8efd8d11d5d2fd1a56b1e723bc"
FASTIFY_9 = "3f481dd9e75a7c63c2facb091af19e1ab17f2cc7"
Row("@fastify/rate-limit 10 and 11", [FASTIFY_11, FASTIFY_PEEK], fastify_11, times=(1,), spans=(0,))
Row("@fastify/rate-limit 9", [FASTIFY_9], fastify_9, times=(1,), spans=(0,))


# --- nest throttler storages -------------------------------------------------------------------------------------------

def nest(world):
    key = world.draw.choice([b"a", b"b"])
    return NEST, [b"{%s}:hits" % key, b"{%s}:blocked" % key], [b"default", world.span_ms(), world.few(5), world.span_ms()]


NEST = "f1e0da9c495676ab6904eb80db1f2811d5347f58"
Row("nest throttler storages", [NEST], nest, times=(1, 3), spans=(1, 3), keys=("{a}:hits", "{a}:blocked", "{b}:hits", "{b}:blocked"))


# --- limits (Flask-Limiter, slowapi) -----------------------------------------------------------------------------------

def limits_fixed(world):
    return LIMITS_FIXED, [world.key()], [world.span_s(), world.draw.choice([b"1", b"1", b"2", b"5", b"0", b"-1"])]


def limits_moving(acquire, gets):
    def call(world):
        expiry = 100_000
        now = world.pass_s(expiry / 8)
        limit = world.draw.choice([1, 3, 5, 5, 8])
        if world.draw.random() < 0.35:
            return world.draw.choice(gets), [world.key()], [repr(now - expiry).encode(), number(limit)]
        return acquire, [world.key()], [repr(now).encode(), number(limit), number(expiry), world.draw.choice([b"1", b"1", b"2", b"3", b"0", b"9"])]
    return call


SLIDING_S = 400_000


def limits_sliding(world):
    key = world.draw.choice([b"a", b"b"])
    keys = [b"%s/1" % key, b"%s/0" % key]
    if world.draw.random() < 0.3:
        return SLIDING_GET, keys, [number(SLIDING_S)]
    return SLIDING, keys, [world.draw.choice([b"5", b"10", b"20"]), number(SLIDING_S), world.draw.choice([b"1", b"1", b"2", b"5", b"0"])]


def sliding_ages(world, keys, _, ask):
    """Ages of the two windows, such that the weighted count is half a hit away from where its whole part changes."""
    steps, expiry_ms = [], SLIDING_S * 1000
    for place, key in enumerate(keys[:2]):
        reply = ask(b"GET", key)
        count = int(reply[1]) if reply[0] == "$" and reply[1] and reply[1].isdigit() else 0
        if reply[0] != "$" or reply[1] is None:
            continue
        part = (world.draw.randrange(count) + 0.5) / count if count else 0.5
        if place == 1 and world.draw.random() < 0.7:
            part = 1 + world.draw.uniform(0.1, 0.9)           # the current window is not over
        steps.append((b"PEXPIRE", key, number(int(part * expiry_ms))))
    return steps


LIMITS_FIXED = "628bd136a573a06b346879695681af12ccef300f"
MOVING = "741eab638ba93ed71020bb821c45c022d0fa02c4"
MOVING_GET = "ad795214f59fe26d6fdec07973836dd16586f5ec"
MOVING_OLD = "19c9778cd6391e2ee9f90aa518bf56256d15b4ae"
MOVING_OLD_GETS = ["f2ef2962263bbe72f66f5bbd0da234e74d880068", "bf95c654b6be0a54713252ef2362a25546faf877", "3136f0028c572d2959b5cdc5ec15b287fab6a9ff"]
SLIDING = "e8ac2a60cb040b0dbb56815a1e9c6fd032ce62e7"
SLIDING_GET = "e7a0a27d4101baabb124af209bb0245197a359a1"
Row("limits, fixed window", [LIMITS_FIXED], limits_fixed, spans=(0,))
Row("limits 5, moving window", [MOVING, MOVING_GET], limits_moving(MOVING, [MOVING_GET]), spans=(2,))
for get, versions in zip(MOVING_OLD_GETS, ["4.x", "3.10 to 3.14", "to 3.7"]):
    Row(f"limits {versions}, moving window", [MOVING_OLD, get], limits_moving(MOVING_OLD, [get]), spans=(2,))
Row("limits, sliding window", [SLIDING, SLIDING_GET], limits_sliding, times=(1, 3), spans=(1,), prepare=sliding_ages, keys=("a/1", "a/0", "b/1", "b/0"))


# --- others that packages carry ----------------------------------------------------------------------------------------

def fastapi(world):
    return FASTAPI, [world.key()], [world.few(5), world.span_ms()]


def laravel_add(world):
    return LARAVEL_ADD, [world.key()], [world.draw.choice([b"1", b"i:1;", b"\x00\xff\r\n", b""]), world.span_s()]


def laravel_duration(world):
    decay = 100_000
    now = world.pass_s(decay / 6)
    script = world.draw.choice([LARAVEL_DURATION, LARAVEL_DURATION, LARAVEL_TOO_MANY])
    return script, [world.key()], [(b"%.4f" % now).rstrip(b"0").rstrip(b"."), number(int(now)), number(decay), world.few(5)]


def laravel_concurrency(world):
    if world.draw.random() < 0.4:
        return LARAVEL_RELEASE, [world.key()], [world.draw.choice([b"id1", b"id2"])]
    return LARAVEL_LOCK, list(world.row.keys[:world.draw.randint(1, 3)]), [b"slot", world.span_s(), world.draw.choice([b"id1", b"id2"])]


def redis_gcra(world):
    period_ms = 1_000_000_000
    now = world.pass_s(period_ms / 1000 / 8) * 1000
    at = number(int(now)) if world.draw.random() < 0.8 else repr(now).encode()
    return GCRA, [world.key()], [at, world.few(8), world.few(8), number(period_ms), world.draw.choice([b"1", b"1", b"2", b"0", b"9"])]


def async_ratelimiter(world):
    duration = 1_000_000_000
    now_us = world.pass_s(duration / 1e6 / 6) * 1e6
    at = number(int(now_us)) if world.draw.random() < 0.5 else repr(now_us).encode()
    return ASYNC, [world.key()], [at, number(duration), world.few(6), world.flag(b"1", b"0")]


def django_incr(world):
    return DJANGO, [world.key()], [world.draw.choice([b"1", b"-1", b"5", b"0", b"9223372036854775807"])]


def pyrate(world):
    now = int(world.pass_s(20_000) * 1000)
    rates = []
    for interval in world.draw.sample([10_000_000, 50_000_000, 200_000_000], world.draw.randint(1, 3)):
        limit = world.draw.randint(1, 8)
        rates += [number(now - interval), number(limit), number(world.draw.choice([limit - 1, 0, -1]))]
    return PYRATE, [world.key()], [number(now), world.draw.choice([b"1", b"1", b"2", b"3", b"0"]), world.draw.choice([b"item", b""]), number(len(rates) // 3), *rates]


FASTAPI = "a3f9e982197e9e887f6b5dcb7ec273863bb83aad"
LARAVEL_ADD = "a08c9c69b7c07ae2485190873b90d128a23e502d"
LARAVEL_DURATION = "29cc07bd431ccbf64637e5dcb60484560fdfa2da"
LARAVEL_TOO_MANY = "1c5d436d6863e949247f4fa66fa1e32b7fa18da9"
LARAVEL_LOCK = "420ca604de4310d8301943a71390ee669720d640"
LARAVEL_RELEASE = "a50243715157b186c5162c69e02eff3bf0c7994a"
GCRA = "868f66d2db4929999a50c5ed5f57985f3cff7461"
ASYNC = "ad00ff6f099013f2aea94ed48c220cbf616c6a07"
DJANGO = "f4a7da3e5d8ea3b46642af08427151cae0190400"
PYRATE = "9cab88b1455f88d9ec955a816bb2da7dab402cdb"
Row("fastapi-limiter 0.1", [FASTAPI], fastapi, times=((),), spans=(1,))
Row("Laravel cache add", [LARAVEL_ADD], laravel_add, spans=(1,))
Row("Laravel duration limiter", [LARAVEL_DURATION, LARAVEL_TOO_MANY], laravel_duration, spans=(2,))
Row("Laravel concurrency limiter", [LARAVEL_LOCK, LARAVEL_RELEASE], laravel_concurrency, spans=(1,), keys=("slot1", "slot2", "slot3"))
Row("redis-gcra", [GCRA], redis_gcra, spans=(3,))
Row("async-ratelimiter, koa-ratelimit 6", [ASYNC], async_ratelimiter, spans=(1,))
Row("django-redis incr", [DJANGO], django_incr)
Row("pyrate-limiter 4.5", [PYRATE], pyrate)


# --- whose text no package brings: see README.md -----------------------------------------------------------------------

RATE_PERIOD_S = 1_000_000


def redis_rate(world):
    return world.draw.choice([RATE_ALLOW_N, RATE_AT_MOST]), [world.key()], [world.few(8), world.few(8), number(RATE_PERIOD_S), world.draw.choice([b"1", b"2", b"3", b"9"])]


def redis_rate_between(world, keys, arguments, ask):
    """An instant in the key such that what remains is half a call away from a whole number; without one, half a cost."""
    if len(keys) != 1 or len(arguments) < 4:
        return [(b"DEL", key) for key in keys]
    if world.draw.random() < 0.2:
        arguments[3] = world.draw.choice([b"1.5", b"2.5"])
        return [(b"DEL", keys[0])]
    emission = RATE_PERIOD_S / int(arguments[1]) if arguments[1].isdigit() and int(arguments[1]) else RATE_PERIOD_S
    instant = int(ask(b"TIME")[1][0][1]) - 1_483_228_800 + (world.draw.randrange(-2, 10) + 0.5) * emission
    return [(b"SET", keys[0], b"%.3f" % instant, b"EX", b"5000000")]


def ulule(world):
    if world.draw.random() < 0.3:
        return ULULE_PEEK, [world.key()], []
    return ULULE, [world.key()], [world.draw.choice([b"1", b"1", b"2", b"0", b"-1"]), world.draw.choice([world.span_ms(), b"0", b"-1"])]


def throttled(world):
    return THROTTLED, [world.key()], [world.draw.choice([b"1", b"2", b"3"]), world.draw.choice([b"1", b"2", b"3"]), world.span_s()]


def bucket4j(world):
    blobs = [b"\x00\x01", b"\xff" * 40, b"", b"3"]
    script = world.draw.choice(BUCKET4J)
    swap, timed = BUCKET4J.index(script) >= 2, BUCKET4J.index(script) % 2 == 1
    return script, [world.key()], [*([world.draw.choice(blobs)] if swap else []), world.draw.choice(blobs), *([world.span_ms()] if timed else [])]


def spring(world):
    now = number(int(world.pass_s(3000)))
    return SPRING, [b"{a}.tokens", b"{a}.timestamp"], [world.few(3), world.draw.choice([b"100000", b"250000"]), now, world.draw.choice([b"1", b"1000", b"40000", b"90000", b"0", b"300000"])]


def kong(world):
    if world.draw.random() < 0.5:
        return KONG_USAGE, [world.key()], [world.span_s()]
    return KONG_SYNC, [world.key()], [world.draw.choice([b"1", b"5", b"-1", b"0"]), number(4_000_000_000 + world.draw.randint(0, 1000))]


def traefik(world):
    now = number(int(world.pass_s(3) * 1_000_000))
    rate, burst, wait = world.draw.choice([b"1e-06", b"0.000002", b"0.5"]), world.few(4), world.draw.choice([b"0", b"500000", b"2000000"])
    return world.draw.choice(TRAEFIK), [world.key()], [rate, burst, world.span_s(), now, wait]


def rueidislimiter(world):
    now = int(world.pass_s(3) * 1000)
    key = world.key()
    return RUEIDISLIMITER, [key, key + b":ex"], [world.draw.choice([b"1", b"2", b"0"]), number(4_000_000_000_000 + now % 5000), number(now)]


RATE_ALLOW_N, RATE_AT_MOST = "f52a5b566060d79fd321d695df55bc918339c4aa", "054143318f521948424aa25df61d7f7ba835a9d7"
ULULE, ULULE_PEEK = "f74233f556d3f99c50b61169cf8aa8d5deb63fb2", "566f5c6a17e5fddb9a10bf389f754edd0d899c61"
THROTTLED = "ebd682e30de074a6919bde872b507734c7c3ebe5"
# Set if absent, the same for so long, swap, the same for so long.
BUCKET4J = ["1fed031c105d7c0315b3fc2e4a75e697247264f5", "c0569386b0382069581dfaa1a8d241140bc0eeb4",
            "9450de540565d89de15092a716555821601f128b", "535b2fd00a12a23393fe15cf99599ecc51cd3007"]
SPRING = "0ad5736ed1c04aae6ec194376c784b89b8c08a7a"
KONG_USAGE, KONG_SYNC = "c0c8112b7b72f6e62996d9728dce30fac38286b6", "5d30863604236a151eb61aae06fd7c8ba051d3e0"
Row("redis_rate 10", [RATE_ALLOW_N, RATE_AT_MOST], redis_rate, times=(2, 3), spans=(2,), prepare=redis_rate_between, clock=True, packaged=False)
Row("ulule/limiter 3", [ULULE, ULULE_PEEK], ulule, times=(1,), spans=(1,), packaged=False)
Row("throttled (Go)", [THROTTLED], throttled, spans=(2,), says=b"key does not exist", packaged=False)
Row("bucket4j", BUCKET4J, bucket4j, spans=(1, 2), packaged=False)
Row("Spring Cloud Gateway", [SPRING], spring, keys=("{a}.tokens", "{a}.timestamp"), packaged=False)
Row("Kong rate-limiting", [KONG_USAGE, KONG_SYNC], kong, spans=(0, 1), packaged=False)
TRAEFIK = ["3d93177e9b9a18f241edddc8d7e7fa1c47ae4eb6", "a82138cfb0cc9aa6e05d666c1f912744aefbe711"]
RUEIDISLIMITER = "1e1bbf02a27d9ef5fb53afd337a22928e4e748f5"
Row("Traefik 3", TRAEFIK, traefik, spans=(2,), packaged=False)
Row("rueidislimiter", [RUEIDISLIMITER], rueidislimiter, spans=(1,), packaged=False)
