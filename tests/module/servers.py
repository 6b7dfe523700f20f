"""What the suites of the module need to start servers."""
import socket
import time

PATIENCE = 60


def free_ports(count):
    """Ports of 127.0.0.1 that nobody has."""
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def until(what, ready, not_yet=OSError):
    """Looks until it is so; errors of that kind say that it is not."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if ready():
                return
        except not_yet:
            pass
        time.sleep(0.05)
    raise SystemExit(f"not within {PATIENCE} s: {what}")
