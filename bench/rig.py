"""What the programs in bench/ have in common: servers on loopback, the generator, processor time, medians."""

import json
import os
import platform
import shlex
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
CACHE = os.environ.get("TOLLGATE_BENCH_CACHE") or os.path.expanduser("~/.cache/tollgate-bench")
TARGET = os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")
TOLLGATE = os.path.join(TARGET, "release/tollgate")
MODULE = os.path.join(TARGET, "release/libtollgate_module.so")
BARE = os.path.join(TARGET, "release/examples/bare")
READY_S = 30


def in_cache(name):
    """Where bench/install has put a program, if it has."""
    path = os.path.join(CACHE, "bin", name)
    return path if os.path.exists(path) else None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpus(text):
    """`0` or `0,1` as a list, which this machine must have."""
    found = [int(part) for part in text.split(",")]
    missing = set(found) - os.sched_getaffinity(0)
    if missing:
        raise SystemExit(f"there is no processor {missing.pop()} here: see --server-cpus and --generator-cpus")
    return text


class Server:
    """A server that was started here and is stopped at the end of the `with`."""

    def __init__(self, name, words, port, on):
        self.name, self.port = name, port
        self.work = tempfile.TemporaryDirectory()
        self.log = open(os.path.join(self.work.name, "log"), "wb")
        # In a directory of its own: what it writes goes away with it.
        words = ["taskset", "-c", on, *words]
        self.process = subprocess.Popen(words, cwd=self.work.name, stdout=self.log, stderr=self.log)
        self.pid = self.process.pid

    def __enter__(self):
        until = time.monotonic() + READY_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                if self.process.poll() is not None or time.monotonic() > until:
                    log = open(self.log.name, errors="replace").read()
                    raise SystemExit(f"{self.name} does not start: {log[-500:]}")
                time.sleep(0.02)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()
        self.work.cleanup()

    def cpu_ns(self):
        """Processor time of all its threads, user and system."""
        total = 0
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{thread}/schedstat") as file:
                total += int(file.read().split()[0])
        return total

    def call(self, *words):
        """One command; the reply as `tollgate cli` prints it to a pipe."""
        line = [TOLLGATE, "cli", "-p", str(self.port), *words]
        return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()

    def info(self, section, field):
        for line in self.call("INFO", section).splitlines():
            if line.startswith(field + ":"):
                return line.split(":", 1)[1].strip()
        raise SystemExit(f"{self.name} tells no {field}")


def redis(name, program, on, *more):
    port = free_port()
    words = [program, "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
    return Server(name, [*words, *more], port, on)


def tollgate(on, *more):
    """With everything on that is on unless told otherwise: journal, snapshots, metrics."""
    port, metrics = free_port(), free_port()
    return Server("Tollgate", [TOLLGATE, "--port", str(port), "--metrics-bind", f"127.0.0.1:{metrics}", *more], port, on)


WITHOUT_JOURNAL = ["--journal", "no", "--save", "0"]


def generator(server, on, *options, nice=0):
    """Starts `tollgate bench`; its result is `result(it)`."""
    line = ["taskset", "-c", on, "nice", "-n", str(nice)]
    line += [TOLLGATE, "bench", "-p", str(server.port), "--json", "--quiet", *map(str, options)]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def result(running, rough=False):
    """What the generator printed. A run with errors or calls that were not answered ends the program, unless the
    figures are only to be rough."""
    out, errors = running.communicate()
    if not out:
        raise SystemExit(f"the generator failed: {errors.strip()}")
    seen = json.loads(out)
    if seen["replies"]["errors"] or (running.returncode and not rough):
        raise SystemExit(f"this is no measurement: {seen['errors'] or seen['warnings']}")
    return seen


def bench(server, on, *options):
    """Runs the generator. Its result, with `server_us`: the server's processor time a call in microseconds."""
    before = server.cpu_ns()
    seen = result(generator(server, on, *options))
    seen["server_us"] = (server.cpu_ns() - before) / 1e3 / seen["replies"]["all"]
    return seen


def fill(server, on, keys, *command, pipeline=64):
    """One call for each key."""
    bench(server, on, "-n", keys, "-r", keys, "--draw", "sequence", "-P", pipeline, *command)


median = statistics.median


def build():
    """The release binary, the bare loop and, where libclang is, the module."""
    line = ["cargo", "build", "--release", "--locked", "--bin", "tollgate", "--example", "bare"]
    subprocess.run(line, cwd=ROOT, check=True)
    subprocess.run(["cargo", "build", "--release", "--locked", "--package", "tollgate-module"], cwd=ROOT, check=False)


def output_of(*words):
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def stolen_s():
    """Seconds that the hypervisor took from all processors since the start."""
    with open("/proc/stat") as file:
        return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


class Circumstances:
    """Under what the figures were taken, as lines of text."""

    def __init__(self):
        self.load, self.stolen, self.began = os.getloadavg()[0], stolen_s(), time.monotonic()

    def lines(self):
        commit = output_of("git", "rev-parse", "--short=12", "HEAD") or "unknown"
        if output_of("git", "status", "--porcelain", "--untracked-files=no"):
            commit += ", with changes"
        with open("/proc/cpuinfo") as file:
            models = {line.split(":", 1)[1].strip() for line in file if line.startswith("model name")}
        took = time.monotonic() - self.began
        return [
            f"commit     {commit}",
            f"date       {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC",
            f"machine    {os.cpu_count()} x {', '.join(sorted(models)) or platform.machine()}, Linux {platform.release()}",
            f"command    {shlex.join(['bench/' + os.path.basename(sys.argv[0]), *sys.argv[1:]])}",
            f"load       {self.load:.2f} before, {stolen_s() - self.stolen:.1f} s stolen in {took:.0f} s",
        ]


def table(rows, head):
    """Rows under their head: the first column and those without a head to the left, the others to the right."""
    rows = [head, *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = []
    for row in rows:
        cells = zip(row, widths, head)
        lines.append("  ".join(cell.rjust(width) if title else cell.ljust(width) for cell, width, title in cells).rstrip())
    return lines
