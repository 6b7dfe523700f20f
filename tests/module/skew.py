#!/usr/bin/env python3
"""A replica whose clock is an hour ahead or behind takes over: nobody is handed what an hour would have refilled.

    skew.py MODULE

Last line: `N passed, M failed`.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "differential"))
from resp import Connection  # noqa: E402
from servers import free_ports, until  # noqa: E402

MODULE = str(pathlib.Path(sys.argv[1]).resolve())


def start(folder, name, ahead, *flags):
    port, home = free_ports(1)[0], pathlib.Path(folder) / name
    home.mkdir()
    command = [shutil.which("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(home), "--save", "",
               "--repl-diskless-sync-delay", "0", *flags, "--loadmodule", MODULE, "clock", str(ahead)]
    process = subprocess.Popen(command, stdout=(home / "log").open("w"), stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    return port, process


def call(connection, line):
    return connection.call(*line.encode().split())[1]


def take_over(folder, ahead, passes):
    """What a key that was drained on the primary says on the replica that has taken over."""
    primary_port, primary = start(folder, f"primary{ahead}", 0)
    until("the primary answers", lambda: Connection(primary_port))
    replica_port, replica = start(folder, f"replica{ahead}", ahead, "--replicaof", f"127.0.0.1 {primary_port}")
    until("the replica answers", lambda: Connection(replica_port))
    try:
        one, other = Connection(primary_port), Connection(replica_port)
        # Before and behind the full copy.
        call(one, "RL.TAKE before 5 1/10m COST 5")
        until("in step", lambda: b"master_link_status:up" in call(other, "INFO replication"))
        call(one, "RL.TAKE behind 5 1/10m COST 5")
        call(one, "WAIT 1 10000")
        call(other, "REPLICAOF NO ONE")
        primary.kill()
        remaining = [call(other, f"RL.PEEK {key} 5 1/10m")[2][1] for key in ("before", "behind")]
        left = [call(other, f"PTTL {key}") for key in ("before", "behind")]
        # Fifty minutes to fill, of which some seconds have passed.
        holds = remaining == [0, 0] and all(2_900_000 < ms <= 3_000_000 for ms in left)
        print(f"{'ok  ' if holds else 'FAIL'} a replica whose clock is {ahead} s ahead takes over: remaining {remaining}, {left} ms to live")
        passes.append(holds)
    finally:
        for process in (primary, replica):
            process.kill()
            process.wait()


def main():
    passes = []
    with tempfile.TemporaryDirectory() as folder:
        for ahead in (3600, -3600):
            take_over(folder, ahead, passes)
    print(f"{sum(passes)} passed, {len(passes) - sum(passes)} failed")
    sys.exit(0 if all(passes) else 1)


if __name__ == "__main__":
    main()
