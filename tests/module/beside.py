#!/usr/bin/env python3
"""A server with the module beside the stand-alone server: the same calls, the same replies to the byte.

    beside.py BINARY DIR SERVER PRIMARY REPLICA CALLS SEED...     DIR is the stand-alone server's; ports; all clocks are moved
                                                                  by hand

Random calls of every command that the module has, in RESP2 and RESP3, plain and inside MULTI. Now and then
the server with the module is loaded anew from its snapshot or its append-only file, or its replica must hold the same; and what the
stand-alone server has kept is exported into it, which then goes on with that.
"""
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "differential"))
from resp import Connection, show_command, show_reply  # noqa: E402

KEYS = [f"{{k}}{i}" for i in range(10)]
SPANS = ["1ms", "50ms", "1s", "7s", "60s"]
ADVANCES = [1, 999, 10**6, 12_500_000, 333_333_333, 10**9, 7 * 10**9, 61 * 10**9, 3600 * 10**9]
NOTHING = ("-", None)


class Calls:
    """Calls that make sense, most of them; what earlier ones were answered is named again."""

    def __init__(self, rng):
        self.rng = rng
        # Each with its number on either side.
        self.tickets, self.leases = [(KEYS[0], (1, 1))], [(KEYS[0], (1, 1))]
        # A key keeps to limits of one kind, which change under it.
        self.kinds = {key: rng.choice(["bucket", "bucket", "bucket", "gcra", "pace", "window", "sliding", "log"]) for key in KEYS}

    def limit(self, key):
        rng, kind = self.rng, self.kinds[key]
        if rng.random() < 0.02:
            kind = rng.choice(["bucket", "window", "log"])
        if kind == "bucket":
            return [rng.choice(["1", "5", "80"]), rng.choice(["80", "1", "0.5", "7/2s", "999999/h"])]
        if kind == "gcra":
            return ["GCRA", rng.choice(["0", "4"]), rng.choice(["1", "30"]), rng.choice(["1s", "60s"])]
        if kind == "pace":
            return ["PACE", rng.choice(["5", "1"])]
        return [kind.upper(), rng.choice(["1", "5"]), rng.choice(["2s", "500ms"])] + (
            ["ALIGN"] if kind == "window" and rng.random() < 0.3 else [])

    def rules(self, key, most=3):
        rng, words = self.rng, []
        for nth, name in enumerate([key] + rng.sample([k for k in KEYS if k != key], rng.choice([0, 0, 0, 1, most - 1]))):
            words += (["AND"] if nth else []) + [name] + self.limit(name)
            words += ["COST", rng.choice(["1", "2", "6"])] if rng.random() < 0.3 else []
        if rng.random() < 0.1:
            words += ["AND", "{k}leases", "LEASES", rng.choice(["2", "3"]), rng.choice(SPANS)]
        return words

    def options(self, *names):
        rng, words = self.rng, []
        if "TICKET" in names and rng.random() < 0.4:
            words += ["TICKET"] + ([rng.choice(SPANS)] if rng.random() < 0.5 else [])
        if "ID" in names and rng.random() < 0.3:
            words += ["ID", f"id{rng.randrange(6)}"]
        words += [name for name in ("INFO", "SHADOW") if name in names and rng.random() < 0.2]
        return words

    def next(self):
        rng, key = self.rng, self.rng.choice(KEYS)
        ticket_key, ticket = rng.choice(self.tickets[-20:])
        lease_key, lease = rng.choice(self.leases[-10:])
        return rng.choices(
            [
                lambda: ["RL.RESERVE"] + self.reserve(key) + self.options("LEASES", "TICKET", "ID", "INFO"),
                lambda: ["RL.TAKE"] + self.rules(key) + self.options("LEASES", "TICKET", "ID", "INFO", "SHADOW"),
                lambda: ["RL.PEEK"] + self.rules(key) + self.options("INFO"),
                lambda: ["RL.CHARGE", key] + self.limit(key) + [rng.choice(["1", "9"])],
                lambda: ["RL.REFUND", key, rng.choice(["1", "3"])],
                lambda: ["RL.USAGE", key],
                lambda: ["RL.PAUSE", key, rng.choice(SPANS)] + rng.choice([[], [], ["KEEP"], ["FORCE"], ["SLOW", "0.5", "10s"]]),
                lambda: ["RL.RESUME", key],
                lambda: ["RL.CONFIRM", ticket_key, ticket],
                lambda: ["RL.CANCEL", ticket_key, ticket],
                lambda: ["RL.SETTLE", ticket_key, ticket, rng.choice(["0", "1", "4"])],
                lambda: ["RL.LEASE", key, rng.choice(["1", "2"]), rng.choice(SPANS)] + (["OWNER", "me"] if rng.random() < 0.3 else []) + self.options("ID"),
                lambda: ["RL.RENEW", lease_key, lease, rng.choice(SPANS)],
                lambda: ["RL.RELEASE", lease_key, lease],
                lambda: ["RL.LEASES", key],
                lambda: [rng.choice(["CL.THROTTLE", "RL.THROTTLE", "THROTTLE"]), key, "4", "30", "60"],
                lambda: ["GCRA", key, "4", "30", "60"],
                lambda: [rng.choice(["DEL", "UNLINK"]), key],
                lambda: [rng.choice(["RL.TAKE", "RL.RESERVE", "RL.LEASE"]), key, rng.choice(["0", "x", "5"])],
            ],
            [14, 14, 4, 3, 2, 3, 3, 2, 4, 5, 4, 5, 2, 3, 2, 3, 2, 1, 1],
        )[0]()

    def reserve(self, key):
        rules = self.rules(key)
        first = rules.index("AND") if "AND" in rules else len(rules)
        wait = self.rng.choice(["0", "100", "30000"])
        # The wait stands behind the first rule's limit, before its options.
        cost = rules.index("COST") if "COST" in rules[:first] else first
        return rules[:cost] + [wait] + rules[cost:]

    def learn(self, words, replies):
        """Numbers of an answer, to be named again."""
        for pair in zip(*map(numbers, replies)):
            (self.leases if words[0] == "RL.LEASE" else self.tickets).append((words[1], pair))


