#!/usr/bin/env python3
"""Clients written in Python against an SMB server: clients.py CLIENT HOST PORT SHARE USER PASSWORD.

Each client writes, reads, lists, renames and removes files, with what its library adds: impacket enumerates shares, pysmb
reads descriptors, and smbprotocol uses encryption, streams, copies on the server and times. Fails at the first difference.
"""
import io
import os
import sys

CLIENT, HOST, PORT, SHARE, USER, PASSWORD = *sys.argv[1:3], int(sys.argv[3]), *sys.argv[4:7]
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


def use_aiosmb():
    import asyncio

    from aiosmb.commons.connection.factory import SMBConnectionFactory
    from aiosmb.commons.interfaces.directory import SMBDirectory
    from aiosmb.commons.interfaces.file import SMBFile

    def file(name):
        return SMBFile.from_uncpath(rf"\\{HOST}\{SHARE}\{name}")

    def checked(result):
        *values, error = result
        if error is not None:
            raise error
        return values[0] if values else None

    async def steps():
        checked(await connection.login())
        created = file("aiosmb.bin")
        checked(await created.open(connection, "w"))
        checked(await created.write(DATA))
        await created.close()
        opened = file("aiosmb.bin")
        checked(await opened.open(connection, "r"))
        assert checked(await opened.read(len(DATA))) == DATA
        await opened.close()
        root = SMBDirectory.from_uncpath(rf"\\{HOST}\{SHARE}")
        checked(await root.list(connection))
        assert "aiosmb.bin" in root.files
        checked(await SMBFile.delete_unc(connection, rf"\\{HOST}\{SHARE}\aiosmb.bin"))
        await connection.disconnect()

    url = f"smb2+ntlm-password://{USER}:{PASSWORD}@{HOST}:{PORT}/"
    connection = SMBConnectionFactory.from_url(url).get_connection()
    asyncio.run(steps())


{
    "impacket": use_impacket,
    "pysmb": use_pysmb,
    "smbprotocol": use_smbprotocol,
    "smbprotocol-encrypted": lambda: use_smbprotocol(encrypt=True),
    "aiosmb": use_aiosmb,
}[CLIENT]()
