"""Replays the SMB1 requests of a capture at a server: the captured bytes with the identifiers of the replay."""
import select
import socket
import struct
import time

import replayed
import smb1
from replayed import REPLY_SECONDS, SHARE, Broken, Outcome

NT_LM_012 = b"\x02NT LM 0.12\0"
# Capabilities: Unicode, large files, NT commands, NT statuses, extended security.
CAPABILITIES = 0x8000005C


class Wire:
    """One TCP connection to the server: messages out, replies by message identifier."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), REPLY_SECONDS)
        self.next_message, self.received, self.replies, self.breaks, self.user = 1, bytearray(), {}, 0, 0

    def send(self, data):
        try:
            self.socket.sendall(len(data).to_bytes(4, "big") + data)
        except OSError as error:
            raise Broken(f"the connection ended: {error}") from error

    def take_id(self):
        self.next_message += 1
        return self.next_message

    def wait(self, number):
        end = time.monotonic() + REPLY_SECONDS
        while number not in self.replies:
            if not select.select([self.socket], [], [], max(0, end - time.monotonic()))[0]:
                raise Broken(f"no reply in {REPLY_SECONDS} s")
            try:
                data = self.socket.recv(1 << 20)
            except OSError as error:
                raise Broken(f"the connection ended: {error}") from error
            if not data:
                raise Broken("the server closed the connection")
            self.received += data
            self.sort()
        return self.replies.pop(number)

    def sort(self):
        while len(self.received) >= 4 and len(self.received) >= 4 + int.from_bytes(self.received[1:4], "big"):
            end = 4 + int.from_bytes(self.received[1:4], "big")
            message = bytes(self.received[4:end])
            del self.received[:end]
            if message[:4] != b"\xffSMB" or len(message) < smb1.HEADER + 3:
                raise Broken(f"not a message of SMB1: {message[:80].hex()}")
            part = smb1.Part(message)
            if part.message == 0xFFFF and not message[9] & smb1.REPLY:
                self.breaks += 1
            else:
                self.replies[part.message] = part

    def call(self, command, words, content):
        """An own request."""
        number = self.take_id()
        flags = smb1.UNICODE | smb1.EXTENDED_SECURITY | 0x4001
        head = b"\xffSMB" + struct.pack("<BIBHH8sHHHHH", command, 0, 0x18, flags, 0, bytes(8), 0, 0, 0xFEFF, self.user, number)
        self.send(head + bytes([len(words) // 2]) + words + struct.pack("<H", len(content)) + content)
        return self.wait(number)

    def log_in(self, negotiate):
        """With the client's own NEGOTIATE, as a guest."""
        if negotiate:
            # The captured server chose NT LM 0.12, so SMB2 is not offered here.
            data = bytearray(negotiate.replace(b"\x02SMB 2.", b"\x02none2."))
            number = self.take_id()
            struct.pack_into("<H", data, 30, number)
            self.send(bytes(data))
            reply = self.wait(number)
        else:
            reply = self.call(smb1.NEGOTIATE, b"", NT_LM_012)
        if reply.status != 0:
            raise Broken(f"NEGOTIATE has status {reply.status:#x}")
        for token, expected in ((replayed.ntlm_negotiate(), replayed.MORE_PROCESSING), (replayed.ntlm_authenticate(), 0)):
            words = struct.pack("<BBHHHHIHII", 0xFF, 0, 0, 65535, 50, 1, 0, len(token), 0, CAPABILITIES)
            reply = self.call(smb1.SESSION_SETUP, words, token + bytes(1 - len(token) % 2) + bytes(4))
            if reply.status != expected:
                raise Broken(f"the login has status {reply.status:#x}")
            self.user = reply.user


