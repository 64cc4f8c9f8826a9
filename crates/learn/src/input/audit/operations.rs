//! Messages to operations on files.
//!
//! smbd logs calls of its own file system layer, of which several belong to one request of a client. Which ones stand for a
//! request was found with smbd 4.17: `create_file` is CREATE, and `strict_lock_check` comes once before each read and write,
//! with its range, which `pread_send` and `pwrite_send` do not print.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::line::Message;
use super::opens::{Opens, hash};
use crate::input::message::Ends;
use crate::input::paths::{self, joined, named};
use crate::input::performed::{Exchange, Performed};
use crate::input::recorder::{Recorder, Recording};
use crate::operation::{Access, Action, Outcome, Protocol};

/// The server of all audit logs: their lines do not have its address.
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 445);
/// The number of every error but a name that does not exist: logs have texts.
const FAILED: u32 = 1;
const NO_SUCH_FILE: &[u8] = b"No such file or directory";
/// Most users. Lines of further ones are counted as not understood.
const MAX_USERS: usize = 1 << 20;

/// Access (MS-SMB2 2.2.13.1.1) to data: `FILE_READ_DATA`, `FILE_WRITE_DATA`, `FILE_APPEND_DATA`, `FILE_EXECUTE`, `MAXIMUM_ALLOWED`,
/// `GENERIC_ALL`, `GENERIC_EXECUTE`, `GENERIC_WRITE` and `GENERIC_READ`.
const DATA: u32 = 0xF200_0027;
/// `FILE_WRITE_DATA`, `FILE_APPEND_DATA`, `GENERIC_ALL` and `GENERIC_WRITE`.
const WRITE: u32 = 0x5000_0006;
/// `FILE_LIST_DIRECTORY`, `MAXIMUM_ALLOWED`, `GENERIC_ALL` and `GENERIC_READ`.
const LIST: u32 = 0x9200_0001;
/// DELETE, which a removal and a rename need. They have lines of their own.
const DELETE: u32 = 0x0001_0000;
/// `FILE_WRITE_EA`, `FILE_WRITE_ATTRIBUTES`, `WRITE_DAC` and `WRITE_OWNER`.
const SET_ATTRIBUTES: u32 = 0x000C_0110;

/// Lines that a log must have, over all inputs.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Seen {
    creates: u64,
    descriptors: u64,
    closes: u64,
    /// Files that were opened for their data.
    opens: u64,
    ranges: u64,
}

impl Seen {
    /// An operation whose lines are missing, without which the others say too little.
    pub(super) fn missing(&self) -> Option<&'static str> {
        let rows = [
            ("create_file", self.creates),
            ("openat", self.descriptors),
            ("close", self.closes),
            ("strict_lock_check", if self.opens == 0 { 1 } else { self.ranges }),
        ];
        rows.iter().find(|(_, count)| *count == 0).map(|(name, _)| *name)
    }
}

/// Follows the users of a log.
#[derive(Default)]
pub(super) struct Operations {
    /// By the hash of the prefix.
    users: HashMap<u64, u32>,
    opens: Opens,
    /// The path of each user of which smbd has just found that it does not exist, by its hash.
    missing: HashMap<u32, u64>,
    pub(super) seen: Seen,
}

/// A message of a user at a time.
struct At<'a> {
    user: u32,
    time: u64,
    message: &'a Message<'a>,
}

impl At<'_> {
    fn outcome(&self) -> Outcome {
        match self.message.result {
            Ok(()) => Outcome::Done,
            Err(NO_SUCH_FILE) => Outcome::NotFound,
            Err(_) => Outcome::Failed(FAILED),
        }
    }

    fn record(&self, action: Action, recorder: &mut Recording<'_>) {
        self.record_as(action, self.outcome(), recorder);
    }

    fn record_as(&self, action: Action, outcome: Outcome, recorder: &mut Recording<'_>) {
        // A line has one time. Whether it is nearer to the request or to the reply is not known, so that there is no duration.
        recorder.unseen().without_duration += 1;
        recorder.add(Exchange::unanswered(self.user, self.time), Performed::one(action, outcome));
    }

    /// The path of a message that has nothing else.
    fn path(&self) -> Vec<u8> {
        joined(b"", self.message.rest)
    }
}

