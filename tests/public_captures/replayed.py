"""Replays the events of a capture at a server: the captured bytes of every request with the identifiers of the replay."""
import select
import socket
import struct
import time

import captured
import smb2

# A reply that takes longer is a failure.
REPLY_SECONDS = 60
SHARE = "share"
SIGNING_ENABLED = 1
# The device of control codes for pipes.
NAMED_PIPE = 0x11
DEFAULT_DIALECTS = (0x0202, 0x0210)
MORE_PROCESSING = 0xC0000016
# Flags of NTLM: Unicode, request of the target, NTLM, always sign, extended session security (MS-NLMP 2.2.2.5).
NTLM_FLAGS = 0x00088205


class Broken(Exception):
    """The server closed the connection, or did not reply in time."""


class Outcome:
    """One request: `reply` is the server's, none if the request was not sent (`unsent` says why). `opener` is the CREATE of a
    compound whose file it uses."""

    def __init__(self, frame, part, expected, reply=None, unsent=None, opener=None, is_pipe=False):
        self.frame, self.part, self.expected, self.reply, self.unsent = frame, part, expected, reply, unsent
        self.opener, self.is_pipe = opener, is_pipe


class Wire:
    """One TCP connection to the server: messages out, replies by message identifier."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), REPLY_SECONDS)
        self.next_message, self.credits, self.received, self.replies, self.interim, self.breaks = 0, 1, bytearray(), {}, {}, []

    def send(self, data):
        try:
            self.socket.sendall(len(data).to_bytes(4, "big") + data)
        except OSError as error:
            raise Broken(f"the connection ended: {error}") from error

    def take_id(self, charge):
        number = self.next_message
        self.next_message += max(1, charge)
        self.credits -= max(1, charge)
        return number

    def receive(self, end):
        """Waits for data, and sorts the complete messages in it."""
        if not select.select([self.socket], [], [], max(0, end - time.monotonic()))[0]:
            raise Broken(f"no reply in {REPLY_SECONDS} s")
        try:
            data = self.socket.recv(1 << 20)
        except OSError as error:
            raise Broken(f"the connection ended: {error}") from error
        if not data:
            raise Broken("the server closed the connection")
        self.received += data
        while len(self.received) >= 4 and len(self.received) >= 4 + int.from_bytes(self.received[1:4], "big"):
            length = int.from_bytes(self.received[1:4], "big")
            parts = list(smb2.parts(bytes(self.received[4:4 + length])))
            if not parts or any(not part.flags & smb2.SERVER_TO_REDIR for part in parts):
                raise Broken(f"not a reply of SMB2: {bytes(self.received[:80]).hex()}")
            for part in parts:
                self.sort(part)
            del self.received[:4 + length]

    def sort(self, part):
        self.credits += smb2.u16(part.data, 14)
        if part.message == (1 << 64) - 1:
            self.breaks.append(part)
        elif part.flags & smb2.ASYNC and part.status == smb2.PENDING:
            self.interim[part.message] = part.async_id
        else:
            self.replies[part.message] = part

    def wait(self, condition):
        end = time.monotonic() + REPLY_SECONDS
        while not condition():
            self.receive(end)

    def call(self, command, body, session=0, tree=0):
        """An own request."""
        number = self.take_id(1)
        self.send(struct.pack("<4sHHIHHIIQIIQ16s", b"\xfeSMB", 64, 1, 0, command, 256, 0, 0, number, 0xFEFF, tree, session, bytes(16)) + body)
        self.wait(lambda: number in self.replies)
        return self.replies.pop(number)

    def negotiate(self, capture, number):
        """With the client's own bytes, but no dialect that the captured server did not select, and no required signatures."""
        chosen = capture.negotiated.get(number, 0)
        request = first_of(capture, number, smb2.NEGOTIATE)
        multi_protocol = capture.smb1_negotiate.get(number)
        if multi_protocol:
            self.send(multi_protocol)
            self.wait(lambda: 0 in self.replies)
            reply = self.replies.pop(0)
            self.next_message = 1
            dialect = smb2.u16(reply.data, 68)
            if reply.status != 0 or dialect == 0x0202:
                return reply.status
        body = bytearray(request.data[64:] if request else own_negotiate(DEFAULT_DIALECTS if chosen == 0 else (chosen,)))
        restrict(body, chosen)
        return self.call(smb2.NEGOTIATE, bytes(body)).status

    def log_in(self):
        """As a guest; returns the identifier of the session."""
        reply = self.call(smb2.SESSION_SETUP, setup(ntlm_negotiate()))
        if reply.status == MORE_PROCESSING:
            reply = self.call(smb2.SESSION_SETUP, setup(ntlm_authenticate()), session=reply.session)
        if reply.status != 0:
            raise Broken(f"the login has status {reply.status:#x}")
        return reply.session


