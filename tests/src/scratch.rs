//! A temporary directory for one test.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io, process};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A new directory below the temporary directory of the system; dropping it removes it with its content.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Creates a directory whose name starts with `sharebench-test-` and is unique on this machine.
    pub fn new(purpose: &str) -> io::Result<Self> {
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("sharebench-test-{}-{number}-{purpose}", process::id());
            let path = std::env::temp_dir().join(name);
            match fs::create_dir(&path) {
                // A process that had this number before was killed and left it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| Self(path)),
            }
        }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A path below it, as text.
    ///
    /// # Panics
    /// When the temporary directory is not UTF-8.
    pub fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a temporary directory in UTF-8").to_owned()
    }

    /// Creates a subdirectory that every user may access.
    pub fn directory(&self, name: &str) -> io::Result<PathBuf> {
        use std::os::unix::fs::PermissionsExt;
        let path = self.0.join(name);
        fs::create_dir_all(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o1777))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A failure leaves the directory; `drop` cannot report it.
        let _ = fs::remove_dir_all(&self.0);
    }
}
