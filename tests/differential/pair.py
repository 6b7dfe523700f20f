"""Two servers that are told the same things, and what they answered differently."""
import re
import time

from compare import same, same_all
from resp import Connection, show_command, show_reply

BATCH_MAX = 32            # commands sent at once
LOOKS_MAX = 100_000       # looks at a key that is about to expire; each is a round trip


def present(port):
    """The commands that a server lists, in upper case."""
    connection = Connection(port)
    reply = connection.call(b"COMMAND")
    connection.close()
    return {entry[1][0][1].upper() for entry in reply[1]} if reply[0] == "*" else set()


class Step:
    """One thing to do on connection `at`, which a later replay can do again."""

    def __init__(self, at, *words):
        self.at, self.words = at, words

    def __str__(self):
        return f"[{self.at}] {show_command(self.words)}"

    def same(self, one, other, tolerance_ms):
        return same(self.words, one, other, tolerance_ms)


class Gone(Step):
    """Wait until a key that is about to expire has done so on both servers."""

    def __str__(self):
        return f"[{self.at}] until gone: {show_command(self.words)}"


class ScanAll(Step):
    """SCAN from 0 to the end; what all its replies hold together is compared. The words are its options."""

    def __str__(self):
        return f"[{self.at}] SCAN to the end {show_command(self.words)}"


class Note(Step):
    """Note what Redis holds at a key, for the EXEC that follows."""

    def __str__(self):
        return f"[{self.at}] note {show_command(self.words)}"


class Judged(Step):
    """An EXEC behind two notes. A watched key that was written to and holds what it held has not changed for Tollgate;
    for Redis it has."""

    unchanged = False

    def same(self, one, other, tolerance_ms):
        return super().same(one, other, tolerance_ms) or self.unchanged and one[0] in "*_" and one[1] is None and other[0] == "*"


class Difference:
    def __init__(self, step, one, other, commands):
        self.step, self.one, self.other, self.commands = step, one, other, commands

    def lines(self):
        inside = [f"      queued   {show_command(words)}" for words in self.commands or []]
        return [f"    sent     {self.step}"[:2000], *inside,
                f"      redis    {show_reply(self.one)}"[:2000], f"      tollgate {show_reply(self.other)}"[:2000]]


class Known:
    """The differences that are meant: each a pattern for the command and both replies, with its reason.

    The file has blocks of lines `command:`, `redis:`, `tollgate:` (regular expressions over what this program prints,
    each to match from beginning to end), `state: same` if both servers hold the same afterwards, and `#` for the reason.
    """

    def __init__(self, path):
        self.rules, rule = [], {}
        for line in [*path.read_text().splitlines(), ""]:
            if line.startswith("#"):
                continue
            if line.strip():
                key, _, value = line.partition(":")
                rule[key.strip()] = value.strip()
            elif rule:
                self.rules.append(rule)
                rule = {}
        self.times = [0] * len(self.rules)

    def find(self, words, one, other):
        for index, rule in enumerate(self.rules):
            texts = show_command(words), show_reply(one), show_reply(other)
            if all(re.fullmatch(rule[name], text, re.S | re.I) for name, text in zip(("command", "redis", "tollgate"), texts)):
                self.times[index] += 1
                return rule
        return None

    def tell(self):
        """Print how often each was met. One that is never met any more is to be taken out."""
        for rule, times in zip(self.rules, self.times):
            print(f"  met {times:5} times: {rule['command']} => {rule['tollgate']}")


