//! The files by which Linux describes the machine. Other systems have none, even if a path of this name exists there, as
//! it does under Wine: it would describe another system than the one that runs this program.

use std::fs::{self, DirEntry};
use std::io::{self, ErrorKind};

/// True on systems that describe themselves by such files.
pub(crate) const EXIST: bool = cfg!(target_os = "linux");

fn check() -> io::Result<()> {
    if EXIST { Ok(()) } else { Err(io::Error::new(ErrorKind::Unsupported, "only Linux has this file")) }
}

/// The content of a file.
pub(crate) fn text(path: &str) -> io::Result<String> {
    check().and_then(|()| fs::read_to_string(path))
}

/// The entries of a directory that can be read.
pub(crate) fn entries(path: &str) -> io::Result<impl Iterator<Item = DirEntry>> {
    check()?;
    Ok(fs::read_dir(path)?.flatten())
}
