"""The SMB servers that foreign clients and test suites are run against: `sharebench serve --smb`, and smbd."""
import os
import signal
import socket
import subprocess
import sys
import time

PASSWORD = "open-Sesame-42"
START_SECONDS = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, program):
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if program.poll() is not None:
                break
            time.sleep(0.02)
    sys.exit(f"the server did not start: {program.args}")


class Sharebench:
    """One `sharebench serve` over a volume in memory, or over a directory."""

    def __init__(self, binary, scratch, volume, flags):
        self.user, self.port = "alice", free_port()
        accounts = scratch / "accounts"
        accounts.write_text(f"{self.user}:{PASSWORD}\n")
        accounts.chmod(0o600)
        if volume == "directory":
            (scratch / "volume").mkdir()
        served = ["--memory", "1GiB"] if volume == "memory" else [str(scratch / "volume")]
        command = [binary, "serve", *served, "--smb", f"127.0.0.1:{self.port}", "--accounts", str(accounts), *flags]
        self.log = open(scratch / "log", "w")
        self.program = subprocess.Popen(command, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)
        wait_for(self.port, self.program)

    def stop(self):
        """Ends the server; false if it had ended by itself."""
        alive = self.program.poll() is None
        self.program.terminate()
        self.program.wait()
        self.log.close()
        return alive


class Smbd:
    """One smbd with a share in a scratch directory."""

    CONFIGURATION = """[global]
 workgroup = LAB
 server role = standalone server
 smb ports = {port}
 interfaces = 127.0.0.1/8
 bind interfaces only = yes
 disable netbios = yes
 disable spoolss = yes
 load printers = no
 private dir = {home}/private
 lock directory = {home}/lock
 state directory = {home}/state
 cache directory = {home}/cache
 pid directory = {home}/pid
 ncalrpc dir = {home}/ncalrpc
 passdb backend = tdbsam:{home}/private/passdb.tdb
 log file = {home}/log
 server min protocol = {min_protocol}
 vfs objects = streams_xattr
 kernel oplocks = no
 kernel share modes = no
 posix locking = no
 ea support = yes
 store dos attributes = yes
[share]
 path = {home}/share
 writable = yes
"""

    def __init__(self, scratch, min_protocol):
        self.user, self.port = "root", free_port()
        for name in ["private", "lock", "state", "cache", "pid", "ncalrpc", "share"]:
            (scratch / name).mkdir()
        config = scratch / "smb.conf"
        config.write_text(self.CONFIGURATION.format(port=self.port, home=scratch, min_protocol=min_protocol))
        add = ["pdbedit", "-s", str(config), "-t", "-a", "-u", self.user]
        subprocess.run(add, input=f"{PASSWORD}\n{PASSWORD}\n", text=True, check=True, capture_output=True)
        self.program = subprocess.Popen(
            ["smbd", "-F", "--no-process-group", "-s", str(config)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )
        wait_for(self.port, self.program)

    def stop(self):
        os.killpg(self.program.pid, signal.SIGTERM)
        self.program.wait()
        return True
