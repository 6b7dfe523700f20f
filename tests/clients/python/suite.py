"""What does not depend on the client: reporting, the table of calls (../cases.json) and how replies are compared."""
import json
import os
import pathlib
import time

HOST = os.environ.get("SUITE_HOST", "127.0.0.1")
PORT = int(os.environ["SUITE_PORT"])
PASSWORD_PORT = int(os.environ["SUITE_PASSWORD_PORT"])
PASSWORD = os.environ["SUITE_PASSWORD"]
RESTART_PORT = int(os.environ["SUITE_RESTART_PORT"])
CLUSTER_PORT = int(os.environ["SUITE_CLUSTER_PORT"])
PROXY_PORT = int(os.environ["SUITE_PROXY_PORT"])
NOT_YET = os.environ["SUITE_NOT_YET"].split()
RESTART = ["bash", "-c", os.environ["SUITE_RESTART"]]
GROUPS = json.loads((pathlib.Path(__file__).parent.parent / "cases.json").read_text())["groups"]


class Failed(Exception):
    pass


def show(value):
    """A reply on one line; of an error its text, since redis-py 8 leaves that out of repr()."""
    if isinstance(value, list):
        return f"[{', '.join(map(show, value))}]"
    return f"error {str(value)!r}" if isinstance(value, Exception) else repr(value)


def equal(got, want, what):
    if got != want:
        raise Failed(f"{what}: expected {want!r}, got {show(got)}")


def between(got, low, high, what):
    if not (isinstance(got, int) and low <= got <= high):
        raise Failed(f"{what}: expected {low}..{high}, got {show(got)}")


def begins(error, beginning, what):
    if not (isinstance(error, Exception) and str(error).startswith(beginning)):
        raise Failed(f"{what}: expected an error that begins with {beginning}, got {show(error)}")


def check_batch(replies):
    """100 times RL.TAKE of one permit out of 60."""
    equal([r[0] for r in replies], [0] * 60 + [1] * 40, "limited")
    equal([r[2] for r in replies], [max(0, 59 - i) for i in range(100)], "remaining")


def check_shift(replies):
    """RL.TAKE, a bad RL.TAKE, an unknown command, RL.TAKE, ECHO."""
    equal(replies[0][:3], [0, 10, 9], "first")
    if not isinstance(replies[1], Exception):
        raise Failed(f"second: expected an error, got {show(replies[1])}")
    if not (isinstance(replies[2], Exception) and "unknown command 'NOSUCH'" in str(replies[2])):
        raise Failed(f"third: expected an unknown command, got {show(replies[2])}")
    equal(replies[3][:3], [0, 10, 8], "fourth")
    equal(replies[4], b"last", "fifth")


def check_reservations(waits, passed_ms):
    """The burst goes at once, then a slot every 12.5 ms, less the time that has passed."""
    for i, wait in enumerate(waits):
        most = max(0, -((79 - i) * 25 // 2))
        least = max(0, int((i - 79) * 12.5 - passed_ms))
        between(wait, least, most, f"reservation {i + 1} ({passed_ms:.1f} ms passed)")


def check_identity(info, named=True):
    """CLIENT INFO, the server's own word, of who logged in as `default`, chose database 3 and is called from-options."""
    fields = dict(field.partition("=")[::2] for field in (info.decode() if isinstance(info, bytes) else info).split())
    wanted = {"user": "default", "db": "3", **({"name": "from-options"} if named else {})}
    equal({field: fields.get(field) for field in wanted}, wanted, "CLIENT INFO")


class Suite:
    def __init__(self, name, resp3):
        self.name, self.resp3, self.failed = name, resp3, 0
        self.prefix = name.replace(" ", "-") + ":"

    def report(self, title, error):
        if error is None:
            print(f"ok   {self.name}: {title}", flush=True)
        else:
            self.failed += 1
            text = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
            print(f"FAIL {self.name}: {title}: {text}", flush=True)

    def own(self, text):
        return self.prefix + text[1:] if isinstance(text, str) and text.startswith("$") else text

    def keys(self, steps):
        return sorted({self.own(word) for words, _ in steps for word in words if word.startswith("$")})

    def compare(self, words, want, got):
        wrong = self.mismatch(want, got)
        if wrong:
            raise Failed(f"{' '.join(words)!r}: {wrong}; the whole reply: {show(got)}")

    def mismatch(self, want, got):
        """What is wrong with the reply, or None."""
        if isinstance(want, dict):
            (kind, value), = want.items()
            if kind == "error":
                # redis-py cuts the leading ERR off what it raises.
                texts = (value, value.removeprefix("ERR").lstrip())
                return None if isinstance(got, Exception) and str(got).startswith(texts) else f"expected an error {value}"
            if isinstance(got, Exception):
                return f"got an error: {got}"
            if kind == "any":
                return None
            if kind == "between":
                low, high = value
                return None if isinstance(got, int) and low <= got <= high else f"expected {low}..{high}, got {show(got)}"
            if kind == "text":
                return None if isinstance(got, bytes) and value.encode() in got else f"expected a text with {value}"
            if self.resp3:
                if not isinstance(got, dict):
                    return f"expected a map, got {show(got)}"
                fields = got
            else:
                if not isinstance(got, list) or len(got) % 2:
                    return f"expected fields and values, got {show(got)}"
                fields = dict(zip(got[::2], got[1::2]))
            for field, expected in value.items():
                if field.encode() not in fields:
                    return f"no field {field}"
                wrong = self.mismatch(expected, fields[field.encode()])
                if wrong:
                    return f"{field}: {wrong}"
            return None
        if isinstance(want, list):
            if not isinstance(got, list) or len(got) != len(want):
                return f"expected {len(want)} elements, got {show(got)}"
            for i, expected in enumerate(want):
                wrong = self.mismatch(expected, got[i])
                if wrong:
                    return f"element {i}: {wrong}"
            return None
        if isinstance(want, str):
            want = self.own(want).encode()
        return None if type(got) is type(want) and got == want else f"expected {want!r}, got {show(got)}"


class Stopwatch:
    def __enter__(self):
        self.begin = time.monotonic()
        return self

    def __exit__(self, *_):
        self.ms = (time.monotonic() - self.begin) * 1000
