"""The exchanges of SMB1 in a capture, and the files that existed before them."""
import smb1
import streams
from captured import CREATED, Event, Tree


class Capture:
    """All SMB1 connections of a capture. A request is known by its number, because clients use message identifiers again."""

    def __init__(self, data):
        self.events, self.requests, self.replies, self.skipped = [], {}, {}, {}
        self.negotiate, self.shares, self.tree, self.opened = {}, {}, Tree(), {}
        for number, connection in enumerate(streams.connections(data)):
            if all(message.data[:4] == b"\xffSMB" for message in connection.requests + connection.replies):
                self.read_connection(number, connection)
        self.events.sort(key=lambda event: (event.frame, event.answered is None))
        self.read_files()

    def read_connection(self, number, connection):
        waiting, continued = {}, {}
        everything = [(message.frame, True, message) for message in connection.requests] + [(message.frame, False, message) for message in connection.replies]
        for frame, is_request, message in sorted(everything, key=lambda item: (item[0], item[1])):
            part = smb1.Part(message.data)
            identity = (part.message, part.process, part.command)
            if not is_request:
                begun = continued.get(identity)
                if begun:
                    begun.later += part.content()
                    continued[identity] = begun if begun.is_incomplete() else None
                elif waiting.get(identity):
                    key = waiting[identity].pop(0)
                    if not message.missing:
                        self.replies[key] = part
                        continued[identity] = part if part.is_incomplete() else None
                    self.events.append(Event(frame, number, answered=key))
            elif message.missing or part.chained():
                why = "bytes of the message are missing in the capture" if message.missing else "chains of commands"
                self.skipped[why] = self.skipped.get(why, 0) + 1
            elif part.command == smb1.NEGOTIATE:
                self.negotiate[number] = message.data
            else:
                key = (number, len(self.requests))
                self.requests[key] = part
                if part.command != smb1.NT_CANCEL:
                    waiting.setdefault(identity, []).append(key)
                self.events.append(Event(frame, number, [key]))

    def read_files(self):
        written = set()
        for event in self.events:
            for key in event.parts:
                part, reply = self.requests[key], self.replies.get(key)
                if part.command == smb1.TREE_CONNECT and reply and reply.status == 0:
                    self.shares[(event.connection, reply.tree)] = part.path().rpartition("\\")[2]
                elif not self.is_pipe(event.connection, part) and reply and reply.status == 0:
                    self.read_use(event.connection, part, reply, written)

    def is_pipe(self, connection, part):
        return self.shares.get((connection, part.tree), "").upper() == "IPC$"

    def read_use(self, connection, part, reply, written):
        path = part.path().lstrip("\\")
        if part.command == smb1.NT_CREATE:
            action, directory, size = smb1.opened(reply)
            self.opened[(connection, smb1.u16(reply.words, 5))] = path
            if action == CREATED:
                self.tree.add(path.rpartition("\\")[0], True, 0)
                self.tree.touched.add(path.casefold())
            else:
                self.tree.add(path, directory, size)
        elif part.command == smb1.WRITE:
            written.add(self.opened.get((connection, part.file()), "").casefold())
        elif part.command == smb1.READ:
            path = self.opened.get((connection, part.file()), "")
            if path.casefold() not in written:
                self.tree.read(path, smb1.u32(part.words, 6), reply.content())
        elif part.subcommand() == smb1.QUERY_PATH and part.level() in smb1.BASIC:
            self.tree.add(path, bool(smb1.u32(reply.content(), 32) & smb1.DIRECTORY), 0, size_known=False)
        elif part.subcommand() == smb1.FIND_FIRST and part.level() in smb1.ENTRIES:
            for name, attributes, size in smb1.entries(part, reply) or ():
                if name not in (".", ".."):
                    self.tree.add(f"{path.rpartition(chr(92))[0]}\\{name}".lstrip("\\"), bool(attributes & smb1.DIRECTORY), size)
