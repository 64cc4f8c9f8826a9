"""Messages of SMB1 as far as a replay needs them: headers, file identifiers, and the shape of replies (MS-CIFS 2.2.3, 2.2.4)."""
import zlib

from smb2 import DIRECTORY, listed, u16, u32, u64

HEADER = 32
REPLY = 0x80
# Flags2: signed, extended security, Unicode.
SIGNED, EXTENDED_SECURITY, UNICODE = 0x0004, 0x0800, 0x8000
NAMES = {0x00: "CREATE_DIRECTORY", 0x01: "DELETE_DIRECTORY", 0x04: "CLOSE", 0x05: "FLUSH", 0x06: "DELETE", 0x07: "RENAME", 0x24: "LOCKING_ANDX",
         0x25: "TRANSACTION", 0x2B: "ECHO", 0x2E: "READ_ANDX", 0x2F: "WRITE_ANDX", 0x32: "TRANSACTION2", 0x34: "FIND_CLOSE2", 0x71: "TREE_DISCONNECT",
         0x72: "NEGOTIATE", 0x73: "SESSION_SETUP_ANDX", 0x74: "LOGOFF_ANDX", 0x75: "TREE_CONNECT_ANDX", 0xA0: "NT_TRANSACT", 0xA2: "NT_CREATE_ANDX",
         0xA4: "NT_CANCEL"}
COMMANDS = {name: number for number, name in NAMES.items()}
CLOSE, LOCKING, TRANSACTION, READ, WRITE = (COMMANDS[name] for name in ("CLOSE", "LOCKING_ANDX", "TRANSACTION", "READ_ANDX", "WRITE_ANDX"))
TRANSACTION2, FIND_CLOSE, NEGOTIATE, SESSION_SETUP = (COMMANDS[name] for name in ("TRANSACTION2", "FIND_CLOSE2", "NEGOTIATE", "SESSION_SETUP_ANDX"))
TREE_CONNECT, NT_TRANSACT, NT_CREATE, NT_CANCEL = (COMMANDS[name] for name in ("TREE_CONNECT_ANDX", "NT_TRANSACT", "NT_CREATE_ANDX", "NT_CANCEL"))
# Where the words of a request have a file identifier, or the identifier of a search.
FILE_ID = {CLOSE: 0, 0x05: 0, LOCKING: 4, READ: 4, WRITE: 4, FIND_CLOSE: 0}
FIND_FIRST, FIND_NEXT, QUERY_VOLUME, QUERY_PATH, QUERY_FILE, SET_FILE = 1, 2, 3, 5, 7, 8
SUBCOMMANDS = {FIND_FIRST: "FIND_FIRST2", FIND_NEXT: "FIND_NEXT2", QUERY_VOLUME: "QUERY_FS_INFORMATION", QUERY_PATH: "QUERY_PATH_INFORMATION",
               QUERY_FILE: "QUERY_FILE_INFORMATION", SET_FILE: "SET_FILE_INFORMATION", 16: "GET_DFS_REFERRAL"}
# Levels of information on files: basic and standard, also as pass-through levels (MS-CIFS 2.2.8.3, MS-SMB 2.2.2.3.5).
BASIC, STANDARD = (0x101, 1004), (0x102, 1005)
# Levels whose length depends on a name.
VARIABLE = {0x104, 0x107, 0x108, 0x109, 1018, 1022}
# Length of an entry of a search up to its name, and where the length of the name is, by level.
ENTRIES = {0x101: (64, 60), 0x102: (68, 60), 0x103: (12, 8), 0x104: (94, 60), 0x105: (80, 60), 0x106: (104, 60)}


