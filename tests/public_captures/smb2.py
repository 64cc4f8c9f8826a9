"""Messages of SMB2 as far as a replay needs them: headers, file identifiers, and the shape of replies (MS-SMB2 2.2)."""
import zlib

HEADER = 64
SERVER_TO_REDIR, ASYNC, RELATED, SIGNED = 1, 2, 4, 8
PENDING = 0x103
RELATED_FILE = b"\xff" * 16
NAMES = ["NEGOTIATE", "SESSION_SETUP", "LOGOFF", "TREE_CONNECT", "TREE_DISCONNECT", "CREATE", "CLOSE", "FLUSH", "READ", "WRITE",
         "LOCK", "IOCTL", "CANCEL", "ECHO", "QUERY_DIRECTORY", "CHANGE_NOTIFY", "QUERY_INFO", "SET_INFO", "OPLOCK_BREAK"]
(NEGOTIATE, SESSION_SETUP, LOGOFF, TREE_CONNECT, TREE_DISCONNECT, CREATE, CLOSE, FLUSH, READ, WRITE,
 LOCK, IOCTL, CANCEL, ECHO, QUERY_DIRECTORY, CHANGE_NOTIFY, QUERY_INFO, SET_INFO, OPLOCK_BREAK) = range(19)
# Where requests have a file identifier, from the start of the header.
FILE_ID = {CLOSE: 72, FLUSH: 72, READ: 80, WRITE: 80, LOCK: 72, IOCTL: 72, QUERY_DIRECTORY: 72, CHANGE_NOTIFY: 72, QUERY_INFO: 88, SET_INFO: 80}
# Contexts of CREATE whose data begins with a file identifier.
RECONNECTS = (b"DHnC", b"DH2C")
FSCTLS = {0x00060194: "DFS_GET_REFERRALS", 0x000601B0: "DFS_GET_REFERRALS_EX", 0x0011C017: "PIPE_TRANSCEIVE", 0x00110018: "PIPE_WAIT",
          0x001401FC: "QUERY_NETWORK_INTERFACE_INFO", 0x00140204: "VALIDATE_NEGOTIATE_INFO", 0x00140078: "SRV_REQUEST_RESUME_KEY",
          0x000900C0: "CREATE_OR_GET_OBJECT_ID", 0x00090064: "GET_NTFS_VOLUME_DATA", 0x00144064: "SRV_ENUMERATE_SNAPSHOTS",
          0x000900A8: "GET_REPARSE_POINT", 0x0009003C: "GET_COMPRESSION", 0x001440F2: "SRV_COPYCHUNK", 0x001480F2: "SRV_COPYCHUNK_WRITE",
          0x000940CF: "QUERY_ALLOCATED_RANGES", 0x00090300: "QUERY_FILE_REGIONS"}
RESUME_KEY = 0x00140078
VALIDATE = 0x00140204
OBJECT_ID = 0x000900C0
DIRECTORY = 0x10
# Length of an entry up to its name, and where the length of the name is, by class of QUERY_DIRECTORY (MS-FSCC 2.4).
ENTRIES = {1: (64, 60), 2: (68, 60), 3: (94, 60), 12: (12, 8), 37: (104, 60), 38: (80, 60)}
# Offsets of the size and of the mark of a directory, and the bit of it, in information on files.
SIZES = {(1, 5): (8, 21, 1), (1, 18): (48, 32, DIRECTORY), (1, 34): (40, 48, DIRECTORY)}
# Length of the fixed part of what QUERY_INFO returns, and whether something variable follows, by type and class.
FIXED = {(1, 4): (40, False), (1, 5): (24, False), (1, 6): (8, False), (1, 7): (4, False), (1, 8): (4, False), (1, 14): (8, False),
         (1, 16): (4, False), (1, 17): (4, False), (1, 18): (100, True), (1, 21): (4, True), (1, 22): (0, True), (1, 28): (16, False),
         (1, 34): (56, False), (1, 35): (8, False), (1, 48): (4, True), (1, 59): (24, False), (2, 1): (18, True), (2, 3): (24, False), (2, 4): (8, False),
         (2, 5): (12, True), (2, 6): (48, False), (2, 7): (32, False), (2, 8): (64, False), (2, 11): (28, False), (3, 0): (20, True), (1, 15): (0, True)}


def u16(data, at):
    return int.from_bytes(data[at:at + 2], "little")


def u32(data, at):
    return int.from_bytes(data[at:at + 4], "little")


def u64(data, at):
    return int.from_bytes(data[at:at + 8], "little")


class Part:
    """One request or reply of a message, which may be a compound."""

    def __init__(self, data, missing=False):
        self.data = bytes(data)
        # The capture lacks bytes of it that are not the content of a file.
        self.missing = missing
        self.charge, self.status, self.command = u16(data, 6), u32(data, 8), u16(data, 12)
        self.flags, self.message, self.session = u32(data, 16), u64(data, 24), u64(data, 40)
        self.related = bool(self.flags & RELATED)
        self.async_id = u64(data, 32) if self.flags & ASYNC else None
        self.tree = None if self.flags & ASYNC else u32(data, 36)

    @property
    def name(self):
        return NAMES[self.command] if self.command < len(NAMES) else f"command {self.command}"

    def output(self, offset, length):
        """A buffer whose offset and length are in the body."""
        start = u16(self.data, offset)
        return self.data[start:start + length] if length else b""

    def file(self):
        """The file identifier of a request; none if its command has none."""
        at = FILE_ID.get(self.command)
        if self.command == OPLOCK_BREAK and u16(self.data, HEADER) == 24:
            at = 72
        return self.data[at:at + 16] if at and len(self.data) >= at + 16 else None

    def path(self):
        """The name in a CREATE request, or of the share in TREE_CONNECT."""
        at = {CREATE: 108, TREE_CONNECT: 68}[self.command]
        return self.output(at, u16(self.data, at + 2)).decode("utf-16-le", "replace")

    def control(self):
        return u32(self.data, 68)

    def described(self):
        """What a request is about: the name, control code or class of information in it."""
        if self.command in (CREATE, TREE_CONNECT):
            return self.path()
        if self.command == IOCTL:
            return FSCTLS.get(self.control(), hex(self.control()))
        if self.command in (QUERY_INFO, SET_INFO):
            return f"{self.data[66]}/{self.data[67]}"
        return f"class {self.data[66]}" if self.command == QUERY_DIRECTORY else ""

    def structure(self):
        return u16(self.data, HEADER)

    def shape(self, reply, is_pipe):
        return shape(self, reply, is_pipe)


