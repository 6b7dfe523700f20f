"""Metrics, as the parsers of others read them, under a million keys, and to the count."""

import shutil
import socket
import subprocess
import sys
import time
import traceback
import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

PORT, METRICS, DOCS = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
OPEN_METRICS = "application/openmetrics-text; version=1.0.0"
KEYS = 1_000_000
BATCH = 1_000

passed = failed = 0


def test(check):
    global passed, failed
    try:
        check()
        passed += 1
        print(f"ok   {check.__doc__}", flush=True)
    except Exception:
        failed += 1
        print(f"FAIL {check.__doc__}\n{traceback.format_exc()}", flush=True)


def page(accept="text/plain"):
    request = urllib.request.Request(f"http://127.0.0.1:{METRICS}/metrics", headers={"Accept": accept})
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode(), answer.headers["Content-Type"]


def samples():
    """Every series with its value."""
    families = open_metrics(page(OPEN_METRICS)[0])
    return {(s.name, *sorted(s.labels.items())): s.value for family in families for s in family.samples}


class Wire:
    """Requests in batches, whose replies are only counted: each ends a line that begins with one of `signs`."""

    def __init__(self):
        self.socket = socket.create_connection(("127.0.0.1", PORT))

    def send(self, lines, replies):
        self.socket.sendall("".join(f"{line}\r\n" for line in lines).encode())
        seen = 0
        text = b""
        while seen < replies:
            text = self.socket.recv(1 << 20)
            assert text, "the server closed"
            seen += text.count(b"\r\n")
        assert seen == replies, (seen, replies, text[-200:])


wire = Wire()
# Something of everything.
wire.send(["RL.POLICY SET meta 7 7/2s", "RL.POLICY SET odd\\x22name 5 1/h"], 2)
wire.send(["RL.TAKE a POLICY meta", "RL.TAKE b POLICY odd\\x22name", "RL.TAKE user:x 5 1/h", "nonsense"], 19)
wire.send(["RL.RESERVE r 1 1 60000"] * 5, 5)
wire.send(["RL.PAUSE p 1h", "SET s 1", "RPUSH l a", "RL.LEASE e 2 1h"], 6)


def one_by_one():
    """the strict parser of OpenMetrics reads all"""
    text, kind = page(OPEN_METRICS)
    assert kind.startswith("application/openmetrics-text"), kind
    families = {family.name: family for family in open_metrics(text)}
    assert families["tollgate_granted"].type == "counter"
    assert families["tollgate_wait_seconds"].type == "histogram" and families["tollgate_wait_seconds"].unit == "seconds"
    assert families["tollgate_memory_used_bytes"].unit == "bytes"


def the_older():
    """the parser of Prometheus's own format reads all"""
    text, kind = page()
    assert kind.startswith("text/plain; version=0.0.4"), kind
    families = {family.name: family for family in prometheus(text)}
    assert families["tollgate_granted"].type == "counter"
    assert families["tollgate_command_duration_seconds"].type == "histogram"


def both_agree():
    """both formats say the same"""

    def series(families):
        # A bound is 1.0 in the one and 1 in the other.
        number = lambda name, value: float(value) if name == "le" else value
        all_samples = (s for family in families for s in family.samples)
        return {(s.name, *sorted((name, number(name, value)) for name, value in s.labels.items())) for s in all_samples}

    assert series(open_metrics(page(OPEN_METRICS)[0])) == series(prometheus(page()[0]))


def promtool():
    """promtool finds nothing wrong with the metrics, nor with the alerts"""
    for words, text in ((["check", "metrics"], page()[0]), (["check", "rules", f"{DOCS}/alerts.yml"], "")):
        done = subprocess.run(["promtool", *words], input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def names_are_bounded():
    """a million keys add no series, and a scrape stays quick"""
    wire.send(["RL.TAKE user:0 5 1/h"], 6)
    page()
    before = samples()
    for begin in range(0, KEYS, BATCH):
        wire.send([f"RL.TAKE user:{key} 5 1/h" for key in range(begin, begin + BATCH)], 6 * BATCH)
    took = []
    for _ in range(5):
        began = time.perf_counter()
        text, _ = page()
        took.append(time.perf_counter() - began)
    after = samples()
    new = {series for series in after if series not in before}
    assert not new, sorted(new)[:5]
    assert "user:1" not in text and len(text) < 100_000, len(text)
    granted = ("tollgate_prefix_granted_total", ("prefix", "user:"))
    assert after[granted] - before[granted] == KEYS, after[granted]
    calls = ("tollgate_command_duration_seconds_count", ("command", "rl.take"))
    assert after[calls] - before[calls] == KEYS
    keys = ("tollgate_database_keys", ("db", "0"))
    assert after[keys] >= KEYS
    print(f"     {len(after)} series, {len(text)} bytes, {min(took) * 1000:.1f} ms for a scrape beside {int(after[keys])} keys")


def kinds_follow():
    """the sweep counts them all, by kind"""
    wire.send(["FLUSHALL"], 1)
    wire.send([f"RL.TAKE user:{key} 5 1/h" for key in range(BATCH)], 6 * BATCH)
    wire.send([f"SET s:{key} 1" for key in range(BATCH)], BATCH)
    # A round over so few takes a second; that it never comes is what the watch is for.
    watch = time.monotonic() + 180
    counted = [("tollgate_keys", ("kind", kind)) for kind in ("bucket", "string")]
    while (counts := [samples()[kind] for kind in counted]) != [BATCH, BATCH]:
        assert time.monotonic() < watch, counts


def bad_requests():
    """errors are counted by their code"""
    before = samples()
    wire.send(["RL.TAKE a 0 1"] * 250, 250)
    after = samples()
    for series in (("tollgate_errors_total", ("code", "ERR")), ("tollgate_commands_failed_total", ("command", "rl.take"))):
        assert after[series] - before.get(series, 0) == 250, (series, after[series])


checks = [one_by_one, the_older, both_agree, bad_requests, names_are_bounded, kinds_follow]
if shutil.which("promtool"):
    checks.insert(3, promtool)
else:
    print("     promtool is not there: left out")
for check in checks:
    test(check)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