def ntlm_negotiate():
    return b"NTLMSSP\0" + struct.pack("<II16s", 1, NTLM_FLAGS, bytes(16))


def ntlm_authenticate():
    """A login as `guest`, with responses that no password has."""
    user, answer, at = "guest".encode("utf-16-le"), bytes(24), 64
    fields = [answer, answer, b"", user, b"", b""]
    token = b"NTLMSSP\0" + struct.pack("<I", 3)
    for field in fields:
        token += struct.pack("<HHI", len(field), len(field), at)
        at += len(field)
    return token + struct.pack("<I", NTLM_FLAGS) + b"".join(fields)


def first_of(capture, number, command):
    events = (event for event in capture.events if event.connection == number)
    return next((part for event in events for part in event.parts if part.command == command), None)


def setup(token):
    return struct.pack("<HBBIIHHQ", 25, 0, SIGNING_ENABLED, 0, 0, 88, len(token), 0) + token


def own_negotiate(dialects):
    return struct.pack("<HHHHI16sQ", 36, len(dialects), SIGNING_ENABLED, 0, 0, bytes(16), 0) + struct.pack(f"<{len(dialects)}H", *dialects)


def restrict(body, chosen):
    """Replaces the dialects above that of the captured server by it in the body of a NEGOTIATE request."""
    struct.pack_into("<H", body, 4, SIGNING_ENABLED)
    for at in range(36, 36 + 2 * smb2.u16(body, 2), 2):
        if chosen and smb2.u16(body, at) > chosen:
            struct.pack_into("<H", body, at, chosen)


