"""slow-disk.py IMAGE FOLDER MICROSECONDS: a loop device over IMAGE whose every read takes so much longer.

Mounts a file system of one file on FOLDER (FUSE; include/uapi/linux/fuse.h), puts a loop device on that file, prints the
device's name and serves until it is killed. Run it in a mount namespace of its own, as root.
"""

import ctypes
import os
import struct
import subprocess
import sys
import threading
import time

image, folder, delay = sys.argv[1], sys.argv[2], int(sys.argv[3]) / 1e6
data = os.open(image, os.O_RDWR)
size = os.fstat(data).st_size
MOST = 1 << 20
ROOT, FILE = 1, 2
LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC = 1, 2, 3, 4, 14, 15, 16, 17, 18, 20
FLUSH, INIT, OPENDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET, FALLOCATE = 25, 26, 27, 29, 36, 42, 43
ENOENT, ENOSYS = 2, 38
ASYNC_READ, BIG_WRITES, ASYNC_DIO, MAX_PAGES = 1 << 0, 1 << 5, 1 << 15, 1 << 22


def attributes(node):
    mode, length = (0o40755, 4096) if node == ROOT else (0o100600, size)
    return struct.pack("<6Q10I", node, length, length // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(opcode, node, body):
    """The error and the body of a reply."""
    if opcode == INIT:
        flags = ASYNC_READ | BIG_WRITES | ASYNC_DIO | MAX_PAGES
        head = struct.pack("<4I2H2I2H", 7, 31, 0, flags, 64, 48, MOST, 1, MOST // 4096, 0)
        return 0, head.ljust(64, b"\0")
    if opcode == LOOKUP:
        if body.rstrip(b"\0") != b"image":
            return ENOENT, b""
        return 0, struct.pack("<4Q2I", FILE, 0, 3600, 3600, 0, 0) + attributes(FILE)
    if opcode in (GETATTR, SETATTR):
        return 0, struct.pack("<QII", 3600, 0, 0) + attributes(node)
    if opcode in (OPEN, OPENDIR):
        return 0, struct.pack("<QII", 0, 0, 0)
    if opcode == READ:
        _, offset, length = struct.unpack_from("<QQI", body)
        time.sleep(delay)
        return 0, os.pread(data, length, offset)
    if opcode == WRITE:
        _, offset, length = struct.unpack_from("<QQI", body)
        return 0, struct.pack("<II", os.pwrite(data, body[40 : 40 + length], offset), 0)
    if opcode == STATFS:
        return 0, struct.pack("<5Q4I", size // 4096, 0, 0, 2, 0, 4096, 255, 4096, 0).ljust(80, b"\0")
    if opcode in (RELEASE, RELEASEDIR, FSYNC, FLUSH):
        return 0, b""
    return ENOSYS, b""


def serve():
    while True:
        try:
            request = os.read(fuse, MOST + 4096)
        except OSError:
            return
        _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
        if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
            continue
        try:
            error, body = answer(opcode, node, request[40:])
        except OSError as failed:
            error, body = failed.errno, b""
        try:
            os.writev(fuse, [struct.pack("<IiQ", 16 + len(body), -error, unique), body])
        except OSError:
            pass


fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0".encode()
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"slow-disk", folder.encode(), b"fuse", 0, options):
    sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
threads = [threading.Thread(target=serve) for _ in range(8)]
for thread in threads:
    thread.start()
line = ["losetup", "--find", "--show", "--direct-io=on", os.path.join(folder, "image")]
print("device", subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip(), flush=True)
for thread in threads:
    thread.join()
