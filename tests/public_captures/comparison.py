"""Compares the replies of a replay with the captured ones, and explains differences by known reasons."""
import re

STATUSES = {0: "SUCCESS", 0x103: "PENDING", 0x10B: "NOTIFY_CLEANUP", 0x10C: "NOTIFY_ENUM_DIR", 0x80000005: "BUFFER_OVERFLOW", 0x80000006: "NO_MORE_FILES",
            0xC000000D: "INVALID_PARAMETER", 0xC000000F: "NO_SUCH_FILE", 0xC0000010: "INVALID_DEVICE_REQUEST", 0xC0000011: "END_OF_FILE",
            0xC0000022: "ACCESS_DENIED", 0xC0000023: "BUFFER_TOO_SMALL", 0xC0000033: "OBJECT_NAME_INVALID", 0xC0000034: "OBJECT_NAME_NOT_FOUND",
            0xC0000035: "OBJECT_NAME_COLLISION", 0xC0000043: "SHARING_VIOLATION", 0xC00000BB: "NOT_SUPPORTED", 0xC00000E5: "INTERNAL_ERROR",
            0xC0000120: "CANCELLED", 0xC0000128: "FILE_CLOSED", 0xC000019C: "FS_DRIVER_REQUIRED", 0xC0000203: "USER_SESSION_DELETED",
            0xC0000225: "NOT_FOUND"}
# A request that needs a file or tree whose request failed in the replay.
DEPENDENT = "need a request that failed here"


class Reasons:
    """Known differences: a pattern, and a sentence. Patterns must match whole lines of `differences`."""

    def __init__(self, path):
        lines = [line.split("\t") for line in path.read_text().splitlines() if line]
        self.known = [(re.compile(pattern), reason) for pattern, reason in lines]
        self.used = set()

    def of(self, difference):
        for pattern, reason in self.known:
            if pattern.fullmatch(difference):
                self.used.add(pattern.pattern)
                return reason
        return None

    def unused(self):
        return [pattern.pattern for pattern, _ in self.known if pattern.pattern not in self.used]


def named(status):
    return STATUSES.get(status, f"{status:#010x}")


def differences(outcome):
    """How a reply differs from the captured one."""
    part, expected, reply = outcome.part, outcome.expected, outcome.reply
    if reply.status != expected.status:
        return [f"{named(expected.status)}, here {named(reply.status)}"]
    if expected.status != 0:
        same = expected.structure() == reply.structure()
        return [] if same else [f"structure {expected.structure()}, here {reply.structure()}"]
    before, after = part.shape(expected, outcome.is_pipe), part.shape(reply, outcome.is_pipe)
    names = sorted(before.keys() | after.keys())
    return [f"{name} {before.get(name)}, here {after.get(name)}" for name in names if before.get(name) != after.get(name)]


class Summary:
    """Counts of the requests of a capture, of those after the login."""

    def __init__(self, outcomes, skipped):
        self.outcomes, self.skipped = outcomes, dict(skipped)
        self.requests, self.equal, self.different, self.uncompared = len(outcomes), 0, 0, 0
        self.explained, self.unsent = {}, {}

    def explain(self, path, reasons):
        """Counts, and returns the differences without a reason."""
        wrong = []
        for outcome in self.outcomes:
            if outcome.unsent:
                why = DEPENDENT if outcome.unsent.startswith("needs frame") else outcome.unsent
                self.unsent[why] = self.unsent.get(why, 0) + 1
            elif outcome.expected is None or outcome.reply is None:
                self.uncompared += 1
            else:
                self.compare(path, outcome, reasons, wrong)
        return wrong

    def compare(self, path, outcome, reasons, wrong):
        found = differences(outcome)
        if not found:
            self.equal += 1
            return
        self.different += 1
        part = outcome.part
        counted = set()
        for text in found:
            reason = reasons.of(f"{path} {part.name} {part.described()}: {text}")
            if reason is None:
                wrong.append(f"frame {outcome.frame}, {part.name} {part.described()}: {text}")
            elif reason not in counted:
                counted.add(reason)
                self.explained[reason] = self.explained.get(reason, 0) + 1

    def add(self, other):
        self.requests += other.requests
        self.equal += other.equal
        self.different += other.different
        self.uncompared += other.uncompared
        for mine, theirs in ((self.explained, other.explained), (self.unsent, other.unsent), (self.skipped, other.skipped)):
            for name, count in theirs.items():
                mine[name] = mine.get(name, 0) + count

    def counts(self):
        return " | ".join(f"{count:,}" for count in (self.requests, self.equal, self.different, self.uncompared, sum(self.unsent.values())))

    def __str__(self):
        skipped = "".join(f"; {count} messages skipped: {reason}" for reason, count in self.skipped.items())
        return f"{self.requests} requests, {self.equal} equal, {self.different} different, {self.uncompared} not compared, {sum(self.unsent.values())} not sent{skipped}"
