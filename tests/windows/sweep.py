"""sweep.py WINE WINDOWS_PROGRAM LINUX_PROGRAM: measures with the Windows program under Wine, and checks what it stored.

The targets are a directory on drive C: and the embedded servers of the Linux program. Every byte that was read must have been
verified, no operation may have failed, and the Linux program must read the same results from the same database.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

PASSWORD = {"SHAREBENCH_PASSWORD": "secret"}
PATIENCE_S = 600


class Failed(Exception):
    pass


class Programs:
    """Both programs, in one working directory."""

    def __init__(self, wine, windows, linux, directory):
        self.commands = {"windows": [wine, str(windows)], "linux": [str(linux)]}
        self.directory = directory

    def run(self, program, *arguments, code=0):
        """Runs a command and returns its standard output."""
        command = self.commands[program] + list(arguments)
        done = subprocess.run(command, cwd=self.directory, env=os.environ | PASSWORD, capture_output=True,
                              text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL)
        if done.returncode != code:
            words = " ".join(arguments)
            raise Failed(f"{program}: '{words}' ended with {done.returncode}, not {code}:\n{done.stdout}{done.stderr}")
        return done.stdout + (done.stderr if code else "")

    def steps(self, program, run):
        return json.loads(self.run(program, "export", run, "--format", "json"))["steps"]


def served(linux, directory):
    """Starts the embedded servers; returns the process and its URLs by protocol."""
    line = [linux, "serve", "--memory", "256MiB", "--account", "alice"]
    for protocol in ("smb", "nfs", "ncp"):
        line += [f"--{protocol}", "127.0.0.1:0"]
    server = subprocess.Popen(line, cwd=directory, env=os.environ | PASSWORD, stdout=subprocess.PIPE, text=True)
    urls = {}
    for text in server.stdout:
        found = re.search(r"\b(smb|nfs|ncp)://\S+", text)
        if found:
            urls.setdefault(found[1], found[0])
        if text.startswith("serving"):
            return server, urls
    raise Failed(f"the servers ended with {server.wait()}")


def check(steps, wanted):
    """Fails unless there are `wanted` steps without failures, and all that was read is what was written."""
    if len(steps) != wanted:
        raise Failed(f"{len(steps)} steps, not {wanted}")
    for step in steps:
        if step["errors"] or step["operations"] == 0:
            raise Failed(f"failed operations, or none: {step}")
        if step["verified_bytes"] != step["bytes"]["read"]:
            raise Failed(f"not all was verified: {step}")


def measure(programs, urls):
    """The runs, each with the number of its steps."""
    quick = ["--file-sizes", "256KiB", "--repetitions", "1", "--quiet"]
    tests = ["--tests", "write,read,random-read", "--record-sizes", "4KiB,64KiB"]
    programs.run("windows", "sweep", r"C:\sharebench-test", urls["smb"], urls["nfs"], urls["ncp"] + "?split=on", *tests, *quick)
    check(programs.steps("windows", "1"), 4 * 3 * 2)
    policies = ["--cache", "normal,unbuffered", "--sync", "normal,write-through", "--depths", "1,16"]
    programs.run("windows", "sweep", "file:///C:/sharebench-test", "--tests", "write,read", "--record-sizes", "4KiB",
                 *policies, *quick)
    # Reads have no sync policy.
    check(programs.steps("windows", "2"), 2 * 2 * 2 + 2 * 2)
    refused = programs.run("windows", "sweep", r"C:\sharebench-test", "--cache", "no-local", *quick, code=2)
    if "one cache only" not in refused:
        raise Failed(f"no reason for a rejected policy: {refused}")
    if programs.steps("linux", "1") != programs.steps("windows", "1"):
        raise Failed("the Linux program reads other results from the same database")
    programs.run("windows", "compare", "1")
    programs.run("windows", "report", "1", "-o", "report.html")
    programs.run("windows", "show", "1")


def main(wine, windows, linux):
    prefix = pathlib.Path(os.environ["WINEPREFIX"])
    target = prefix / "drive_c" / "sharebench-test"
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        linux = pathlib.Path(linux).resolve()
        programs = Programs(wine, pathlib.Path(windows).resolve(), linux, directory)
        server, urls = served(linux, directory)
        try:
            measure(programs, urls)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(PATIENCE_S)
        left = list(target.iterdir())
        if left:
            raise Failed(f"left on the target: {left}")
        target.rmdir()
    print("sweeps on a directory, smb://, nfs:// and ncp://: all that was read was verified")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Failed, KeyError, TypeError) as error:
        sys.exit(f"sweep.py: {error}")
