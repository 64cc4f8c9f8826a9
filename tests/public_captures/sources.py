"""Captures in repositories of other people: where they are looked for, and that they are the expected files."""
import bz2
import gzip
import hashlib
import subprocess

NFSTRACE = "epam/nfstrace"
SURICATA = "OISF/suricata-verify"
ZEEK = "zeek/zeek"
LICENCES = {NFSTRACE: "GPL 2.0", SURICATA: "MIT", ZEEK: "BSD"}


def content(directory, repository, path):
    """The bytes of a file; none if it is not there."""
    owner, name = repository.split("/")
    for place in (directory / f"{owner}+{name}" / "repo", directory / name, directory):
        if (place / path).is_file():
            return (place / path).read_bytes()
        if (place / "HEAD").is_file() or (place / ".git").exists():
            found = subprocess.run(["git", "-C", str(place), "show", f"HEAD:{path}"], capture_output=True)
            if found.returncode == 0:
                return found.stdout
    return None


def capture(directories, repository, path, expected):
    """The bytes of a capture, without compression, or none; and what is wrong."""
    found = (content(directory, repository, path) for directory in directories)
    data = next((data for data in found if data is not None), None)
    if data is None:
        return None, f"missing: {path} of {repository} ({LICENCES[repository]})"
    actual = hashlib.sha256(data).hexdigest()
    if actual != expected:
        return None, f"{path} of {repository}: SHA-256 is {actual}, expected {expected}"
    if path.endswith(".bz2"):
        data = bz2.decompress(data)
    return gzip.decompress(data) if path.endswith(".gz") else data, ""