impl Operations {
    /// Adds what a message says. False where its prefix has no address of a client.
    pub(super) fn add(&mut self, time: u64, message: &Message<'_>, recorder: &mut Recorder) -> bool {
        let identity = hash(message.prefix);
        let user = if let Some(user) = self.users.get(&identity) {
            *user
        } else {
            let Some(client) = message.client() else { return false };
            if self.users.len() >= MAX_USERS {
                recorder.unseen().not_understood += 1;
                return true;
            }
            let ends = Ends { client: SocketAddr::new(client, 0), server: SERVER };
            let user = recorder.connection(ends).user(identity, Protocol::AuditLog);
            self.users.insert(identity, user);
            user
        };
        let at = At { user, time, message };
        // Files are those of the server, whoever its client is.
        let mut recorder = recorder.connection(Ends { client: SERVER, server: SERVER });
        if self.one(&at, &mut recorder).is_none() {
            recorder.unseen().not_understood += 1;
        }
        true
    }

    /// None for a message that does not have the fields of its operation.
    fn one(&mut self, at: &At<'_>, recorder: &mut Recording<'_>) -> Option<()> {
        let is_done = at.message.result.is_ok();
        match at.message.operation {
            b"connect" => at.record(Action::Connect, recorder),
            b"create_file" => return self.create(at, recorder),
            b"openat" => return self.descriptor(at),
            b"close" if is_done => self.close(at, recorder),
            b"strict_lock_check" => return self.transfer(at, recorder),
            b"fsync" | b"fsync_send" => Self::on_file(at, |file| Action::Flush { file }, recorder),
            // The new size is not in the line.
            b"ftruncate" | b"fallocate" => at.record(Action::Other("set size"), recorder),
            b"fdopendir" if is_done => self.list(at, recorder),
            // A directory that exists already has a line of `create_file` only.
            b"mkdirat" if is_done => {
                let action = paths::make_directory(&at.path(), true, recorder);
                at.record(action, recorder);
            }
            b"unlinkat" => {
                let action = paths::remove(&at.path(), is_done, recorder);
                at.record(action, recorder);
            }
            b"renameat" => return self.rename(at, recorder),
            b"linkat" | b"symlinkat" => at.record(Action::Other("link"), recorder),
            b"disk_free" => at.record(Action::Space, recorder),
            b"brl_lock_windows" => return Self::lock(at, false, recorder),
            b"brl_unlock_windows" => return Self::lock(at, true, recorder),
            _ => {}
        }
        Some(())
    }

    /// `openat|ok|r|PATH`
    fn descriptor(&mut self, at: &At<'_>) -> Option<()> {
        let [_, path] = at.message.parts()?;
        let path = joined(b"", path);
        self.seen.descriptors += 1;
        match at.message.result {
            Ok(()) => self.opens.descriptor(at.user, &path),
            Err(NO_SUCH_FILE) => {
                self.missing.insert(at.user, hash(&path));
            }
            Err(_) => {}
        }
        Some(())
    }