class Part:
    """A request or reply. Only the first command of a chain is understood."""

    def __init__(self, data):
        self.data, self.command, self.status = bytes(data), data[4], u32(data, 5)
        self.flags2, self.tree, self.process, self.user, self.message = (u16(data, at) for at in (10, 24, 26, 28, 30))
        self.words = data[33:33 + 2 * data[32]]
        self.bytes_at = HEADER + 3 + len(self.words)
        # What later messages of the same reply to a transaction add to its data.
        self.later = b""
        self.name = NAMES.get(self.command, f"command {self.command:#x}")

    def chained(self):
        """The second command of a chain; none without one."""
        chains = self.command in (LOCKING, READ, WRITE, NT_CREATE, TREE_CONNECT, SESSION_SETUP)
        return self.words[0] if chains and len(self.words) >= 4 and self.words[0] != 0xFF else None

    def text(self, at):
        """A string of the message that ends with a zero."""
        if not self.flags2 & UNICODE:
            return self.data[at:].split(b"\0")[0].decode("latin-1")
        at += at % 2
        units = (self.data[place:place + 2] for place in range(at, len(self.data) - 1, 2))
        found = bytearray()
        for unit in units:
            if unit == b"\0\0":
                break
            found += unit
        return found.decode("utf-16-le", "replace")

    def subcommand(self):
        return u16(self.words, 28) if self.command == TRANSACTION2 and len(self.words) >= 30 else None

    def parameters(self):
        """The parameters of a transaction's request or reply, and where they begin."""
        count_at = 6 if self.data[9] & REPLY else 18
        at = u16(self.words, count_at + 2)
        return self.data[at:at + u16(self.words, count_at)], at

    def content(self):
        """The data of a transaction's reply, or of READ."""
        if self.command == READ:
            at = u16(self.words, 12)
            return self.data[at:at + u16(self.words, 10) + (u16(self.words, 14) << 16)]
        at = u16(self.words, 14)
        return self.data[at:at + u16(self.words, 12)] + self.later

    def is_incomplete(self):
        """Whether a reply to a transaction continues in further messages."""
        transaction = self.command in (TRANSACTION, TRANSACTION2) and len(self.words) >= 18
        return transaction and len(self.content()) < u16(self.words, 2)

    def path(self):
        """The name in a request that has one."""
        if self.command == NT_CREATE:
            return self.text(self.bytes_at)
        if self.command == TREE_CONNECT:
            return self.text(self.bytes_at + u16(self.words, 6))
        if self.subcommand() in (QUERY_PATH, FIND_FIRST):
            return self.text(self.parameters()[1] + (6 if self.subcommand() == QUERY_PATH else 12))
        return ""

    def level(self):
        """The level of information of TRANSACTION2."""
        at = {FIND_FIRST: 6, FIND_NEXT: 4, QUERY_VOLUME: 0, QUERY_PATH: 0, QUERY_FILE: 2, SET_FILE: 2}.get(self.subcommand())
        return None if at is None else u16(self.parameters()[0], at)

    def file_at(self):
        """Where a request has the identifier of a file or search; none if it has none."""
        if self.command in FILE_ID:
            return HEADER + 1 + FILE_ID[self.command]
        if self.subcommand() in (QUERY_FILE, SET_FILE, FIND_NEXT):
            return self.parameters()[1]
        if self.command == TRANSACTION and len(self.words) >= 32 and u16(self.words, 28) in (0x01, 0x21, 0x23, 0x26, 0x36, 0x54):
            return HEADER + 1 + 30
        # NT_TRANSACT_NOTIFY_CHANGE and IOCTL (MS-CIFS 2.2.7.4, 2.2.7.2).
        if self.command == NT_TRANSACT and u16(self.words, 36) in (2, 4):
            return HEADER + 1 + 42
        return None

    def file(self):
        at = self.file_at()
        return None if at is None else u16(self.data, at)

    def is_search(self):
        return self.command == FIND_CLOSE or self.subcommand() in (FIND_FIRST, FIND_NEXT)

    def described(self):
        if self.command == TRANSACTION2:
            level = self.level()
            name = SUBCOMMANDS.get(self.subcommand(), f"subcommand {self.subcommand()}")
            return name if level is None else f"{name} {level:#x} {self.path()}".strip()
        return f"function {u16(self.words, 36)}" if self.command == NT_TRANSACT else self.path()

    def structure(self):
        return self.data[32]

    def shape(self, reply, is_pipe):
        """What must be equal in two successful replies to this request."""
        found = {"words": reply.data[32]}
        if self.command == NT_CREATE and len(reply.words) >= 68:
            action, directory, size = opened(reply)
            found |= {"action": action, "directory": directory, "size": 0 if directory or is_pipe else size}
        elif self.command == READ and not is_pipe:
            found |= {"bytes": len(reply.content()), "content": zlib.crc32(reply.content())}
        elif self.command == WRITE:
            found["bytes"] = u16(reply.words, 4)
        elif self.command == TRANSACTION2:
            found |= information(self, reply)
        return found


def opened(reply):
    """Action, directory or file, and size of a file that NT_CREATE_ANDX opened."""
    return u32(reply.words, 7), bool(u32(reply.words, 43) & DIRECTORY), u64(reply.words, 55)


def entries(request, reply):
    """Name, attributes and size of the entries of a search."""
    found = listed(reply.content(), *ENTRIES[request.level()], 1)
    return found and [(name.rstrip("\0"), attributes, size) for name, attributes, size in found]


def information(request, reply):
    """The answer to TRANSACTION2: lengths, names of a search, and the size of a file where it is part of it."""
    parameters, content, level = reply.parameters()[0], reply.content(), request.level()
    found = {"length of parameters": len(parameters)}
    if request.subcommand() in (FIND_FIRST, FIND_NEXT):
        at = 2 if request.subcommand() == FIND_FIRST else 0
        found["end of search"] = u16(parameters, at + 2)
        if level in ENTRIES:
            listed = entries(request, reply)
            # The root of a disk of Windows has no entries for itself and its parent.
            found["names"] = listed and sorted(name.casefold() for name, _, _ in listed if name not in (".", ".."))
        return found
    if request.subcommand() in (QUERY_PATH, QUERY_FILE):
        if level not in VARIABLE:
            found["length"] = len(content)
        if level in STANDARD:
            found["directory"] = bool(content[21])
            found["size"] = 0 if content[21] else u64(content, 8)
        if level in BASIC:
            found["directory"] = bool(u32(content, 32) & DIRECTORY)
    elif request.subcommand() == QUERY_VOLUME and level in (0x103, 0x104, 1007):
        found["length"] = len(content)
    return found
