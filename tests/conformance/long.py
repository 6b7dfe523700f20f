#!/usr/bin/env python3
"""Long random runs of the conformance suite's exact model, with the one rule that the model does not have.

    long.py SUITE PORT STEPS KINDS SEED...     SUITE holds run.py and model.py; the server has --clock manual

A debt keeps its time when a rate rises and its permits when it falls, so some hundred changes of rate on one key
multiply it without bound, and the model's numbers with it. The server holds 2^127 parts of a permit and answers in
64 bits. So here: a call whose answer would say more than 64 bits, or that would have to hold more than that, is -ERR and
changes nothing; a reservation that only has to say "too late" says so.
"""
import copy
import sys

sys.path.insert(0, sys.argv[1])
import model  # noqa: E402
import run  # noqa: E402
from resp import Connection  # noqa: E402

SAID_MAX, HELD_MAX = 2**63, 2**127
ERR = "ERR"


def says_too_much(reply):
    return any(isinstance(n, int) and abs(n) >= SAID_MAX for n in (reply if isinstance(reply, list) else [reply]))


class Server(model.Server):
    def holds(self, key, limit):
        """Whether the key can be held under this limit."""
        bucket = self.keys.get(key)
        if not isinstance(bucket, model.Bucket) or (bucket.capacity, bucket.rate) == limit[1:3]:
            return True
        state = self.state(key, limit)
        return state is None or state.deficit * state.rate.denominator <= HELD_MAX

    def take(self, rules, peek=False):
        held = [self.holds(key, limit) for key, limit, _ in rules]
        never = [cost > limit[1] for _, limit, cost in rules]
        if not all(held):
            # What cannot be held waits longer than all that can be, so it binds, unless a cost can never go.
            first = never.index(True) if True in never else held.index(False)
            if "WRONGTYPE" in [super(Server, self).take([rule], True) for rule in rules]:
                return "WRONGTYPE"
            if not held[first]:
                return ERR
            reply = super().take([rules[first]], True)
        else:
            reply = super().take(rules, peek)
        return ERR if says_too_much(reply) else reply

    def reserve(self, key, limit, max_wait_ns, cost=1):
        if self.state(key, limit) is not None and not self.holds(key, limit):
            return model.NEVER if cost > limit[1] else -1
        return super().reserve(key, limit, max_wait_ns, cost)

    def charge(self, key, limit, cost):
        if self.state(key, limit) is not None and not self.holds(key, limit):
            return ERR
        before = copy.deepcopy(self.keys.get(key)), self.pauses.get(key)
        reply = super().charge(key, limit, cost)
        if reply == "WRONGTYPE":
            return reply
        after = self.keys[key]
        until = self.pause_until(key)
        too_much = after.deficit * after.rate.denominator > HELD_MAX or says_too_much(
            [reply, model.ceil_ms(after.reset_after(self.now, until))]
        )
        if not too_much:
            return reply
        for table, value in ((self.keys, before[0]), (self.pauses, before[1])):
            if value is None:
                table.pop(key, None)
            else:
                table[key] = value
        return ERR


def main():
    port, steps, kinds = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].split(",")
    run.model.Server = Server
    passed = failed = 0
    for seed in map(int, sys.argv[5:]):
        agreed, broke = run.run_random(Connection("127.0.0.1", port, timeout=60), seed, steps, kinds)
        print(f"long run, seed {seed}, {sys.argv[4]}: {agreed} agreed, {broke} failed", flush=True)
        passed, failed = passed + (not broke), failed + broke
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