    /// `create_file|ok|0x120089|file|open|PATH`: access, type and disposition (MS-SMB2 2.2.13) as the client sent them.
    fn create(&mut self, at: &At<'_>, recorder: &mut Recording<'_>) -> Option<()> {
        let [access, kind, disposition, path] = at.message.parts()?;
        let access = std::str::from_utf8(access.strip_prefix(b"0x")?).ok()?;
        let access = u32::from_str_radix(access, 16).ok()?;
        let path = joined(b"", path);
        self.seen.creates += 1;
        let was_missing = self.missing.remove(&at.user) == Some(hash(&path));
        let makes = matches!(disposition, b"create" | b"open_if" | b"overwrite_if" | b"supersede");
        let is_directory = kind == b"dir";
        if at.message.result.is_err() {
            let known = recorder.known_file(&path);
            // The text of an error is the last one that smbd met: what would be made cannot be missing.
            let outcome = if makes { Outcome::Failed(FAILED) } else { at.outcome() };
            let action = match (is_directory, makes) {
                (true, true) => Action::MakeDirectory { directory: None },
                (false, _) if access & DATA != 0 => Action::Open {
                    file: known,
                    access: Access::from_write(access & WRITE != 0),
                    created: false,
                },
                _ => Action::Stat { file: known },
            };
            at.record_as(action, outcome, recorder);
            return Some(());
        }
        let made = disposition == b"create" || makes && was_missing;
        let emptied = matches!(disposition, b"overwrite" | b"overwrite_if" | b"supersede");
        let file = named(&path, recorder);
        if access & LIST != 0 {
            self.opens.may_list(at.user, &path);
        }
        if is_directory {
            // What made it, lists it or removes it has a line of its own.
            recorder.directory(file);
            if !made && access & (LIST | DELETE) == 0 {
                at.record(Action::Stat { file: Some(file) }, recorder);
            }
            return Some(());
        }
        if made {
            recorder.created(file);
        } else if emptied {
            recorder.changed(file);
        }
        let created = made || emptied;
        if created || access & DATA != 0 {
            self.seen.opens += 1;
            self.opens.opened(at.user, &path, file);
            at.record(
                Action::Open { file: Some(file), access: Access::from_write(access & WRITE != 0), created },
                recorder,
            );
        } else if access & SET_ATTRIBUTES != 0 {
            at.record(Action::SetAttributes { file }, recorder);
        } else if access & DELETE == 0 {
            at.record(Action::Stat { file: Some(file) }, recorder);
        }
        Some(())
    }

    fn close(&mut self, at: &At<'_>, recorder: &mut Recording<'_>) {
        self.seen.closes += 1;
        if let Some(file) = self.opens.closed(at.user, &at.path()) {
            at.record(Action::Close { file }, recorder);
        }
    }

    /// `strict_lock_check|ok|PATH:OFFSET-LENGTH:TYPE` before a read or write, also before those of a copy on the server.
    fn transfer(&mut self, at: &At<'_>, recorder: &mut Recording<'_>) -> Option<()> {
        let (path, offset, length, is_write) = at.message.range()?;
        self.seen.ranges += 1;
        let file = named(&joined(b"", path), recorder);
        let bytes = u32::try_from(length).unwrap_or(u32::MAX);
        let action = if is_write {
            recorder.changed(file);
            Action::Write { file, offset, bytes, stable: false }
        } else {
            Action::Read { file, offset, asked: bytes, bytes }
        };
        at.record(action, recorder);
        Some(())
    }

    fn list(&mut self, at: &At<'_>, recorder: &mut Recording<'_>) {
        let path = at.path();
        if self.opens.listed(at.user, &path) {
            let directory = named(&path, recorder);
            recorder.directory(directory);
            // Lines of `readdir` are without names, and searches of smbd have them too.
            at.record(Action::List { directory, entries: 0, first: true }, recorder);
        }
    }

    /// `renameat|ok|FROM|TO`, with whole paths, so that the bar before a slash separates them.
    fn rename(&mut self, at: &At<'_>, recorder: &mut Recording<'_>) -> Option<()> {
        let bar = at.message.rest.windows(2).position(|pair| pair == b"|/")?;
        let from = joined(b"", at.message.rest.get(..bar)?);
        let to = joined(b"", at.message.rest.get(bar + 1..)?);
        let action = paths::rename(&from, &to, at.message.result.is_ok(), recorder);
        if at.message.result.is_ok() {
            self.opens.renamed(at.user, &from, &to);
        }
        at.record(action, recorder);
        Some(())
    }

    fn on_file(at: &At<'_>, action: impl FnOnce(u32) -> Action, recorder: &mut Recording<'_>) {
        let file = named(&at.path(), recorder);
        at.record(action(file), recorder);
    }

    fn lock(at: &At<'_>, release: bool, recorder: &mut Recording<'_>) -> Option<()> {
        let file = named(&joined(b"", at.message.locked()?), recorder);
        // smbd 4.17 prints the result of an unlock the wrong way round.
        let outcome = if release { Outcome::Done } else { at.outcome() };
        at.record_as(Action::Lock { file, release }, outcome, recorder);
        Some(())
    }
}
