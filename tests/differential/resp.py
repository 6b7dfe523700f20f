"""A RESP client that keeps the types: a reply is a pair of its type byte and what it holds.

    ('+', b'OK')  ('-', b'ERR ...')  (':', 3)  ('$', b'...')  ('*', [reply, ...])  ('_', None)  ('%', [(reply, reply), ...])

A null of RESP2 is ('$', None) or ('*', None). Two replies are equal only if their bytes on the wire are.
"""
import socket


class Closed(Exception):
    """The server closed the connection."""


def encode(words):
    return b"".join([b"*%d\r\n" % len(words)] + [b"$%d\r\n%s\r\n" % (len(word), word) for word in words])


class Connection:
    def __init__(self, port, protocol=2):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer, self.at = b"", 0
        if protocol == 3:
            self.call(b"HELLO", b"3")

    def call(self, *words):
        self.send([words])
        return self.receive()

    def send(self, commands):
        self.socket.sendall(b"".join(map(encode, commands)))

    def receive(self):
        line = self.line()
        kind, rest = chr(line[0]), line[1:]
        if kind in "+-,#(":
            return kind, rest
        if kind == ":":
            return kind, int(rest)
        if kind == "_":
            return kind, None
        count = int(rest)
        if count < 0:
            return kind, None
        if kind in "$=":
            text = self.bytes(count + 2)
            return kind, text[:-2]
        if kind in "*~>":
            return kind, [self.receive() for _ in range(count)]
        if kind == "%":
            return kind, [(self.receive(), self.receive()) for _ in range(count)]
        raise ValueError(f"no reply begins like {line!r}")

    def line(self):
        while (end := self.buffer.find(b"\r\n", self.at)) < 0:
            self.more()
        line, self.at = self.buffer[self.at:end], end + 2
        return line

    def bytes(self, count):
        while len(self.buffer) - self.at < count:
            self.more()
        text, self.at = self.buffer[self.at:self.at + count], self.at + count
        return text

    def more(self):
        data = self.socket.recv(1 << 16)
        if not data:
            raise Closed
        self.buffer, self.at = self.buffer[self.at:] + data, 0

    def close(self):
        self.socket.close()


def show_word(word):
    """A word as redis-cli takes it: quoted if it has to be, and cut in the middle if it is long."""
    if len(word) > 200:
        return f"{show_word(word[:20])}..({len(word)} bytes)"
    if word and all(33 <= byte < 127 and byte not in b"\"'\\" for byte in word):
        return word.decode()
    return '"' + "".join(f"\\{chr(b)}" if b in b'"\\' else chr(b) if 32 <= b < 127 else f"\\x{b:02x}" for b in word) + '"'


def show_command(words):
    return " ".join(map(show_word, words))


def show_reply(reply):
    kind, value = reply
    if value is None:
        return f"{kind} nil"
    if kind in "*~>":
        return kind + "[" + ", ".join(map(show_reply, value)) + "]"
    if kind == "%":
        return "%{" + ", ".join(f"{show_reply(k)}: {show_reply(v)}" for k, v in value) + "}"
    if kind in "$=":
        return kind + show_word(value)
    if kind == ":":
        return f":{value}"
    return kind + "".join(chr(b) if 32 <= b < 127 else f"\\x{b:02x}" for b in value)
