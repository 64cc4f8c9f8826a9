"""A server of sharebench on loopback that ends with a `with` statement."""
import socket
import subprocess
import sys
import time

START_SECONDS = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    def __init__(self, command, ports, scratch):
        self.command, self.ports, self.log = command, ports, scratch / "server.log"

    def __enter__(self):
        with open(self.log, "w") as log:
            self.program = subprocess.Popen(self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.program.poll() is None:
            try:
                for port in self.ports:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                return self
            except OSError:
                time.sleep(0.05)
        self.program.kill()
        sys.exit(f"the server did not start: {self.command}\n{self.log.read_text()}")

    def ended(self):
        """The exit code of a server that has ended by itself."""
        return self.program.poll()

    def __exit__(self, *_):
        self.program.terminate()
        self.program.wait()
