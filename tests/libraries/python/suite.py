"""What the suites share. A suite does what its library's users do and prints one line of JSON a check:
{"check": name, "value": ...} or {"check": name, "error": text}. `run` starts it against Redis and against Tollgate and
compares the lines. A check that sees its library behave otherwise than documented raises, so it fails on its own.
"""
import json
import os
import time

import redis

PORT = int(os.environ["SUITE_PORT"])
URL = f"redis://127.0.0.1:{PORT}"
WINDOW_S = 600                       # the windows of all suites: long enough that no test outlives one
admin = redis.Redis(port=PORT, decode_responses=True)
checks = []


def about(seconds):
    """A time: compared with the tolerance that `run` states."""
    return {"about_ms": round(seconds * 1000)}


def until(instant):
    """An instant in seconds, as the time left until it."""
    return {"until_ms": round((instant - time.time()) * 1000)}


def equal(seen, wanted, what):
    if seen != wanted:
        raise AssertionError(f"{what}: {seen!r}, not {wanted!r}")


def end(*keys):
    """Run the keys' time out at once: no test waits for a window to end."""
    for key in keys:
        equal(admin.pexpire(key, 1), True, f"PEXPIRE {key}")
        while admin.exists(key):
            pass


def keys(begin):
    """Each key that begins with the text, with its time to live, in order."""
    return [[key, about(admin.pttl(key) / 1000)] for key in sorted(set(admin.scan_iter(f"{begin}*", count=1000)))]


def check(name):
    def note(body):
        checks.append((name, body))
        return body
    return note


def run():
    for name, body in checks:
        try:
            print(json.dumps({"check": name, "value": body()}), flush=True)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is this check's failure
            print(json.dumps({"check": name, "error": f"{type(error).__name__}: {error}"}), flush=True)
