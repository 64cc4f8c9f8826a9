//! Requests of SMB 1 with their replies to operations.

use super::bytes::short;
use super::files::Files;
use super::names::{Strings, is_pattern};
use super::request::{AfterWrite, ReadReply, Request};
use super::target::remove;
use super::transactions::{Attributes, Change};
use crate::input::protocols::smb::directory;
use crate::input::recorder::Recorder;
use crate::operation::{Action, Outcome};

/// The reply to one command, and where its request was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reply<'a> {
    pub(super) outcome: Outcome,
    pub(super) message: &'a [u8],
    pub(super) words: &'a [u8],
    /// Where the data bytes begin and end in the message.
    pub(super) bytes: (usize, usize),
    /// Of a transaction.
    pub(super) parameters: &'a [u8],
    pub(super) data: &'a [u8],
    pub(super) unicode: bool,
    pub(super) tid: u16,
}

impl<'a> Reply<'a> {
    pub(super) const fn strings(&self) -> Strings<'a> {
        Strings { message: self.message, at: self.bytes.0, end: self.bytes.1, unicode: self.unicode }
    }
}

/// Operations of one command. Some commands are two: write and close, lock and read.
pub(super) type Actions = [Option<Action>; 2];

/// One operation.
pub(super) const fn one(action: Action) -> Actions {
    [Some(action), None]
}

impl Request {
    /// Replaces the FID of a command that follows an open in its chain: the server uses the new one (MS-CIFS
    /// 3.3.5.2.4).
    pub(super) fn use_fid(&mut self, opened: Option<u16>) {
        let Some(opened) = opened else { return };
        match self {
            Self::Close { fid }
            | Self::Flush { fid }
            | Self::Read { fid, .. }
            | Self::Write { fid, .. }
            | Self::Lock { fid, .. } => *fid = opened,
            _ => {}
        }
    }

    /// The operations of a request that failed, or has no reply.
    pub(super) fn attempted(&self, tid: u16, files: &mut Files, recorder: &mut Recorder) -> Actions {
        let known = |name: &str, files: &Files, recorder: &Recorder| files.known(tid, name, recorder);
        one(match self {
            Self::Nothing
            | Self::Unanswered
            | Self::Unknown
            | Self::Setup
            | Self::Logoff
            | Self::Tree { .. }
            | Self::FindClose { .. } => return [None, None],
            Self::Echo(_) => Action::Other("ECHO"),
            Self::Open(opening) => {
                let name = opening.name_in(files, recorder);
                let file = known(&name, files, recorder);
                Action::Open { file, access: opening.access, created: false }
            }
            Self::Close { fid } => Action::Close { file: files.get(*fid, recorder).file },
            Self::Flush { fid } => Action::Flush { file: files.get(*fid, recorder).file },
            Self::Read { fid, offset, asked, reply } => {
                let file = files.get(*fid, recorder).file;
                let read = Action::Read { file, offset: *offset, asked: *asked, bytes: *asked };
                if *reply == ReadReply::Locked {
                    return [Some(Action::Lock { file, release: false }), Some(read)];
                }
                read
            }
            Self::Write { fid, offset, bytes, stable, after } => {
                let file = files.get(*fid, recorder).file;
                let write = Action::Write { file, offset: *offset, bytes: *bytes, stable: *stable };
                let then = match after {
                    AfterWrite::Nothing | AfterWrite::Raw => None,
                    // smbd keeps a file open that nothing was written to.
                    AfterWrite::Close => (*bytes > 0).then_some(Action::Close { file }),
                    AfterWrite::Unlock => Some(Action::Lock { file, release: true }),
                };
                return [Some(write), then];
            }
            Self::Lock { fid, locks, unlocks } => {
                let file = files.get(*fid, recorder).file;
                let lock = |release| Action::Lock { file, release };
                return [unlocks.then(|| lock(true)), locks.then(|| lock(false))];
            }
            Self::Find { name } | Self::Search { name } => match known(directory(name), files, recorder) {
                Some(directory) => Action::List { directory, entries: 0, first: true },
                None => Action::Other("FIND_FIRST2"),
            },
            Self::FindNext { sid } => {
                let directory = files.search_directory(*sid, recorder);
                Action::List { directory, entries: 0, first: false }
            }
            Self::Query { target, .. } => Action::Stat { file: target.known(tid, files, recorder) },
            Self::Set { target, change } => {
                let file = target.known(tid, files, recorder);
                match (change, file) {
                    (Change::Removal, _) => Action::Remove { file },
                    (Change::Name { .. }, _) => Action::Rename { file, replaced: None },
                    (Change::Size(size), Some(file)) => Action::SetSize { file, size: *size },
                    (_, Some(file)) => Action::SetAttributes { file },
                    (_, None) => Action::Other("SET_PATH_INFORMATION"),
                }
            }
            Self::Remove { name } => Action::Remove { file: known(name, files, recorder) },
            Self::Rename { from, .. } => {
                Action::Rename { file: known(from, files, recorder), replaced: None }
            }
            Self::Link { .. } => Action::Other("NT_RENAME"),
            Self::MakeDirectory { name } => Action::MakeDirectory { directory: known(name, files, recorder) },
            Self::Space => Action::Space,
            Self::Other(name) => Action::Other(name),
        })
    }