class Replay:
    """The state of a replay: which identifier of the capture is which of the server."""

    def __init__(self, capture, port):
        self.capture, self.port = capture, port
        self.wires, self.sessions, self.trees, self.files, self.keys = {}, {}, {}, {}, {}
        # (connection, message) of the capture -> wire, identifier of its message, outcome.
        self.sent, self.outcomes, self.lost = {}, [], {}

    def run(self):
        for event in self.capture.events:
            if event.answered is None:
                self.perform(event)
            elif event.answered in self.sent and not self.is_open_ended(event.answered):
                self.collect(event.answered)
        self.finish()
        return self.outcomes

    def wire(self, number):
        if number not in self.wires:
            wire = self.wires[number] = Wire(self.port)
            status = wire.negotiate(self.capture, number)
            if status != 0:
                raise Broken(f"NEGOTIATE has status {status:#x}")
        return self.wires[number]

    def session_of(self, number, part):
        """The connection and session of the replay. Further channels of a session use the first, for their keys are unknown."""
        if part.session not in self.sessions:
            wire = self.wire(number)
            self.sessions[part.session] = (wire, wire.log_in())
        return self.sessions[part.session]

    def perform(self, event):
        first = event.parts[0]
        if first.command in (smb2.NEGOTIATE, smb2.SESSION_SETUP):
            self.wire(event.connection)
            return
        wire, session = self.session_of(event.connection, first)
        if first.command == smb2.CANCEL:
            self.cancel(event, first, wire, session)
            return
        unsent = self.unsent(event, first)
        if unsent:
            for part in event.parts:
                reply = self.capture.reply(event.connection, part)
                self.outcomes.append(Outcome(event.frame, part, reply, unsent=unsent))
                self.lose(part, reply, unsent)
            return
        data, position, opener = bytearray(), 0, None
        for part in event.parts:
            charge = part.charge if self.dialect(event.connection) != 0x0202 else 0
            outstanding = [key for key in self.sent if self.sent[key][0] is wire]
            while wire.credits < max(1, charge) + len(event.parts) and outstanding:
                self.collect(outstanding.pop(0))
            number = wire.take_id(charge)
            rewritten = self.rewrite(event.connection, part, session, number, last=position == len(event.parts) - 1)
            data += rewritten
            is_pipe = self.capture.is_pipe(first.session, first.tree, part)
            outcome = Outcome(event.frame, part, self.capture.reply(event.connection, part), opener=opener, is_pipe=is_pipe)
            opener = outcome if part.command == smb2.CREATE else opener
            self.outcomes.append(outcome)
            self.sent[(event.connection, part.message)] = (wire, number, outcome)
            position += 1
        wire.send(bytes(data))

    def dialect(self, connection):
        return self.capture.negotiated.get(connection, max(DEFAULT_DIALECTS))

    def unsent(self, event, part):
        """Why a request cannot be sent: what it uses does not exist in the replay."""
        file = part.file()
        if file and file != smb2.RELATED_FILE and file not in self.files:
            # A reply that is still outstanding may return it.
            self.collect_opens()
            if file not in self.files:
                return self.lost.get(file, "uses a file that was opened before the capture began")
        if part.command == smb2.OPLOCK_BREAK and not any(wire.breaks for wire in self.wires.values()):
            return "acknowledges a break that another client caused"
        if part.tree and part.command != smb2.TREE_CONNECT and (part.session, part.tree) not in self.trees:
            self.collect_opens()
            return self.connect_tree(event, part)
        return None

    def connect_tree(self, event, part):
        """Own TREE_CONNECT for a tree that was connected before the capture began."""
        key = (part.session, part.tree)
        if key in self.trees:
            return None
        if key in self.lost:
            return self.lost[key]
        wire, session = self.session_of(event.connection, part)
        share = "IPC$" if self.is_for_pipes(key) else SHARE
        reply = wire.call(smb2.TREE_CONNECT, tree_connect(share), session)
        if reply.status != 0:
            raise Broken(f"TREE_CONNECT has status {reply.status:#x}")
        self.trees[key] = reply.tree
        return None

    def is_for_pipes(self, key):
        """Whether only pipes are used over a tree: all files are known pipes, or there are none and its control codes are for pipes."""
        used = [part for event in self.capture.events for part in event.parts if (part.session, part.tree) == key]
        names = {part.path().casefold() for part in used if part.command == smb2.CREATE}
        controls = any(part.command == smb2.IOCTL and part.control() >> 16 == NAMED_PIPE for part in used)
        return names <= captured.PIPES and (bool(names) or controls)

    def rewrite(self, connection, part, session, number, last):
        data = bytearray(part.data)
        if part.command == smb2.TREE_CONNECT:
            share = part.path().rpartition("\\")[2]
            reply = self.capture.reply(connection, part)
            exists = reply is None or reply.status == 0
            data[64:] = tree_connect("IPC$" if share.upper() == "IPC$" else SHARE if exists else "missing-" + share)
        struct.pack_into("<HHI", data, 6, part.charge if self.dialect(connection) != 0x0202 else 0, 0, 0)
        struct.pack_into("<H", data, 12, part.command)
        struct.pack_into("<HI", data, 14, 256, part.flags & ~smb2.SIGNED)
        struct.pack_into("<Q", data, 24, number)
        if not part.related or part.tree != 0xFFFFFFFF:
            struct.pack_into("<I", data, 36, self.trees.get((part.session, part.tree), 0))
        if not part.related or part.session != (1 << 64) - 1:
            struct.pack_into("<Q", data, 40, session)
        data[48:64] = bytes(16)
        file = part.file()
        if file and file in self.files:
            at = 72 if part.command == smb2.OPLOCK_BREAK else smb2.FILE_ID[part.command]
            data[at:at + 16] = self.files[file]
        if part.command == smb2.CREATE:
            for name, content, at in smb2.request_contexts(part):
                if name in smb2.RECONNECTS and content[:16] in self.files:
                    data[at:at + 16] = self.files[content[:16]]
        if part.command == smb2.IOCTL:
            self.rewrite_control(connection, part, data)
        if not last:
            data += bytes(-len(data) % 8)
            struct.pack_into("<I", data, 20, len(data))
        return data

    def rewrite_control(self, connection, part, data):
        at = smb2.u32(part.data, 88)
        key = part.data[at:at + 24]
        if key in self.keys:
            data[at:at + 24] = self.keys[key]
        if part.control() == smb2.VALIDATE:
            struct.pack_into("<H", data, at + 20, SIGNING_ENABLED)
            chosen = self.capture.negotiated.get(connection, 0)
            for place in range(at + 24, at + 24 + 2 * smb2.u16(part.data, at + 22), 2):
                if chosen and smb2.u16(data, place) > chosen:
                    struct.pack_into("<H", data, place, chosen)

    def cancel(self, event, part, wire, session):
        key = next((key for key, reply in self.capture.replies.items() if part.async_id and reply.async_id == part.async_id), None)
        key = key or (event.connection, part.message)
        if key not in self.sent:
            self.outcomes.append(Outcome(event.frame, part, None, unsent="cancels a request that was sent before the capture began"))
            return
        wire, number, _ = self.sent[key]
        if part.async_id:
            wire.wait(lambda: number in wire.interim or number in wire.replies)
        asynchronous = wire.interim.get(number)
        flags = smb2.ASYNC if asynchronous else 0
        target = struct.pack("<Q", asynchronous) if asynchronous else bytes(8)
        head = struct.pack("<4sHHIHHIIQ8sQ16s", b"\xfeSMB", 64, 0, 0, smb2.CANCEL, 0, flags, 0, number, target, session, bytes(16))
        wire.send(head + struct.pack("<HH", 4, 0))
        # A cancellation has no reply of its own; the replay compares that of the request.
        self.outcomes.append(Outcome(event.frame, part, None, reply=part))

    def is_open_ended(self, key):
        """A notification whose trigger may have been another client: its reply is collected at the end."""
        part, reply = self.sent[key][2].part, self.capture.replies[key]
        return part.command == smb2.CHANGE_NOTIFY and reply.status in (0, 0x10B, 0x10C)

    def collect_opens(self):
        for key in [key for key, (_, _, outcome) in self.sent.items() if outcome.part.command in (smb2.CREATE, smb2.TREE_CONNECT)]:
            self.collect(key)

    def collect(self, key):
        """Waits for the reply to a captured request, and learns the identifiers in it."""
        if key not in self.sent:
            return
        wire, number, outcome = self.sent.pop(key)
        try:
            wire.wait(lambda: number in wire.replies)
        except Broken as broken:
            raise Broken(f"frame {outcome.frame}, {outcome.part.name}: {broken}") from broken
        reply = outcome.reply = wire.replies.pop(number)
        part, expected = outcome.part, outcome.expected
        if reply.command != part.command:
            raise Broken(f"frame {outcome.frame}, {part.name}: the reply has command {reply.name}")
        if expected is None or expected.status != 0:
            if reply.status == 0 and part.command == smb2.CREATE:
                tree = self.trees.get((part.session, part.tree), 0)
                wire.call(smb2.CLOSE, struct.pack("<HHI16s", 24, 0, 0, smb2.Opened(reply).file), reply.session, tree)
            return
        if reply.status != 0:
            self.lose(part, expected, f"needs frame {outcome.frame}, which failed")
        elif part.command == smb2.CREATE:
            self.files[smb2.Opened(expected).file] = smb2.Opened(reply).file
        elif part.command == smb2.TREE_CONNECT:
            self.trees[(part.session, expected.tree)] = reply.tree
        elif part.command == smb2.IOCTL and part.control() == smb2.RESUME_KEY:
            before, after = smb2.u32(expected.data, 96), smb2.u32(reply.data, 96)
            self.keys[expected.data[before:before + 24]] = reply.data[after:after + 24]
        elif part.command == smb2.LOGOFF:
            self.sessions.pop(part.session, None)

    def lose(self, part, expected, why):
        if expected is not None and expected.status == 0:
            if part.command == smb2.CREATE:
                self.lost[smb2.Opened(expected).file] = why
            elif part.command == smb2.TREE_CONNECT:
                self.lost[(part.session, expected.tree)] = why

    def finish(self):
        """Ends what still waits, by closing its file, so that every request has its reply."""
        for key in list(self.sent):
            if key in self.sent and self.sent[key][2].part.command != smb2.CHANGE_NOTIFY:
                self.collect(key)
        for key, (wire, number, outcome) in list(self.sent.items()):
            part = outcome.part
            file = self.files.get(part.file())
            if outcome.opener and outcome.opener.reply and outcome.opener.reply.status == 0:
                file = smb2.Opened(outcome.opener.reply).file
            _, session = self.sessions.get(part.session, (None, 0))
            if file and number not in wire.replies and session:
                wire.call(smb2.CLOSE, struct.pack("<HHI16s", 24, 0, 0, file), session, self.trees.get((part.session, part.tree), 0))
            self.collect(key)
        for wire in self.wires.values():
            if wire.received or wire.replies:
                raise Broken(f"replies that nothing requested: {list(wire.replies)}")
            # The server still answers.
            if wire.call(smb2.ECHO, struct.pack("<HH", 4, 0)).status not in (0, 0xC0000203):
                raise Broken("the ECHO at the end failed")
            wire.socket.close()


def tree_connect(share):
    path = f"\\\\127.0.0.1\\{share}".encode("utf-16-le")
    return struct.pack("<HHHH", 9, 0, 72, len(path)) + path
