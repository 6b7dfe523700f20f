"""When the replies of two servers to one command count as the same.

Byte for byte, but for what Redis leaves open (the order of KEYS), for time, and for the digits of a score. The servers run a
command some milliseconds apart, so what tells a remaining time or an instant may differ by so much. Redis 7.0 writes a
score with 17 digits (0.10000000000000001), later ones with as few as say the same number.
"""
IN_SECONDS = {b"TTL", b"EXPIRETIME"}
IN_MILLISECONDS = {b"PTTL", b"PEXPIRETIME"}
ANY_ORDER = {b"KEYS", b"HKEYS", b"HVALS"}
ANY_ORDER_OF_PAIRS = {b"HGETALL"}
SCORES = {b"ZADD", b"ZINCRBY", b"ZSCORE", b"ZRANGE", b"ZREVRANGE", b"ZRANGEBYSCORE", b"ZREVRANGEBYSCORE"}


def same_scores(one, other):
    """The same but for the digits in which numbers are written."""
    if one == other:
        return True
    if one[0] != other[0] or one[1] is None or other[1] is None:
        return False
    if one[0] == "*":
        return len(one[1]) == len(other[1]) and all(map(same_scores, one[1], other[1]))
    try:
        return one[0] in "$," and float(one[1]) == float(other[1])
    except ValueError:
        return False


def near(one, other, tolerance):
    """Two times are near; what is no time (-1, -2, nothing) is equal."""
    return one == other or (one > 0 and other > 0 and abs(one - other) <= tolerance)


def pairs(reply):
    kind, value = reply
    return sorted(value) if kind == "%" else sorted(zip(value[::2], value[1::2]))


def same(words, one, other, tolerance_ms):
    """Whether two replies to the command `words` are the same; `tolerance_ms` is how far apart two times may be."""
    if one == other:
        return True
    if one[0] != other[0] or one[1] is None or other[1] is None:
        return False
    name = words[0].upper()
    if name in IN_SECONDS and one[0] == ":":
        return near(one[1], other[1], 1 + tolerance_ms // 1000)
    if name in IN_MILLISECONDS and one[0] == ":":
        return near(one[1], other[1], tolerance_ms)
    if name in ANY_ORDER and one[0] == "*":
        return sorted(one[1]) == sorted(other[1])
    if name in ANY_ORDER_OF_PAIRS and one[0] in "*%":
        return len(one[1]) == len(other[1]) and pairs(one) == pairs(other)
    if name in SCORES:
        return same_scores(one, other)
    return name == b"RANDOMKEY"


def same_all(commands, one, other, tolerance_ms):
    """The same for the reply of EXEC to the queued `commands`."""
    if one[0] != "*" or other[0] != "*" or one[1] is None or other[1] is None:
        return one == other
    return len(one[1]) == len(other[1]) == len(commands) and all(
        same(words, a, b, tolerance_ms) for words, a, b in zip(commands, one[1], other[1]))
