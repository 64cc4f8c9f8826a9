//! What other clients copy and compare: one file of 20 MB and a tree of 500 files.

use std::path::Path;
use std::{fs, io};

use crate::scratch::Scratch;

/// A directory with the file `big` and the directory `tree`.
#[derive(Debug)]
pub struct SourceTree(Scratch);

impl SourceTree {
    /// Length of `big`; not a multiple of any block.
    pub const BIG: usize = 20_000_001;
    /// Directories of `tree`, `d0` and so on.
    pub const DIRECTORIES: usize = 10;
    /// Files of `tree`, all directories together.
    pub const FILES: usize = 500;

    /// Writes it all, the same every time.
    pub fn make() -> io::Result<Self> {
        let scratch = Scratch::new("source")?;
        let mut noise = Noise(0x9e37_79b9_7f4a_7c15);
        fs::write(scratch.path().join("big"), noise.bytes(Self::BIG))?;
        for number in 0..Self::FILES {
            let directory = scratch.path().join(format!("tree/d{}", number % Self::DIRECTORIES));
            fs::create_dir_all(&directory)?;
            // From empty to 12 KiB, mostly odd sizes.
            fs::write(directory.join(format!("file {number}.dat")), noise.bytes(number * 25))?;
        }
        Ok(Self(scratch))
    }

    /// The directory that holds both.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Compares a copy of `big` and `tree` below `copy`, of which the directories `without` are missing; the
    /// error names the first difference.
    pub fn compare(&self, copy: &Path, without: &[&str]) -> io::Result<()> {
        let mut files = Vec::new();
        list(self.path(), Path::new(""), &mut files)?;
        let wanted = |file: &&String| without.iter().all(|gone| !file.starts_with(gone));
        for file in files.iter().filter(wanted) {
            let ours = fs::read(self.path().join(file))?;
            let theirs = fs::read(copy.join(file));
            if !theirs.is_ok_and(|theirs| theirs == ours) {
                return Err(io::Error::other(format!(
                    "{file} is missing or different in {}",
                    copy.display()
                )));
            }
        }
        let mut copied = Vec::new();
        list(copy, Path::new(""), &mut copied)?;
        match copied.iter().find(|file| !files.contains(file) || !wanted(file)) {
            None => Ok(()),
            Some(file) => Err(io::Error::other(format!("{file} is too much in {}", copy.display()))),
        }
    }
}

fn list(root: &Path, below: &Path, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            list(root, &path, files)?;
        } else {
            files.push(path.display().to_string());
        }
    }
    Ok(())
}

/// Bytes that do not compress, from a small generator (xorshift64*).
struct Noise(u64);

impl Noise {
    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length + 8);
        while bytes.len() < length {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            bytes.extend(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes());
        }
        bytes.truncate(length);
        bytes
    }
}
