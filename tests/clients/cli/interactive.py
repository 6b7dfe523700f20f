"""Types lines into redis-cli at a terminal, and prints what the terminal showed, without its escape sequences.

interactive.py HOST PORT LINE...    each is typed when the prompt is there; after the last redis-cli is told to quit
"""
import os
import pty
import re
import select
import sys

PATIENCE_S = 10
ESCAPES = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]|\r")
PROMPT = re.compile(rb"(?:\A|\n)[^\n]*:\d+(?:\[\d+\])?(?:\(TX\))?> $")

host, port, *lines = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvpe("redis-cli", ["redis-cli", "-h", host, "-p", port], {**os.environ, "TERM": "dumb", "REDISCLI_HISTFILE": "/dev/null"})


def read_to_prompt():
    shown = b""
    while not PROMPT.search(ESCAPES.sub(b"", shown)):
        if not select.select([terminal], [], [], PATIENCE_S)[0]:
            sys.exit(f"no prompt within {PATIENCE_S} s; shown: {shown}")
        shown += os.read(terminal, 65536)
    sys.stdout.buffer.write(ESCAPES.sub(b"", shown))


read_to_prompt()
for line in lines:
    os.write(terminal, line.encode() + b"\r")
    read_to_prompt()
os.write(terminal, b"QUIT\r")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
