#!/usr/bin/env python3
"""Clients written in Python against an SMB server: smb_clients.py HOST PORT SHARE USER PASSWORD.

Each client writes, reads, lists, renames and removes files, with what its library adds: impacket enumerates shares, pysmb
reads descriptors, and smbprotocol uses encryption, streams, copies on the server and times. Fails at the first difference.
"""
import io
import os
import sys

HOST, PORT, SHARE, USER, PASSWORD = sys.argv[1], int(sys.argv[2]), *sys.argv[3:6]
# More than a single-credit request carries.
DATA = os.urandom(300_000)


def use_impacket():
    from impacket.smbconnection import SMBConnection

    client = SMBConnection(HOST, HOST, sess_port=PORT)
    client.login(USER, PASSWORD)
    client.putFile(SHARE, "impacket.bin", io.BytesIO(DATA).read)
    read = io.BytesIO()
    client.getFile(SHARE, "impacket.bin", read.write)
    assert read.getvalue() == DATA
    assert "impacket.bin" in [entry.get_longname() for entry in client.listPath(SHARE, "*")]
    assert SHARE in [share["shi1_netname"][:-1] for share in client.listShares()]
    client.createDirectory(SHARE, "directory")
    client.deleteDirectory(SHARE, "directory")
    client.rename(SHARE, "impacket.bin", "renamed.bin")
    client.deleteFile(SHARE, "renamed.bin")
    client.logoff()


def use_pysmb():
    from smb.SMBConnection import SMBConnection

    client = SMBConnection(USER, PASSWORD, "client", "SHAREBENCH", use_ntlm_v2=True, is_direct_tcp=True)
    assert client.connect(HOST, PORT)
    client.storeFile(SHARE, "pysmb.bin", io.BytesIO(DATA))
    read = io.BytesIO()
    client.retrieveFile(SHARE, "pysmb.bin", read)
    assert read.getvalue() == DATA
    assert "pysmb.bin" in [entry.filename for entry in client.listPath(SHARE, "/")]
    client.getSecurity(SHARE, "pysmb.bin")
    client.rename(SHARE, "pysmb.bin", "renamed.bin")
    client.deleteFiles(SHARE, "renamed.bin")
    client.close()


def use_smbprotocol(**options):
    import smbclient

    smbclient.reset_connection_cache()
    smbclient.register_session(HOST, username=USER, password=PASSWORD, port=PORT, **options)
    path = rf"\\{HOST}\{SHARE}\smbprotocol.bin"

    def content(name):
        with smbclient.open_file(name, mode="rb", port=PORT) as file:
            return file.read()

    for name, data in [(path, DATA), (path + ":stream", b"named")]:
        with smbclient.open_file(name, mode="wb", port=PORT) as file:
            file.write(data)
        assert content(name) == data
    smbclient.copyfile(path, path + ".copy", port=PORT)
    assert content(path + ".copy") == DATA
    smbclient.utime(path, times=(1_000_000_000, 1_000_000_001), port=PORT)
    status = smbclient.stat(path, port=PORT)
    assert (status.st_size, int(status.st_mtime)) == (len(DATA), 1_000_000_001)
    smbclient.rename(path, path + ".renamed", port=PORT)
    for suffix in [".renamed", ".copy"]:
        smbclient.remove(path + suffix, port=PORT)
    assert smbclient.listdir(rf"\\{HOST}\{SHARE}", port=PORT) == []


use_impacket()
use_pysmb()
use_smbprotocol()
use_smbprotocol(encrypt=True)
print("four clients agree")