def parts(data, missing=()):
    """The parts of a message. Missing bytes matter unless they are the content of a READ reply or WRITE request."""
    at = 0
    while len(data) - at >= HEADER + 2 and data[at:at + 4] == b"\xfeSMB":
        following = u32(data, at + 20)
        end = at + following if HEADER < following <= len(data) - at else len(data)
        command = u16(data, at + 12)
        content = at + {READ: 80, WRITE: 112}.get(command, len(data))
        yield Part(data[at:end], any(low < end and high > at and low < content for low, high in missing))
        if not HEADER < following <= len(data) - at:
            return
        at = end


def contexts(data, offset, length):
    """Names and data of the create contexts in a request or reply (MS-SMB2 2.2.13.2), with the offset of the data."""
    found, at, end = [], offset, offset + length
    while length and at + 16 <= end <= len(data):
        following, name_at, name_length, data_at, data_length = u32(data, at), u16(data, at + 4), u16(data, at + 6), u16(data, at + 10), u32(data, at + 12)
        found.append((data[at + name_at:at + name_at + name_length], data[at + data_at:at + data_at + data_length], at + data_at))
        if not following:
            break
        at += following
    return found


def request_contexts(part):
    return contexts(part.data, u32(part.data, 112), u32(part.data, 116))


def reply_contexts(part):
    return contexts(part.data, u32(part.data, 144), u32(part.data, 148))


class Opened:
    """What a successful reply to CREATE says."""

    def __init__(self, part):
        data = part.data
        self.oplock, self.action = data[66], u32(data, 68)
        self.size, self.attributes, self.file = u64(data, 112), u32(data, 120), data[128:144]


def entries(request, reply):
    """Name, attributes and size of the entries of a directory; none if an entry exceeds the buffer."""
    return listed(reply.output(66, u32(reply.data, 68)), *ENTRIES[request.data[66]], 8)


def listed(data, fixed, length_at, alignment):
    """The same of entries with this length up to the name, this place of its length, and this alignment."""
    at, found = 0, []
    while at + fixed <= len(data):
        following, length = u32(data, at), u32(data, at + length_at)
        if at + fixed + length > len(data) or following % alignment:
            return None
        name = data[at + fixed:at + fixed + length].decode("utf-16-le", "replace")
        known = fixed > 12
        found.append((name, u32(data, at + 56) if known else 0, u64(data, at + 40) if known else 0))
        if not following:
            return found
        at += following
    return found


def shape(request, reply, is_pipe):
    """What must be equal in two successful replies to the same request, as names with values."""
    data = reply.data
    found = {"structure": u16(data, HEADER)}
    if request.command == TREE_CONNECT:
        found["type of share"] = data[66]
    elif request.command == CREATE:
        opened = Opened(reply)
        directory = bool(opened.attributes & DIRECTORY)
        found |= {"action": opened.action, "directory": directory, "size": 0 if directory or is_pipe else opened.size}
        for name, content, _ in reply_contexts(reply):
            found[f"context {name.decode('latin-1')}"] = len(content)
    elif request.command == CLOSE:
        found["flags"] = u16(data, 66)
        if u16(data, 66) & 1 and not is_pipe:
            found["size"] = 0 if u32(data, 120) & DIRECTORY else u64(data, 112)
    elif request.command == READ and not is_pipe:
        found["bytes"] = u32(data, 68)
        found["content"] = zlib.crc32(data[data[66]:][:u32(data, 68)])
    elif request.command == WRITE:
        found["bytes"] = u32(data, 68)
    elif request.command == IOCTL:
        found["control code"] = u32(data, 68)
        if request.control() in (RESUME_KEY, VALIDATE, OBJECT_ID):
            found["length"] = u32(data, 100)
    elif request.command == QUERY_DIRECTORY:
        listed = entries(request, reply)
        found["names"] = listed and sorted(name.casefold() for name, _, _ in listed)
    elif request.command == QUERY_INFO:
        found |= information(request, reply, is_pipe)
    return found


def information(request, reply, is_pipe):
    """The length of the fixed part of an answer to QUERY_INFO, and the size of the file where it is part of it."""
    kind = request.data[66], request.data[67]
    length = u32(reply.data, 68)
    fixed, variable = FIXED.get(kind, (0, True))
    found = {"length": f"at least {fixed}" if variable and length >= fixed else length}
    if kind in SIZES and not is_pipe:
        size_at, directory_at, mask = SIZES[kind]
        content = reply.output(66, length)
        found["directory"] = bool(content[directory_at] & mask)
        found["size"] = 0 if found["directory"] else u64(content, size_at)
    return found