def numbers(reply):
    """The tickets and leases in it: larger than anything else."""
    kind, value = reply
    if kind == ":":
        return [value] if value > 10**14 else []
    parts = value or [] if kind in "*~" else [part for pair in value for part in pair] if kind == "%" else []
    return [number for part in parts for number in numbers(part)]


def numbered(reply, known):
    """A reply with the numbers of tickets and leases in the order in which they came: no two servers give the same."""
    kind, value = reply
    if kind == ":" and value > 10**14:
        return kind, ("number", known.setdefault(value, max(known.values(), default=0) + 1))
    if kind in "*~" and value:
        return kind, [numbered(part, known) for part in value]
    if kind == "%":
        return kind, [tuple(numbered(part, known) for part in pair) for pair in value]
    return reply


def send(connection, way, words):
    """One call, one of three ways."""
    if way == "multi":
        connection.call(b"MULTI")
        if connection.call(*words)[0] == "-":
            connection.call(b"DISCARD")
            return NOTHING
        kind, replies = connection.call(b"EXEC")
        return replies[0] if kind == "*" else (kind, replies)
    return connection.call(*words)


class Pair:
    def __init__(self, ports, protocol):
        self.server, self.primary, self.replica = (Connection(port, protocol) for port in ports)

    def advance(self, ns):
        self.server.call(b"DEBUG", b"CLOCK", b"ADVANCE", b"%dns" % ns)
        self.primary.call(b"RL.CLOCK", b"ADVANCE", b"%dns" % ns)

    def synchronize(self):
        """Moves the clock that is behind, a thousand days at a time: one step is ten years at most."""
        clocks = [(self.server, b"DEBUG CLOCK"), (self.primary, b"RL.CLOCK")]
        while True:
            instants = [connection.call(*clock.split(), b"NOW")[1] for connection, clock in clocks]
            if instants[0] == instants[1]:
                return
            behind, clock = clocks[instants.index(min(instants))]
            step = min(abs(instants[0] - instants[1]), 1000 * 86400 * 10**9)
            behind.call(*clock.split(), b"ADVANCE", b"%dns" % step)


def check_replica(pair):
    """Waits until the replica has all, and compares what the two hold."""
    pair.primary.call(b"WAIT", b"1", b"10000")
    digests = [connection.call(b"DEBUG", b"DIGEST") for connection in (pair.primary, pair.replica)]
    return None if digests[0] == digests[1] else f"the replica holds something else: {digests}"


