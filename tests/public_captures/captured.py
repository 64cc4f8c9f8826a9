"""The exchanges of SMB2 in a capture: requests and replies in their order, and the files that existed before them."""
import smb2
import streams

PIPES = {"srvsvc", "samr", "lsarpc", "netlogon", "svcctl", "winreg", "wkssvc", "atsvc", "spoolss", "epmapper", "browser", "eventlog", "lsass",
         "protected_storage", "msrpc", "drsuapi"}
CREATED = 2
RENAME = (1, 10)
# Maximum length of a file that is made; captured lengths are only as credible as their sender.
MAX_FILE = 1 << 40


class File:
    """A file or directory that existed when the capture began; `content` has offsets with bytes that the client read."""

    def __init__(self, path, directory, size):
        self.path, self.directory, self.size, self.content = path, directory, size, []
        self.size_known = False


class Tree:
    """What the server held before the first request, as far as replies show it."""

    def __init__(self):
        self.files = {}
        # Paths that the client itself made, renamed or removed.
        self.touched = set()

    def add(self, path, directory, size, size_known=True):
        key = path.casefold()
        if not path or key in self.touched or ":" in path or "\0" in path:
            return
        parent = path.rpartition("\\")[0]
        self.add(parent, True, 0)
        known = self.files.setdefault(key, File(path, directory, 0))
        if size_known and not known.size_known:
            known.size, known.size_known = min(size, MAX_FILE), True

    def read(self, path, offset, content):
        file = self.files.get(path.casefold())
        if file and path.casefold() not in self.touched and offset + len(content) <= file.size:
            file.content.append((offset, content))


class Event:
    """A message of the client with the replies to its parts, or the moment at which the captured server had answered."""

    def __init__(self, frame, connection, parts=(), answered=None):
        self.frame, self.connection, self.parts, self.answered = frame, connection, parts, answered


class Capture:
    """All connections of a capture. `replies` has the final reply to each (connection, message)."""

    def __init__(self, data):
        self.events, self.replies, self.skipped = [], {}, {}
        self.negotiated, self.shares, self.smb1_negotiate = {}, {}, {}
        self.tree, self.opened = Tree(), {}
        for number, connection in enumerate(streams.connections(data)):
            self.read_connection(number, connection)
        # At one frame, replies come before the next request.
        self.events.sort(key=lambda event: (event.frame, event.answered is None))
        self.read_files()

    def read_connection(self, number, connection):
        magics = {message.data[:4] for message in connection.requests}
        if b"\xfdSMB" in magics:
            self.skip("encrypted", len(connection.requests))
            return
        if b"\xfeSMB" not in magics:
            smb2_dialects = any(message.data[:4] == b"\xfeSMB" for message in connection.replies)
            self.skip("SMB1" if not smb2_dialects else "no login", len(connection.requests))
            return
        for message in connection.replies:
            for part in smb2.parts(message.data, message.missing):
                self.read_reply(number, message.frame, part)
        for message in connection.requests:
            if message.data[:4] == b"\xffSMB":
                self.smb1_negotiate[number] = message.data
                continue
            parts = list(smb2.parts(message.data, message.missing))
            if any(part.missing for part in parts):
                self.skip("bytes of the message are missing in the capture", len(parts))
            elif parts:
                self.events.append(Event(message.frame, number, parts))

    def skip(self, reason, count):
        self.skipped[reason] = self.skipped.get(reason, 0) + count

    def read_reply(self, number, frame, part):
        key = (number, part.message)
        if part.flags & smb2.ASYNC and part.status == smb2.PENDING:
            return
        if part.message != (1 << 64) - 1 and key not in self.replies:
            self.replies[key] = part
            self.events.append(Event(frame, number, answered=key))
            if part.command == smb2.NEGOTIATE and part.status == 0:
                self.negotiated[number] = smb2.u16(part.data, smb2.HEADER + 4)

    def reply(self, connection, part):
        found = self.replies.get((connection, part.message))
        return found if found and found.command == part.command and not found.missing else None

    def read_files(self):
        """What existed before the client's requests. Later requests are read with what earlier ones made or removed."""
        written = set()
        for event in self.events:
            session, tree, file, name = None, None, None, None
            for part in event.parts:
                reply = self.reply(event.connection, part)
                if not part.related:
                    session, tree, file, name = part.session, part.tree, None, None
                if part.command == smb2.TREE_CONNECT and reply and reply.status == 0:
                    self.shares[(part.session, reply.tree)] = part.path().rpartition("\\")[2]
                if part.command == smb2.CREATE:
                    file, name = None, part.path()
                    self.read_create(session, tree, part, reply)
                    if reply and reply.status == 0:
                        file = smb2.Opened(reply).file
                        self.opened[file] = name
                elif part.file() is not None:
                    file = file if part.file() == smb2.RELATED_FILE else part.file()
                    if file in self.opened and reply and reply.status == 0:
                        self.read_use(self.opened[file], file, part, reply, written)

    def is_pipe_tree(self, session, tree):
        return self.shares.get((session, tree), "").upper() == "IPC$"

    def is_pipe(self, session, tree, part):
        """Whether a request concerns a pipe; the share of a tree from before the capture is unknown."""
        name = part.path() if part.command == smb2.CREATE else self.opened.get(part.file(), "")
        return self.is_pipe_tree(session, tree) or name.casefold() in PIPES

    def read_create(self, session, tree, part, reply):
        name = part.path()
        if reply is None or self.is_pipe_tree(session, tree) or name.casefold() in PIPES:
            return
        if reply.status == 0:
            opened = smb2.Opened(reply)
            if opened.action == CREATED:
                self.tree.touched.add(name.casefold())
                parent = name.rpartition("\\")[0]
                self.tree.add(parent, True, 0)
            else:
                self.tree.add(name, bool(opened.attributes & smb2.DIRECTORY), opened.size)
        elif reply.status == 0xC0000035:
            self.tree.add(name, bool(smb2.u32(part.data, 104) & 1), 0)

    def read_use(self, path, file, part, reply, written):
        key = path.casefold()
        if part.command == smb2.WRITE:
            written.add(key)
        elif part.command == smb2.SET_INFO and tuple(part.data[66:68]) in ((1, 20), (1, 19)):
            written.add(key)
        elif part.command == smb2.READ and key not in written and not reply.missing:
            self.tree.read(path, smb2.u64(part.data, 72), reply.data[reply.data[66]:][:smb2.u32(reply.data, 68)])
        elif part.command == smb2.SET_INFO and tuple(part.data[66:68]) == RENAME:
            at = smb2.u16(part.data, 72)
            new = part.data[at + 20:at + 20 + smb2.u32(part.data, at + 16)].decode("utf-16-le", "replace").lstrip("\\")
            self.tree.touched |= {key, new.casefold()}
            self.opened[file] = new
        elif part.command == smb2.QUERY_DIRECTORY and part.data[66] in smb2.ENTRIES:
            for name, attributes, size in smb2.entries(part, reply) or ():
                if name not in (".", ".."):
                    self.tree.add(f"{path}\\{name}".lstrip("\\"), bool(attributes & smb2.DIRECTORY), size)