    /// The operations of a request with its reply. An open gives its FID to the commands that follow in its chain.
    pub(super) fn finish(
        &self,
        reply: &Reply<'_>,
        opened: &mut Option<u16>,
        files: &mut Files,
        recorder: &mut Recorder,
    ) -> Actions {
        let tid = reply.tid;
        if reply.outcome != Outcome::Done {
            return self.attempted(tid, files, recorder);
        }
        let words = reply.words;
        one(match self {
            Self::Open(opening) => opening.succeeded(reply, opened, files, recorder),
            Self::Close { fid } => return close(*fid, files, recorder),
            Self::Read { fid, offset, asked, reply: kind } => {
                let file = files.get(*fid, recorder).file;
                // A reply without words is one at the end of the file, unless the capture cut it.
                let is_empty = words.is_empty() && reply.bytes.0 > 0;
                let bytes = if is_empty { 0 } else { delivered(*kind, words).unwrap_or(*asked) };
                let read = Action::Read { file, offset: *offset, asked: *asked, bytes };
                if *kind == ReadReply::Locked {
                    return [Some(Action::Lock { file, release: false }), Some(read)];
                }
                read
            }
            Self::Write { fid, .. } => {
                let file = files.get(*fid, recorder).file;
                recorder.changed(file);
                let actions = self.attempted(tid, files, recorder);
                if matches!(actions, [_, Some(Action::Close { .. })]) {
                    files.close(*fid, recorder);
                }
                return actions;
            }
            Self::Find { name } => {
                let listed = files.existing(tid, directory(name), recorder);
                recorder.directory(listed);
                if let Some(sid) = short(reply.parameters, 0) {
                    files.search(sid, listed);
                }
                // TRANS2_FIND_FIRST2 (2.2.6.2.2): SID, SearchCount.
                let entries = short(reply.parameters, 2).map_or(0, u32::from);
                Action::List { directory: listed, entries, first: true }
            }
            Self::FindNext { sid } => {
                let directory = files.search_directory(*sid, recorder);
                recorder.directory(directory);
                let entries = short(reply.parameters, 0).map_or(0, u32::from);
                Action::List { directory, entries, first: false }
            }
            Self::Search { name } => {
                let listed = match files.searched {
                    Some(searched) if name.is_empty() => searched,
                    _ => files.existing(tid, directory(name), recorder),
                };
                recorder.directory(listed);
                files.searched = Some(listed);
                let entries = short(words, 0).map_or(0, u32::from);
                Action::List { directory: listed, entries, first: !name.is_empty() }
            }
            Self::FindClose { sid } => {
                files.end_search(*sid, recorder);
                return [None, None];
            }
            Self::Query { target, attributes } => {
                let file = target.existing(tid, files, recorder);
                note(file, *attributes, reply, recorder);
                Action::Stat { file: Some(file) }
            }
            Self::Set { target, change } => return target.set(change, tid, files, recorder),
            Self::Remove { name } => remove(name, tid, files, recorder),
            // Which files they are is not in the messages.
            Self::Rename { from, .. } if is_pattern(from) => Action::Rename { file: None, replaced: None },
            Self::Rename { from, to } => {
                files.existing(tid, from, recorder);
                let (file, replaced) = files.rename(tid, &files.path(tid, from), to, recorder);
                Action::Rename { file: Some(file), replaced }
            }
            Self::Link { from, to } => {
                let file = files.existing(tid, from, recorder);
                recorder.link(files.ends.server, &files.path(tid, to), file);
                Action::Other("NT_RENAME")
            }
            Self::MakeDirectory { name } => {
                let made = files.existing(tid, name, recorder);
                recorder.directory(made);
                recorder.created(made);
                Action::MakeDirectory { directory: Some(made) }
            }
            _ => return self.attempted(tid, files, recorder),
        })
    }
}

/// Bytes of a reply to a read.
fn delivered(reply: ReadReply, words: &[u8]) -> Option<u32> {
    match reply {
        ReadReply::Core | ReadReply::Locked => short(words, 0).map(u32::from),
        // DataLength and DataLengthHigh (MS-SMB 2.2.4.2.2).
        ReadReply::AndX => {
            let high = short(words, 14).map_or(0, u32::from);
            short(words, 10).map(|low| u32::from(low) | high << 16)
        }
        ReadReply::Raw => None,
    }
}

fn note(file: u32, attributes: Attributes, reply: &Reply<'_>, recorder: &mut Recorder) {
    let (size, is_directory) = attributes.read(reply.words, reply.data);
    match (size, is_directory) {
        (_, Some(true)) => recorder.directory(file),
        (Some(size), _) => recorder.size(file, size),
        _ => {}
    }
}

fn close(fid: u16, files: &mut Files, recorder: &mut Recorder) -> Actions {
    let file = files.get(fid, recorder).file;
    let open = files.close(fid, recorder);
    let removed = open.filter(|open| open.delete).map(|open| {
        recorder.forget(files.ends.server, &open.identity);
        Action::Remove { file: Some(open.file) }
    });
    [Some(Action::Close { file }), removed]
}
