//! Files that the user names: written whole or not at all, and read up to a limit.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::path::Path;

/// Largest text that is read: plans, presets, passwords. A device without end must not fill the memory.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// Name of standard output in an option that takes a file to write.
pub const STANDARD_OUTPUT: &str = "-";

/// Reads a text file of at most 16 MiB.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(MAX_TEXT_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_TEXT_BYTES {
        return Err(io::Error::new(ErrorKind::FileTooLarge, "larger than 16 MiB"));
    }
    Ok(text)
}

/// Writes a file under a temporary name in the same directory and renames it, so that a full disk leaves the earlier
/// file in place. Devices, pipes and links are written directly, because a rename would replace them. The name
/// [`STANDARD_OUTPUT`] is no file.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(path, |out| out.write_all(bytes))
}

/// As [`write()`], but `fill` writes the content, so that it need not be in memory as a whole.
pub fn write_with<E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    if path == Path::new(STANDARD_OUTPUT) {
        fill(&mut StandardOutput)?;
        return Ok(io::stdout().flush().or_else(unless_reader_is_gone)?);
    }
    let before = path.symlink_metadata();
    let name = path.file_name().ok_or_else(|| io::Error::from(ErrorKind::IsADirectory))?;
    if before.as_ref().is_ok_and(|before| !before.is_file()) {
        return filled(&File::create(path)?, fill);
    }
    let mut temporary = name.to_owned();
    temporary.push(format!(".{}.new", std::process::id()));
    let temporary = path.with_file_name(temporary);
    let written = write_new(&temporary, fill).and_then(|()| {
        if let Ok(before) = &before {
            fs::set_permissions(&temporary, before.permissions())?;
        }
        Ok(fs::rename(&temporary, path)?)
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Standard output, whose reader may be gone (`| head`).
struct StandardOutput;

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stdout().write_all(bytes).or_else(unless_reader_is_gone)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush().or_else(unless_reader_is_gone)
    }
}

fn unless_reader_is_gone(error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}

fn write_new<E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let file = OpenOptions::new().write(true).create_new(true).open(path)?;
    filled(&file, fill)?;
    // Some file systems report a full disk only here.
    Ok(file.sync_all()?)
}

fn filled<E: From<io::Error>>(
    file: &File,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let mut out = BufWriter::new(file);
    fill(&mut out)?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_a_failed_write_leaves_the_earlier_one() {
        let directory = std::env::temp_dir().join(format!("sharebench-files-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join("report.html");
        write(&path, b"first").unwrap();
        write(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        // The temporary name is taken by a directory.
        let temporary = directory.join(format!("report.html.{}.new", std::process::id()));
        fs::create_dir(&temporary).unwrap();
        assert!(write(&path, b"third").is_err());
        assert_eq!(fs::read(&path).unwrap(), b"second");
        fs::remove_dir(&temporary).unwrap();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        write(Path::new("/dev/null"), b"x").unwrap();
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_text_without_end_is_an_error() {
        let error = read_text("/dev/zero").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge, "{error}");
    }
}
