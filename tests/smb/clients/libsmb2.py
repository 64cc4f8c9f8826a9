#!/usr/bin/env python3
"""libsmb2: HOST PORT SHARE USER PASSWORD. LIBSMB2 is where an installed libsmb2 has `lib/libsmb2.so`.

In five dialects, unsigned, signed and (from 3.0 on) encrypted, it writes, reads (also with 16 requests in flight), lists, renames,
truncates and removes files. Fails at the first difference.
"""
import ctypes
import os
import random
import select
import sys

HOST, PORT, SHARE, USER, PASSWORD = sys.argv[1:6]
CALL_SECONDS = 60
DIALECTS = [0x0202, 0x0210, 0x0300, 0x0302, 0x0311]
NTLM = 1
IN_FLIGHT, RECORD = 16, 64 << 10
ENTRIES = 200
CONTENT = random.Random(7).randbytes(5_000_001)

Done = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class Stat(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_uint32), ("links", ctypes.c_uint32), ("number", ctypes.c_uint64), ("size", ctypes.c_uint64)]
    _fields_ += [(f"time{index}", ctypes.c_uint64) for index in range(8)]


class Entry(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("stat", Stat)]


class Client:
    """A connection to the share; each failed call ends the program."""

    POINTERS = ["smb2_init_context", "smb2_open", "smb2_opendir", "smb2_readdir"]

    def __init__(self, library, dialect, protection):
        self.library = library
        for name in self.POINTERS:
            getattr(library, name).restype = ctypes.c_void_p
        library.smb2_get_error.restype = ctypes.c_char_p
        library.smb2_get_max_write_size.restype = ctypes.c_uint32
        self.context = ctypes.c_void_p(library.smb2_init_context())
        self.void("smb2_set_timeout", CALL_SECONDS)
        self.void("smb2_set_authentication", NTLM)
        self.void("smb2_set_version", dialect)
        self.void("smb2_set_user", USER.encode())
        self.void("smb2_set_password", PASSWORD.encode())
        self.void("smb2_set_security_mode", 1)
        if protection == "signed":
            self.void("smb2_set_sign", 1)
        if protection == "encrypted":
            self.void("smb2_set_seal", 1)
        self.call("smb2_connect_share", f"{HOST}:{PORT}".encode(), SHARE.encode(), USER.encode())

    def void(self, name, *words):
        getattr(self.library, name)(self.context, *words)

    def fail(self, what):
        sys.exit(f"{what}: {self.library.smb2_get_error(self.context).decode()}")

    def call(self, name, *words):
        result = getattr(self.library, name)(self.context, *words)
        if result < 0:
            self.fail(f"{name}: {os.strerror(-result)}")
        return result

    def open(self, path, flags):
        file = self.library.smb2_open(self.context, path.encode(), flags)
        return ctypes.c_void_p(file) if file else self.fail(f"open {path}")

    def write(self, path, content):
        file = self.open(path, os.O_CREAT | os.O_RDWR)
        most = self.library.smb2_get_max_write_size(self.context)
        at = 0
        while at < len(content):
            piece = content[at:at + most]
            at += self.call("smb2_pwrite", file, piece, ctypes.c_uint32(len(piece)), ctypes.c_uint64(at))
        self.call("smb2_fsync", file)
        self.call("smb2_close", file)

    def read(self, path, length):
        """Reads with several requests in flight."""
        file = self.open(path, os.O_RDONLY)
        buffer = (ctypes.c_ubyte * length)()
        waiting = list(range(0, length, RECORD))
        flying, wrong = set(), []

        def done(_context, status, _data, offset):
            offset = offset or 0
            flying.discard(offset)
            if status != min(RECORD, length - offset):
                wrong.append((offset, status))

        callback = Done(done)
        descriptor = self.library.smb2_get_fd(self.context)
        while waiting or flying:
            while waiting and len(flying) < IN_FLIGHT:
                offset = waiting.pop(0)
                flying.add(offset)
                size = ctypes.c_uint32(min(RECORD, length - offset))
                place = ctypes.byref(buffer, offset)
                at = ctypes.c_uint64(offset)
                self.call("smb2_pread_async", file, place, size, at, callback, ctypes.c_void_p(offset))
            poll = select.poll()
            poll.register(descriptor, self.library.smb2_which_events(self.context))
            ready = poll.poll(CALL_SECONDS * 1000)
            if not ready:
                sys.exit(f"read {path}: no reply, {len(flying)} in flight")
            self.call("smb2_service", ready[0][1])
        self.call("smb2_close", file)
        if wrong:
            sys.exit(f"read {path}: {wrong}")
        return bytes(buffer)

    def list(self, path):
        directory = self.library.smb2_opendir(self.context, path.encode())
        if not directory:
            self.fail(f"list {path}")
        directory = ctypes.c_void_p(directory)
        found = {}
        while entry := self.library.smb2_readdir(self.context, directory):
            entry = ctypes.cast(entry, ctypes.POINTER(Entry)).contents
            if entry.name not in (b".", b".."):
                found[entry.name.decode()] = entry.stat.size
        self.void("smb2_closedir", directory)
        return found

    def size(self, path):
        stat = Stat()
        self.call("smb2_stat", path.encode(), ctypes.byref(stat))
        return stat.size


def check(is_true, what):
    if not is_true:
        sys.exit(f"wrong: {what}")


def use(library, dialect, protection):
    client = Client(library, dialect, protection)
    client.call("smb2_echo")
    client.call("smb2_mkdir", b"d")
    client.write("d/größe", CONTENT)
    check(client.size("d/größe") == len(CONTENT), "the size of the file")
    check(client.read("d/größe", len(CONTENT)) == CONTENT, "the bytes that the client reads")
    client.call("smb2_rename", "d/größe".encode(), b"d/moved")
    client.call("smb2_truncate", b"d/moved", ctypes.c_uint64(12345))
    check(client.read("d/moved", 12345) == CONTENT[:12345], "the truncated file")
    for index in range(ENTRIES):
        client.write(f"d/entry-{index}", b"x" * (index % 7))
    expected = {f"entry-{index}": index % 7 for index in range(ENTRIES)} | {"moved": 12345}
    check(client.list("d") == expected, "the listing")
    # A server may mark it for removal on close, which does nothing to a directory with entries (MS-FSA 2.1.5.5).
    library.smb2_rmdir(client.context, b"d")
    check(client.list("d") == expected, "a directory with entries was removed")
    for name in expected:
        client.call("smb2_unlink", f"d/{name}".encode())
    client.call("smb2_rmdir", b"d")
    check(library.smb2_open(client.context, b"d/none", os.O_RDONLY) is None, "a missing file was opened")
    client.call("smb2_disconnect_share")
    client.void("smb2_destroy_context")


def main():
    library = ctypes.CDLL(os.path.join(os.environ["LIBSMB2"], "lib/libsmb2.so"))
    for dialect in DIALECTS:
        for protection in ["unsigned", "signed"] + (["encrypted"] if dialect >= 0x0300 else []):
            use(library, dialect, protection)


if __name__ == "__main__":
    main()