class Replay:
    """The state of a replay: which identifier of the capture is which of the server."""

    def __init__(self, capture, port):
        self.capture, self.port = capture, port
        # Identifiers by (connection, identifier); those of searches and files are apart.
        self.wires, self.trees, self.files, self.searches, self.lost = {}, {}, {}, {}, {}
        self.sent, self.outcomes, self.numbers = {}, [], {}

    def run(self):
        for event in self.capture.events:
            if event.answered is None:
                self.perform(event, event.parts[0])
            elif event.answered in self.sent:
                self.collect(event.answered)
        for key in list(self.sent):
            self.collect(key)
        for wire in self.wires.values():
            if wire.received or wire.replies:
                raise Broken(f"replies that nothing requested: {list(wire.replies)}")
            if wire.call(smb1.COMMANDS["ECHO"], struct.pack("<H", 1), b"end").status != 0:
                raise Broken("the ECHO at the end failed")
            wire.socket.close()

    def perform(self, event, key):
        part, connection = self.capture.requests[key], event.connection
        if connection not in self.wires:
            self.wires[connection] = Wire(self.port)
            self.wires[connection].log_in(self.capture.negotiate.get(connection))
        if part.command == smb1.SESSION_SETUP:
            return
        wire = self.wires[connection]
        is_pipe = self.capture.is_pipe(connection, part)
        outcome = Outcome(event.frame, part, self.capture.replies.get(key), is_pipe=is_pipe)
        self.outcomes.append(outcome)
        outcome.unsent = self.unsent(connection, part)
        if outcome.unsent:
            return
        if part.command == smb1.NT_CANCEL:
            self.cancel(connection, part, wire, outcome)
            return
        number = self.numbers[(connection, part.message)] = wire.take_id()
        self.sent[key] = (wire, number, outcome)
        wire.send(self.rewrite(connection, part, wire, number))

    def unsent(self, connection, part):
        known = self.searches if part.is_search() else self.files
        file = part.file()
        if file is not None and (connection, file) not in known:
            for key in [key for key, (_, _, outcome) in self.sent.items() if outcome.part.command == smb1.NT_CREATE]:
                self.collect(key)
            if (connection, file) not in known:
                return self.lost.get((connection, file), "uses a file that was opened before the capture began")
        return None

    def rewrite(self, connection, part, wire, number):
        data = bytearray(part.data)
        if part.command == smb1.TREE_CONNECT:
            data = self.tree_connect(part)
        struct.pack_into("<H", data, 10, part.flags2 & ~smb1.SIGNED)
        data[14:22] = bytes(8)
        struct.pack_into("<H", data, 24, self.trees.get((connection, part.tree), 0xFFFF))
        struct.pack_into("<H", data, 28, wire.user)
        struct.pack_into("<H", data, 30, number)
        at = part.file_at()
        if at is not None:
            known = self.searches if part.is_search() else self.files
            struct.pack_into("<H", data, at, known[(connection, part.file())])
        return bytes(data)

    @staticmethod
    def tree_connect(part):
        """The captured request with the path of the share of the replay."""
        share = "IPC$" if part.path().upper().endswith("\\IPC$") else SHARE
        content = part.data[part.bytes_at:part.bytes_at + smb1.u16(part.words, 6)]
        path = f"\\\\127.0.0.1\\{share}\0"
        if part.flags2 & smb1.UNICODE:
            content += bytes((part.bytes_at + len(content)) % 2) + path.encode("utf-16-le")
        else:
            content += path.encode()
        content += b"?????\0"
        return bytearray(part.data[:part.bytes_at - 2] + struct.pack("<H", len(content)) + content)

    def cancel(self, connection, part, wire, outcome):
        number = self.numbers.get((connection, part.message))
        if number is None:
            outcome.unsent = "cancels a request that was sent before the capture began"
            return
        outcome.reply = part
        wire.send(self.rewrite(connection, part, wire, number))

    def collect(self, key):
        wire, number, outcome = self.sent.pop(key)
        part, expected = outcome.part, outcome.expected
        try:
            reply = outcome.reply = wire.wait(number)
        except Broken as broken:
            raise Broken(f"frame {outcome.frame}, {part.name}: {broken}") from broken
        if reply.command != part.command:
            raise Broken(f"frame {outcome.frame}, {part.name}: the reply has command {reply.name}")
        if expected is None or expected.status != 0:
            return
        connection = key[0]
        if part.command == smb1.NT_CREATE:
            file = (connection, smb1.u16(expected.words, 5))
            self.learn(self.files, file, outcome, smb1.u16(reply.words, 5) if reply.words else None)
        elif part.subcommand() == smb1.FIND_FIRST:
            search = (connection, smb1.u16(expected.parameters()[0], 0))
            self.learn(self.searches, search, outcome, smb1.u16(reply.parameters()[0], 0) if reply.words else None)
        elif part.command == smb1.TREE_CONNECT and reply.status == 0:
            self.trees[(connection, expected.tree)] = reply.tree

    def learn(self, known, identifier, outcome, found):
        known.pop(identifier, None)
        if outcome.reply.status == 0:
            known[identifier] = found
        else:
            self.lost[identifier] = f"needs frame {outcome.frame}, which failed"
