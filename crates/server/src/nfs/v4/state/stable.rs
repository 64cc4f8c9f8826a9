//! What a server keeps on stable storage: the secret of its handles, and the clients that may reclaim their state.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::nfs::handle::HandleSecret;
use crate::nfs::siphash::SipKey;
use crate::system::private_file;

/// First line of the file.
const FORMAT: &str = "sharebench nfs state 1";
/// Largest file that is read: each client has at most 1 KiB of owner, in hexadecimal digits.
const MAX_BYTES: u64 = 64 << 20;

/// Lines that are appended for changes before the file is written anew.
const MAX_APPENDED: usize = 10_000;

/// The file with the state that outlives the server (RFC 8881, 8.4.3).
///
/// A client is added before its first open is answered, and removed when its lease ends: after a restart exactly those
/// clients may reclaim whose state nobody else can have taken. Changes are appended as lines. At each start, and after
/// many changes, the file is written anew under a temporary name and renamed, so that it is always complete.
#[derive(Debug)]
pub(in crate::nfs) struct StableStore {
    path: PathBuf,
    secret: [u64; 3],
    /// Number of this start of the server.
    boot: u32,
    clients: BTreeSet<Box<[u8]>>,
    /// The file, open for appending.
    file: Option<fs::File>,
    appended: usize,
}

impl StableStore {
    /// Reads the file, or begins a new one, and counts a start of the server. Returns the clients of the earlier start.
    ///
    /// # Errors
    /// A file that cannot be read or written, or has another format.
    pub(in crate::nfs) fn open(path: &Path) -> io::Result<(Self, BTreeSet<Box<[u8]>>)> {
        let mut store = match fs::metadata(path) {
            Ok(status) if status.len() > MAX_BYTES => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is too large"));
            }
            Ok(_) => Self::parse(path, &fs::read_to_string(path)?).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, "not a state file of an NFS server")
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::begin(path),
            Err(error) => return Err(error),
        };
        store.boot = store.boot.wrapping_add(1).max(1);
        let earlier = store.clients.clone();
        store.rewrite()?;
        Ok((store, earlier))
    }

    fn begin(path: &Path) -> Self {
        let HandleSecret { instance, key: SipKey([low, high]) } = HandleSecret::random();
        // The count begins somewhere, so that a state id of a server whose file was lost is not one of this start.
        Self::new(path, [instance, low, high], (low ^ high) as u32 | 1 << 16)
    }

    fn new(path: &Path, secret: [u64; 3], boot: u32) -> Self {
        Self { path: path.to_owned(), secret, boot, clients: BTreeSet::new(), file: None, appended: 0 }
    }

    fn parse(path: &Path, text: &str) -> Option<Self> {
        // The last line may be incomplete after a crash.
        let complete = &text[..=text.rfind('\n')?];
        let mut lines = complete.lines();
        if lines.next() != Some(FORMAT) {
            return None;
        }
        let secret = lines.next()?.strip_prefix("secret ")?;
        let mut words = secret.split(' ').map(|word| u64::from_str_radix(word, 16).ok());
        let secret = [words.next()??, words.next()??, words.next()??];
        let boot = lines.next()?.strip_prefix("boot ")?.parse().ok()?;
        let mut store = Self::new(path, secret, boot);
        for line in lines {
            match line.split_once(' ')? {
                ("client", owner) => store.clients.insert(bytes_of_hex(owner)?),
                ("gone", owner) => store.clients.remove(&bytes_of_hex(owner)?),
                _ => return None,
            };
        }
        Some(store)
    }

    fn rewrite(&mut self) -> io::Result<()> {
        let [instance, low, high] = self.secret;
        let mut text =
            format!("{FORMAT}\nsecret {instance:016x} {low:016x} {high:016x}\nboot {}\n", self.boot);
        for client in &self.clients {
            text.push_str(&change_line("client", client));
        }
        let temporary = self.path.with_extension("new");
        let mut file = private_file().write(true).create(true).truncate(true).open(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_data()?;
        fs::rename(&temporary, &self.path)?;
        // The position is after the last line.
        self.file = Some(file);
        self.appended = 0;
        Ok(())
    }

    fn append(&mut self, line: &str) -> io::Result<()> {
        self.appended += 1;
        if self.appended > MAX_APPENDED {
            return self.rewrite();
        }
        let file = self.file.as_mut().ok_or_else(|| io::Error::other("the file is not open"))?;
        file.write_all(line.as_bytes())?;
        file.sync_data()
    }

    fn append_or_warn(&mut self, line: &str) {
        if let Err(error) = self.append(line) {
            tracing::warn!(path = ?self.path, %error, "NFSv4 clients cannot reclaim after a restart");
        }
    }

    /// The secret of the file handles.
    pub(in crate::nfs) fn secret(&self) -> HandleSecret {
        let [instance, low, high] = self.secret;
        HandleSecret { instance, key: SipKey([low, high]) }
    }

    /// Number of this start of the server.
    pub(in crate::nfs) fn boot(&self) -> u32 {
        self.boot
    }

    /// Adds a client that may reclaim after the next start.
    pub(super) fn add(&mut self, owner: &[u8]) {
        if self.clients.insert(owner.into()) {
            self.append_or_warn(&change_line("client", owner));
        }
    }

    /// Removes a client that may no longer reclaim.
    pub(super) fn remove(&mut self, owner: &[u8]) {
        if self.clients.remove(owner) {
            self.append_or_warn(&change_line("gone", owner));
        }
    }

    /// Removes the clients that have not come back within the grace period.
    pub(super) fn retain(&mut self, keep: impl Fn(&[u8]) -> bool) {
        let before = self.clients.len();
        self.clients.retain(|owner| keep(owner));
        if self.clients.len() < before
            && let Err(error) = self.rewrite()
        {
            tracing::warn!(path = ?self.path, %error, "the state of NFSv4 clients is not up to date");
        }
    }
}

/// A line about a client.
fn change_line(change: &str, owner: &[u8]) -> String {
    let mut line = change.to_owned();
    line.push(' ');
    for byte in owner {
        line.extend([byte >> 4, byte & 15].map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])));
    }
    line.push('\n');
    line
}

fn bytes_of_hex(text: &str) -> Option<Box<[u8]>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_and_clients_survive_a_restart_and_the_boot_is_counted() {
        let path = std::env::temp_dir().join(format!("sharebench-nfs-state-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        let (mut first, earlier) = StableStore::open(&path).unwrap();
        assert!(earlier.is_empty());
        first.add(b"one\0\xff");
        first.add(b"two");
        first.remove(b"two");
        let (second, earlier) = StableStore::open(&path).unwrap();
        assert_eq!(earlier.into_iter().collect::<Vec<_>>(), [Box::from(&b"one\0\xff"[..])]);
        assert_eq!((second.secret, second.boot), (first.secret, first.boot + 1));
        fs::write(&path, "something else").unwrap();
        assert!(StableStore::open(&path).is_err());
        fs::remove_file(&path).unwrap();
    }
}