class Pair:
    """Connections to both servers, by index: even ones speak RESP2, odd ones RESP3."""

    def __init__(self, redis, tollgate, known, connections=4):
        self.ports, self.known, self.count = (redis, tollgate), known, connections
        self.connections = []
        self.reset()

    def reset(self):
        """Empty both servers and connect anew."""
        self.close()
        self.connections = [[Connection(port, 2 + at % 2) for port in self.ports] for at in range(self.count)]
        self.queues = [None] * self.count         # what is queued in MULTI, a connection
        self.notes = []                           # what Redis held at a watched key
        self.longest_ms = 0.0                     # the longest time from sending a batch to its last reply
        self.flush()

    def flush(self):
        for port in self.ports:
            connection = Connection(port)
            reply = connection.call(b"FLUSHALL")
            assert reply == ("+", b"OK"), reply
            connection.close()

    def close(self):
        for pair in self.connections:
            for connection in pair:
                connection.close()

    def tolerance_ms(self):
        """A time is set in one batch and read in another; within each, the servers are at most the batch apart."""
        return int(2 * self.longest_ms) + 5

    def exchange(self, at, commands):
        """Send the commands to both, and pair their replies."""
        begin = time.monotonic()
        for connection in self.connections[at]:
            connection.send(commands)
        replies = [[connection.receive() for _ in commands] for connection in self.connections[at]]
        self.longest_ms = max(self.longest_ms, (time.monotonic() - begin) * 1000)
        return list(zip(*replies))

    def run(self, steps):
        """Do all steps; yields each difference that is not known, after which both servers are empty and connected anew."""
        batch = []
        for step in steps:
            if batch and (isinstance(step, (Gone, Note, ScanAll)) or step.at != batch[0].at or len(batch) == BATCH_MAX):
                yield from self.plain(batch)
                batch = []
            if isinstance(step, Gone):
                yield from self.gone(step)
            elif isinstance(step, ScanAll):
                yield from self.scan(step)
            elif isinstance(step, Note):
                self.note(step)
            else:
                if isinstance(step, Judged):
                    step.unchanged = len(self.notes) == 2 and self.notes[0] == self.notes[1]
                    self.notes = []
                batch.append(step)
        if batch:
            yield from self.plain(batch)

    def plain(self, batch):
        at, agree = batch[0].at, True
        for step, (one, other) in zip(batch, self.exchange(at, [step.words for step in batch])):
            commands = self.queues[at]
            self.follow(at, step.words, one)
            if not agree:
                continue
            name = step.words[0].upper()
            if commands is not None and name == b"EXEC" and self.queues[at] is None:
                agree, unknown = self.judge_exec(step, commands, one, other)
            else:
                commands = None
                agree, unknown = self.judge(step, one, other)
            if unknown:
                yield Difference(step, one, other, commands)
        if not agree:
            self.reset()

    def judge(self, step, one, other):
        """Whether both servers hold the same after these replies, and whether the replies differ unexplained."""
        if step.same(one, other, self.tolerance_ms()):
            return True, False
        rule = self.known.find(step.words, one, other)
        return rule is not None and rule.get("state") == "same", rule is None

    def judge_exec(self, step, commands, one, other):
        if same_all(commands, one, other, self.tolerance_ms()):
            return True, False
        both = one[1], other[1]
        if one[0] != "*" or other[0] != "*" or None in both or not len(both[0]) == len(both[1]) == len(commands):
            return self.judge(step, one, other)
        for words, *each in zip(commands, *both):
            agree, unknown = self.judge(Step(0, *words), *each)
            if not agree:                         # what follows in the same EXEC cannot be compared
                return False, unknown
        return True, False

    def follow(self, at, words, reply):
        """What the reference says about being inside MULTI."""
        name = words[0].upper()
        if name == b"MULTI" and reply == ("+", b"OK"):
            self.queues[at] = []
        elif name == b"EXEC" or name in (b"DISCARD", b"RESET") and len(words) == 1:
            self.queues[at] = None                # EXEC ends it even with the wrong number of arguments
        elif self.queues[at] is not None and reply == ("+", b"QUEUED"):
            self.queues[at].append(words)

    def note(self, step):
        """Its DUMP and when it ends."""
        [redis, _] = self.connections[step.at]
        redis.send([(b"DUMP", *step.words), (b"PEXPIRETIME", *step.words)])
        self.notes.append([redis.receive(), redis.receive()])

    def gone(self, step):
        for _ in range(LOOKS_MAX):
            [(one, other)] = self.exchange(step.at, [(b"EXISTS", *step.words)])
            if one == other == (":", 0):
                return
        yield Difference(step, one, other, None)
        self.reset()

    def scan(self, step):
        found = []
        for connection in self.connections[step.at]:
            cursor, keys = b"0", []
            for _ in range(LOOKS_MAX):
                reply = connection.call(b"SCAN", cursor, *step.words)
                if reply[0] != "*":
                    keys = reply
                    break
                cursor = reply[1][0][1]
                keys += reply[1][1][1]
                if cursor == b"0":
                    break
            found.append(keys if isinstance(keys, tuple) else ("*", sorted(set(keys))))
        agree, unknown = self.judge(Step(step.at, b"SCAN", b"0", *step.words), *found)
        if unknown:
            yield Difference(step, *found, None)
        if not agree:
            self.reset()
