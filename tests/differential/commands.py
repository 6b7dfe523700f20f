"""Random plain commands: well-formed ones, and the same with something wrong about them.

What is drawn depends on the seed and the list of commands alone, never on a reply, so that a run can be repeated.
Times to live are long enough never to pass, or a few milliseconds and waited for; no two that were ever given are
nearer than a second, so that it is never the machine's pace that decides whether GT or LT holds.
"""
import random
import time

from pair import Gone, Judged, Note, ScanAll, Step

KEYS = [b"s:1", b"s:2", b"s:3", b"z:1", b"z:2", b"h:1", b"h:2", b"l:1", b"l:2", b"any", b"\x00\xff\r\n", b""]
COUNTERS = [b"0", b"1", b"-1", b"2", b"10", b"9223372036854775806", b"9223372036854775807", b"-9223372036854775808"]
NO_INTEGERS = [b"", b" 1", b"1 ", b"+1", b"01", b"-0", b"1.5", b"1e3", b"0x10", b"abc", b"9223372036854775808", b"-9223372036854775809", b"\x001", b"inf"]
FLOATS = [b"0", b"1", b"-1.5", b"0.1", b"3.0", b"1e3", b"1e-7", b"100000000000000000000", b"1700000000123", b"1700000000123456.7", b"0.30000000000000004"]
NO_FLOATS = [b"", b" 1", b"1 ", b"nan", b"abc", b"1.5x", b"--1", b"1e", b"\x00"]
SCORES = FLOATS + [b"inf", b"-inf", b"+inf", b"1700000000000", b"2", b"3", b"5"]
BOUNDS = SCORES + [b"(1", b"(1700000000000", b"(-1.5", b"(inf", b"-inf", b"+inf"]
MEMBERS = [b"a", b"b", b"c", b"d", b"", b"\x00\x01", b"1700000000123", b"member with spaces"]
FIELDS = [b"start", b"end", b"count", b"f", b"", b"\xff"]
INDEXES = [b"0", b"1", b"-1", b"2", b"-2", b"5", b"-100", b"100"]
VALUES = [b"v", b"", b"\x00\r\n\xff", b"hello world", b"12", b"-7", b"3.5", b"9223372036854775807", b"01", b" 5", b"x" * 500]
JUNK = [b"", b"-1", b"abc", b"1.5", b"9223372036854775808", b"\x00", b"NX", b"XX", b"GT", b"LIMIT", b"WITHSCORES", b"KEEPTTL", b"GET", b"CH", b"INCR", b"999999999999"]
NAMES = [b"FOO", b"NOSUCH", b"foo\r\nbar", b"\xff\x00", b"x" * 200, b"", b"GETT"]
HELLOS = [[b"4"], [b"1"], [b"abc"], [b"3", b"nosuch"], [b"2", b"setname"], [b"3", b"auth", b"default"]]  # each an error
ENDS_MULTI = {b"EXEC", b"DISCARD"}
TRANSACTION = {b"MULTI", b"EXEC", b"DISCARD", b"WATCH", b"UNWATCH", b"SELECT"}
SPAN_MS_MIN = 3_600_000                                   # nothing that a test outlives
RELATIVE = {b"EXPIRE": (2, 1000), b"PEXPIRE": (2, 1), b"SETEX": (2, 1000), b"PSETEX": (2, 1)}
ABSOLUTE = {b"EXPIREAT": (2, 1000), b"PEXPIREAT": (2, 1)}
OPTIONS = {b"EX": (False, 1000), b"PX": (False, 1), b"EXAT": (True, 1000), b"PXAT": (True, 1)}