def reload(pair, rng):
    """What has expired by the clock that stands still goes, so the contents may differ; what is said afterwards must not."""
    how = rng.choice(["RELOAD", "LOADAOF", "LOADAOF"])
    if how == "LOADAOF" and rng.random() < 0.5:
        answer = pair.primary.call(b"BGREWRITEAOF")
        while b"aof_rewrite_in_progress:1" in (seen := pair.primary.call(b"INFO", b"persistence")[1]) or b"scheduled:1" in seen:
            pass
        if answer[0] != "+" or b"aof_last_bgrewrite_status:ok" not in seen:
            return f"not rewritten: {answer}"
    answer = pair.primary.call(b"DEBUG", how.encode())
    return None if answer[0] == "+" else f"not loaded: {answer}"


def move(pair, binary, folder, source, known):
    """Exports what the stand-alone server holds into the other, in the place of what that holds."""
    pair.server.call(b"SAVE")
    pair.primary.call(b"FLUSHALL")
    port = str(pair.primary.socket.getpeername()[1])
    exported = subprocess.run([binary, "export", "--dir", folder], capture_output=True, check=True).stdout
    said = subprocess.run(["redis-cli", "-p", port], input=exported, capture_output=True, check=True).stdout
    # Its tickets and leases have the numbers of where they come from.
    known[1].update(known[0])
    for held in (source.tickets, source.leases):
        held[:] = [(key, (pair[0], pair[0])) for key, pair in held]
    wrong = [reply for reply in said.split(b"\n") if reply not in (b"OK", b"")]
    return f"exported and refused: {wrong[:3]}" if wrong or len(said.split()) != len(exported.splitlines()) else None


def history(binary, folder, ports, calls, seed):
    rng = random.Random(seed)
    pair = Pair(ports, protocol=rng.choice([2, 3]))
    pair.server.call(b"FLUSHALL")
    pair.primary.call(b"FLUSHALL")
    pair.synchronize()
    source, told, known = Calls(rng), [], ({}, {})
    # What is loaded anew holds nothing that has expired, so it cannot be compared with a replica any more.
    reloads = rng.random() < 0.5
    for step in range(calls):
        if rng.random() < 0.2:
            ns = rng.choice(ADVANCES)
            told.append(f"advance {ns}")
            pair.advance(ns)
            continue
        if rng.random() < 0.005:
            if reloads:
                what, wrong = "loaded anew", reload(pair, rng)
            elif rng.random() < 0.5:
                what, wrong = "replica compared", check_replica(pair)
            else:
                what, wrong = "exported", move(pair, binary, folder, source, known)
            told.append(what)
            if wrong:
                return step, wrong, told
            continue
        words, way = source.next(), rng.choice(["plain", "plain", "multi"])
        sides = [[str(word[side] if isinstance(word, tuple) else word).encode() for word in words] for side in (0, 1)]
        got = [send(connection, way, side) for connection, side in zip((pair.server, pair.primary), sides)]
        if words[0] in ("DEL", "UNLINK"):
            # One whose time has come counts until it is looked at, and here that is told by another clock.
            got = [got[0], got[0]]
        same = [numbered(reply, numbers_known) for reply, numbers_known in zip(got, known)]
        call = f"{way} {show_command(sides[1])}"
        told.append(f"{call} -> {show_reply(got[1])}")
        if same[0] != same[1]:
            return step, f"{call}\n    server {show_reply(got[0])}\n    module {show_reply(got[1])}", told
        source.learn(words, got)
    return calls, None if reloads else check_replica(pair), told


def main():
    binary, folder, ports, calls = sys.argv[1], sys.argv[2], tuple(map(int, sys.argv[3:6])), int(sys.argv[6])
    passed = failed = 0
    for seed in map(int, sys.argv[7:]):
        step, wrong, told = history(binary, folder, ports, calls, seed)
        print(f"beside the stand-alone server, seed {seed}: {step} steps" + (f", then\n    {wrong}" if wrong else ""))
        if wrong:
            print("    before that:\n        " + "\n        ".join(told[-15:]))
        passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
