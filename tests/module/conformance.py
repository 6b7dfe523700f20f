#!/usr/bin/env python3
"""The conformance suite against a server with the module, on a clock that stands still.

    conformance.py SUITE PORT STEPS SEED...     SUITE holds run.py; the module is loaded with `clock manual`

The clock that is moved by hand is the module's alone. What the server does by its own clock is left out, by name:
expiry (EXISTS, TTL and PTTL of keys whose time has come) and commands that are not the module's.
"""
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
import run  # noqa: E402
from resp import Connection  # noqa: E402

# Cases by title: why the module cannot be asked.
LEFT_OUT = {
    "time that goes back mints nothing and locks nobody out": "it sets the clock by DEBUG",
    "a key goes by itself when it is full again": "expiry is the server's",
    "plain counters, for fixed-window libraries": "expiry is the server's",
    "INCREX: bounded counter": "a command of the server",
}

class Anything:
    """What the model would say of the server's own clock."""

    def __eq__(self, _other):
        return True


def select(suite, folder):
    """Writes those cases to a folder that the module can be asked."""
    left_out = []
    for path in sorted((pathlib.Path(suite) / "cases").glob("*.txt")):
        blocks = re.split(r"(?m)^(?=== )", path.read_text())
        kept = []
        for block in blocks:
            title = block.splitlines()[0][3:] if block.startswith("== ") else None
            if title in LEFT_OUT:
                left_out.append(f"{path.stem}: {title} ({LEFT_OUT[title]})")
            else:
                kept.append(block)
        (folder / path.name).write_text("".join(kept))
    return left_out


def main():
    suite, port, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    run.CLOCK[:] = ["RL.CLOCK"]
    run.model.Server.pttl = lambda *_: Anything()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for line in select(suite, folder):
            print("left out", line)
        passed, failed = run.run_cases(lambda: Connection("127.0.0.1", port), None, folder)
    print(f"cases: {passed} passed, {failed} failed")
    for seed in map(int, sys.argv[4:]):
        agreed, broke = run.run_random(Connection("127.0.0.1", port), seed, steps, "bucket,gcra,window,log,sliding".split(","))
        print(f"random steps, seed {seed}: {agreed} agreed, {broke} failed")
        passed, failed = passed + (not broke), failed + broke
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