class Commands:
    """A stream of steps. `present` are the commands that may be used, in upper case."""

    def __init__(self, seed, present, connections=4):
        self.draw = random.Random(seed)
        self.connections = connections
        self.present = present
        self.base_s = int(time.time())
        self.spans = self.draw.sample(range(4000, 200_000), 100_000)
        self.makers = [(weight, name, maker) for weight, name, maker in self.table() if name in present]
        self.queuing = [False] * connections

    # --- words --------------------------------------------------------------------------------------------------------

    def key(self, kind=None):
        if kind and self.draw.random() < 0.92:
            return self.draw.choice([key for key in KEYS if key.startswith(kind)])
        return self.draw.choice(KEYS)

    def one(self, words):
        return self.draw.choice(words)

    def some(self, words, most=4):
        return [self.one(words) for _ in range(self.draw.randint(1, most))]

    def maybe(self, *words, chance=0.4):
        return list(words) if self.draw.random() < chance else []

    def integer(self):
        if self.draw.random() < 0.12:
            return self.one(NO_INTEGERS)
        return self.one(COUNTERS) if self.draw.random() < 0.5 else b"%d" % self.draw.randint(-1000, 1000)

    def value(self):
        if self.draw.random() < 0.003:
            return b"y" * self.one([65535, 65536, 65537, 100_000])
        return b"%d" % self.draw.randint(-50, 50) if self.draw.random() < 0.4 else self.one(VALUES)

    def score(self):
        return self.one(NO_FLOATS) if self.draw.random() < 0.05 else self.one(SCORES)

    def bound(self):
        return self.one(NO_FLOATS + [b"[1", b"("]) if self.draw.random() < 0.05 else self.one(BOUNDS)

    def index(self):
        return self.one(NO_INTEGERS) if self.draw.random() < 0.04 else self.one(INDEXES)

    def span(self, unit, absolute=False):
        """A time to live in seconds or milliseconds (`unit` 1000 or 1), or an instant; sometimes what is none."""
        odd = self.draw.random()
        if odd < 0.06:
            return self.one([b"0", b"-1", b"-9223372036854775808", b"9223372036854775807", b"9223372036854775", b"9223372036854776", b"-5000"])
        if odd < 0.1:
            return self.one(NO_INTEGERS)
        if odd < 0.12 and absolute:
            return b"1"
        # Relative ones end with the second, absolute ones in its middle.
        ms = self.spans.pop() * 1000 + (self.base_s * 1000 + 500 if absolute else 0)
        return b"%d" % (ms // unit + (1 if absolute and unit == 1000 else 0))

    def options(self, *names):
        return self.maybe(*self.some(names, 2), chance=0.3)

    # --- commands -----------------------------------------------------------------------------------------------------

    def table(self):
        """Weight, name, and what makes its arguments."""
        plain = [
            (8, b"GET", lambda: [self.key(b"s")]),
            (10, b"SET", self.set),
            (3, b"SETNX", lambda: [self.key(b"s"), self.value()]),
            (3, b"SETEX", lambda: [self.key(b"s"), self.span(1000), self.value()]),
            (3, b"PSETEX", lambda: [self.key(b"s"), self.span(1), self.value()]),
            (2, b"GETDEL", lambda: [self.key(b"s")]),
            (3, b"GETEX", self.getex),
            (2, b"GETSET", lambda: [self.key(b"s"), self.value()]),
            (2, b"STRLEN", lambda: [self.key(b"s")]),
            (2, b"APPEND", lambda: [self.key(b"s"), self.value()]),
            (4, b"MGET", lambda: self.some(KEYS, 5)),
            (2, b"MSET", lambda: sum(([self.key(b"s"), self.value()] for _ in range(self.draw.randint(1, 3))), [])),
            (2, b"MSETNX", lambda: sum(([self.key(b"s"), self.value()] for _ in range(self.draw.randint(1, 2))), [])),
            (6, b"INCR", lambda: [self.key(b"s")]),
            (8, b"INCRBY", lambda: [self.key(b"s"), self.integer()]),
            (3, b"DECR", lambda: [self.key(b"s")]),
            (4, b"DECRBY", lambda: [self.key(b"s"), self.integer()]),
            (3, b"INCRBYFLOAT", lambda: [self.key(b"s"), self.score()]),
        ]
        expiry = [
            (6, b"EXPIRE", lambda: [self.key(), self.span(1000), *self.options(b"NX", b"XX", b"GT", b"LT")]),
            (5, b"PEXPIRE", lambda: [self.key(), self.span(1), *self.options(b"NX", b"XX", b"GT", b"LT")]),
            (4, b"EXPIREAT", lambda: [self.key(), self.span(1000, True), *self.options(b"NX", b"XX", b"GT", b"LT")]),
            (4, b"PEXPIREAT", lambda: [self.key(), self.span(1, True), *self.options(b"NX", b"XX", b"GT", b"LT")]),
            (3, b"PERSIST", lambda: [self.key()]),
            (6, b"TTL", lambda: [self.key()]),
            (6, b"PTTL", lambda: [self.key()]),
            (3, b"EXPIRETIME", lambda: [self.key()]),
            (3, b"PEXPIRETIME", lambda: [self.key()]),
        ]
        keyspace = [
            (4, b"DEL", lambda: self.some(KEYS, 3)),
            (2, b"UNLINK", lambda: self.some(KEYS, 3)),
            (4, b"EXISTS", lambda: self.some(KEYS, 4)),
            (4, b"TYPE", lambda: [self.key()]),
            (2, b"TOUCH", lambda: self.some(KEYS, 4)),
            (2, b"RENAME", lambda: [self.key(), self.key()]),
            (2, b"RENAMENX", lambda: [self.key(), self.key()]),
            (2, b"KEYS", lambda: [self.one([b"*", b"s:*", b"?:1", b"[hz]:*", b"any", b"", b"s:\\1", b"[^s]*", b"[a-m]:?", b"*:*:*", b"\xff*"])]),
            (1, b"RANDOMKEY", lambda: []),
            (2, b"DBSIZE", lambda: []),
            (1, b"FLUSHDB", lambda: self.maybe(self.one([b"ASYNC", b"SYNC", b"LATER"]))),
            (1, b"FLUSHALL", lambda: self.maybe(self.one([b"ASYNC", b"SYNC", b"LATER"]), chance=0.6)),
            (1, b"SELECT", lambda: [self.one([b"0", b"0", b"1", b"2", b"15", b"16", b"-1", b"abc", b"01"])]),
        ]
        zset = [
            (10, b"ZADD", self.zadd),
            (3, b"ZREM", lambda: [self.key(b"z"), *self.some(MEMBERS)]),
            (4, b"ZCARD", lambda: [self.key(b"z")]),
            (4, b"ZCOUNT", lambda: [self.key(b"z"), self.bound(), self.bound()]),
            (4, b"ZSCORE", lambda: [self.key(b"z"), self.one(MEMBERS)]),
            (6, b"ZRANGE", self.zrange),
            (5, b"ZRANGEBYSCORE", lambda: [self.key(b"z"), self.bound(), self.bound(), *self.maybe(b"WITHSCORES"), *self.maybe(b"LIMIT", self.index(), self.index())]),
            (4, b"ZREMRANGEBYSCORE", lambda: [self.key(b"z"), self.bound(), self.bound()]),
            (2, b"ZREMRANGEBYRANK", lambda: [self.key(b"z"), self.index(), self.index()]),
            (2, b"ZINCRBY", lambda: [self.key(b"z"), self.score(), self.one(MEMBERS)]),
            (2, b"ZRANK", lambda: [self.key(b"z"), self.one(MEMBERS)]),
            (2, b"ZREVRANGE", lambda: [self.key(b"z"), self.index(), self.index(), *self.maybe(b"WITHSCORES")]),
            (2, b"ZREVRANGEBYSCORE", lambda: [self.key(b"z"), self.bound(), self.bound(), *self.maybe(b"WITHSCORES")]),
        ]
        hash_ = [
            (8, b"HSET", lambda: [self.key(b"h"), *sum(([self.one(FIELDS), self.value()] for _ in range(self.draw.randint(1, 3))), [])]),
            (4, b"HGET", lambda: [self.key(b"h"), self.one(FIELDS)]),
            (4, b"HMGET", lambda: [self.key(b"h"), *self.some(FIELDS)]),
            (4, b"HGETALL", lambda: [self.key(b"h")]),
            (5, b"HINCRBY", lambda: [self.key(b"h"), self.one(FIELDS), self.integer()]),
            (3, b"HDEL", lambda: [self.key(b"h"), *self.some(FIELDS)]),
            (2, b"HLEN", lambda: [self.key(b"h")]),
            (2, b"HEXISTS", lambda: [self.key(b"h"), self.one(FIELDS)]),
            (2, b"HKEYS", lambda: [self.key(b"h")]),
            (2, b"HVALS", lambda: [self.key(b"h")]),
            (2, b"HSETNX", lambda: [self.key(b"h"), self.one(FIELDS), self.value()]),
            (2, b"HMSET", lambda: [self.key(b"h"), self.one(FIELDS), self.value()]),
            (2, b"HINCRBYFLOAT", lambda: [self.key(b"h"), self.one(FIELDS), self.score()]),
        ]
        list_ = [
            (6, b"LPUSH", lambda: [self.key(b"l"), *(self.value() for _ in range(self.draw.randint(1, 3)))]),
            (3, b"RPUSH", lambda: [self.key(b"l"), *(self.value() for _ in range(self.draw.randint(1, 3)))]),
            (4, b"LRANGE", lambda: [self.key(b"l"), self.index(), self.index()]),
            (3, b"LLEN", lambda: [self.key(b"l")]),
            (4, b"LINDEX", lambda: [self.key(b"l"), self.index()]),
            (3, b"LTRIM", lambda: [self.key(b"l"), self.index(), self.index()]),
            (2, b"LPOP", lambda: [self.key(b"l"), *self.maybe(self.index())]),
            (2, b"RPOP", lambda: [self.key(b"l"), *self.maybe(self.index())]),
            (2, b"LREM", lambda: [self.key(b"l"), self.index(), self.value()]),
        ]
        connection = [
            (2, b"PING", lambda: self.maybe(self.value())),
            (1, b"ECHO", lambda: [self.value()]),
            (1, b"HELLO", lambda: list(self.one(HELLOS))),
            (2, b"WATCH", lambda: self.some(KEYS, 3)),
            (1, b"UNWATCH", lambda: []),
        ]
        return plain + expiry + keyspace + zset + hash_ + list_ + connection

    def set(self):
        words = [self.key(b"s"), self.value()]
        for _ in range(self.draw.choice([0, 0, 1, 1, 2, 3])):
            words += self.one([[b"NX"], [b"XX"], [b"GET"], [b"KEEPTTL"], [b"EX", self.span(1000)], [b"PX", self.span(1)],
                               [b"EXAT", self.span(1000, True)], [b"PXAT", self.span(1, True)], [b"NOPE"], [b"EX"]])
        return words

    def getex(self):
        return [self.key(b"s"), *self.one([[], [b"PERSIST"], [b"EX", self.span(1000)], [b"PX", self.span(1)], [b"EXAT", self.span(1000, True)],
                                           [b"PXAT", self.span(1, True)], [b"KEEPTTL"], [b"PERSIST", b"EX", b"5000000"]])]

    def zadd(self):
        flags = self.maybe(*self.some([b"NX", b"XX", b"GT", b"LT", b"CH", b"INCR"], 3), chance=0.3)
        return [self.key(b"z"), *flags, *sum(([self.score(), self.one(MEMBERS)] for _ in range(self.draw.choice([1, 1, 1, 2, 3]))), [])]

    def zrange(self):
        by_score = self.draw.random() < 0.4
        ends = [self.bound(), self.bound()] if by_score else [self.index(), self.index()]
        return [self.key(b"z"), *ends, *self.maybe(b"BYSCORE", chance=1.0 if by_score else 0.03), *self.maybe(b"REV", chance=0.3),
                *self.maybe(b"LIMIT", self.index(), self.index(), chance=0.2), *self.maybe(b"WITHSCORES")]

    # --- what is wrong with them --------------------------------------------------------------------------------------

    def spoil(self, words):
        """The command with an argument too few, too many, or of another kind; or an unchanged one in another case."""
        chance = self.draw.random()
        if chance < 0.02 and len(words) > 1:
            del words[-self.draw.randint(1, len(words) - 1):]
        elif chance < 0.04:
            words.append(self.one(JUNK))
        elif chance < 0.07 and len(words) > 1:
            words[self.draw.randrange(1, len(words))] = self.one(JUNK)
        elif chance < 0.075:
            words[0] = self.one(NAMES)
        if self.draw.random() < 0.2:
            words[0] = self.one([words[0].lower(), words[0].capitalize()])
            words = [word.lower() if word.isalpha() and word.isupper() else word for word in words]
        return words

    def is_open(self, words):
        """Whether two servers may answer the command differently: it gives a key a time to live that the test may or may
        not outlive, or it asks who they are."""
        name, times = words[0].upper(), []
        if name == b"HELLO" and [word.lower() for word in words[1:]] not in HELLOS:
            return True
        if name in RELATIVE or name in ABSOLUTE:
            at, unit = (RELATIVE.get(name) or ABSOLUTE.get(name))
            times += [(name in ABSOLUTE, unit, words[at])] if len(words) > at else []
        if name in (b"SET", b"GETEX"):
            times += [(*OPTIONS[word.upper()], after) for word, after in zip(words, words[1:]) if word.upper() in OPTIONS]
        for absolute, unit, word in times:
            try:
                ms = int(word) * unit - (self.base_s * 1000 if absolute else 0)
            except ValueError:
                continue
            if abs(ms) < SPAN_MS_MIN and not (ms <= 0 and not absolute):
                return True
        return False

    @staticmethod
    def instant_is_past(words):
        """Whether SET or GETEX gives a key an instant that is over."""
        return words[0].upper() in (b"SET", b"GETEX") and any(word.upper() in (b"EXAT", b"PXAT") and after == b"1" for word, after in zip(words, words[1:]))

    def command(self):
        while True:
            [(_, name, maker)] = self.draw.choices(self.makers, [weight for weight, *_ in self.makers])
            words = self.spoil([name, *maker()])
            if not self.is_open(words):
                return words

    # --- steps --------------------------------------------------------------------------------------------------------

    def steps(self, count):
        """`count` steps, in runs on one connection; transactions go on while others speak."""
        made = 0
        while made < count:
            at = self.draw.randrange(self.connections)
            for _ in range(self.draw.randint(1, 40)):
                for step in self.next(at):
                    made += 1
                    yield step

    def watch_story(self, at):
        """A key is watched, something is done by another connection, mostly to that key, and a transaction follows."""
        other = self.one([each for each in range(self.connections) if each != at and not self.queuing[each]] or [at])
        watched = self.key()
        words = self.command()
        if len(words) > 1 and self.draw.random() < 0.8:
            words[1] = watched
        if self.is_open(words) or self.instant_is_past(words) or words[0].upper() in TRANSACTION:
            words = [b"TYPE", watched]
        before = []
        if self.draw.random() < 0.5 and not {b"GT", b"LT"} & {word.upper() for word in words}:
            before = [Step(other, *words)]                     # then the same again may change nothing
        return [Step(at, b"SELECT", b"0"), Step(other, b"SELECT", b"0"), *before, Step(at, b"WATCH", watched), Note(at, watched), Step(other, *words),
                Note(at, watched), Step(at, b"MULTI"), Step(at, b"TYPE", watched), Judged(at, b"EXEC")]

    def next(self, at):
        chance, queuing = self.draw.random(), self.queuing[at]
        if chance < (0.15 if queuing else 0.03):
            words = self.one([[b"EXEC"], [b"EXEC"], [b"DISCARD"], [b"MULTI"], [b"EXEC", b"now"], [b"MULTI", b"now"]])
            if self.draw.random() < 0.8:
                words = [b"EXEC"] if queuing else [b"MULTI"]
            if len(words) == 1:
                self.queuing[at] = words[0] not in ENDS_MULTI
            return [Step(at, *words)]
        if not queuing and chance > 0.99:
            return self.watch_story(at)
        if not queuing and chance > 0.98:
            key, ms = self.key(), b"%d" % self.draw.randint(1, 3)
            gives = [[b"PEXPIRE", key, ms], [b"PSETEX", key, ms, b"v"], [b"SET", key, b"v", b"PX", ms]]
            return [Step(at, *self.one([give for give in gives if give[0] in self.present])), Gone(at, key), Step(at, b"DEL", key)]
        if not queuing and chance > 0.975:
            return [ScanAll(at, *self.maybe(b"MATCH", self.one([b"*", b"s:*", b"[zh]:?", b"nothing"])), *self.maybe(b"COUNT", self.one([b"1", b"3", b"100"])),
                            *self.maybe(b"TYPE", self.one([b"string", b"zset", b"hash", b"list", b"nosuch"])))]
        words = self.command()
        if words[0].upper() == b"WATCH" and len(words) > 1 and not queuing:
            return self.watch_story(at)
        steps = [Step(at, *words)]
        if self.instant_is_past(words):
            steps.append(Step(at, b"DEL", words[1]))       # DBSIZE may count a key that has ended
        return steps
