//! Replaying a loadfile: each of its lines is a transaction of the user, in a directory of the user's own.

use sharebench_model::{DataOp, ErrorClass, FileRef, MetaOp, MetaYield, OpError, OpStep, OpenHow, SessionOp};
use sharebench_plan::{Call, Disposition, Expected, Loadfile, LoadfileLine, matches_mask};

use crate::load::user::replay_state::{Held, Locking, Stored};
use crate::load::user::user_files::OwnFile;
use crate::load::user::virtual_user::VirtualUser;
use crate::record::operation_kind::OperationKind;

/// Why lines are left out at a target whose protocol, or our client of it, has no locks.
const NO_LOCKS: &str = "this client cannot lock byte ranges there";

/// What came of an operation that had to end in a certain way: its answer where it succeeded, nothing where it failed
/// as it had to.
fn judged(expected: Expected, result: Result<MetaYield, OpError>) -> Result<Option<MetaYield>, OpError> {
    match (expected, result) {
        (Expected::Success | Expected::Any, Ok(answer)) => Ok(Some(answer)),
        (Expected::Failure(_, name), Ok(_)) => Err(unexpected(name)),
        (Expected::Failure(class, _), Err(error)) if error.class == class => Ok(None),
        (Expected::Any, Err(error)) if !crate::load::user::virtual_user::loses_session(error.class) => {
            Ok(None)
        }
        (_, Err(error)) => Err(error),
    }
}

fn unexpected(name: &str) -> OpError {
    OpError::new(ErrorClass::Io, OpStep::Replay, format!("it succeeded, and {name} was expected"))
}

/// The handle that a line works on.
fn handle_of(call: &Call) -> Option<u32> {
    match call {
        Call::Close { handle }
        | Call::QueryFile { handle }
        | Call::SetFile { handle }
        | Call::Read { handle, .. }
        | Call::Write { handle, .. }
        | Call::Flush { handle }
        | Call::Lock { handle, .. }
        | Call::Unlock { handle, .. } => Some(*handle),
        _ => None,
    }
}

impl VirtualUser<'_> {
    /// The kind of the next line, as an index into the workload's transactions; lines that are not performed are
    /// counted and passed over.
    pub(crate) fn next_line(&mut self, file: &Loadfile) -> usize {
        loop {
            let Some(line) = file.lines.get(self.replay.at) else {
                if file.leaves {
                    return file.kinds.len();
                }
                self.replay.at = 0;
                // What strayed from the file is put right before the first line.
                self.replay.ready &= !self.replay.strayed;
                continue;
            };
            let why = line.left_out.map(sharebench_plan::LeftOut::why);
            let lost = handle_of(&line.call).is_some_and(|handle| !self.replay.open.contains_key(&handle));
            let is_lock = matches!(line.call, Call::Lock { .. } | Call::Unlock { .. });
            let why = why.or((lost && self.replay.ready).then_some("its file did not open"));
            let Some(why) =
                why.or((is_lock && self.replay.locking != Locking::Performed).then_some(NO_LOCKS))
            else {
                if self.replay.at == 0 {
                    self.replay.from_ns = self.thread.clock.now();
                }
                return usize::from(line.kind);
            };
            self.leave_out(line, why);
            self.replay.at += 1;
        }
    }

    fn leave_out(&self, line: &LoadfileLine, why: &str) {
        let now = self.thread.clock.now();
        if self.thread.window_at(now).measures(now) {
            let mut tally = self.thread.tally.borrow_mut();
            *tally.detail.left_out.entry(format!("{}: {why}", line.call.name())).or_default() += 1;
        }
    }

    /// When the next line is due by the file's time stamps: at once where that has passed, or there is none.
    pub(crate) fn next_due(&self, file: &Loadfile, now: u64) -> u64 {
        let performed = |line: &&LoadfileLine| line.left_out.is_none();
        let first = file.lines.iter().find(performed).and_then(|line| line.at_ns).unwrap_or(0);
        let rest = file.lines.get(self.replay.at..).unwrap_or_default();
        let at_ns = rest.iter().find(performed).and_then(|line| line.at_ns);
        at_ns.filter(|_| self.replay.at > 0).map_or(now, |at_ns| now.max(self.replay.from_ns + at_ns - first))
    }

    /// Performs the next line, or restores the initial state after the last one.
    pub(crate) async fn replay(&mut self, file: &Loadfile, kind: usize) -> Result<(), OpError> {
        let restores = kind == file.kinds.len();
        if restores || !self.replay.ready {
            self.lay_out_replay(file).await?;
        }
        let Some(line) = file.lines.get(self.replay.at).filter(|_| !restores) else { return Ok(()) };
        self.replay.at += 1;
        let result = self.line(file, line).await;
        self.replay.strayed |= result.is_err();
        result.map_err(|error| {
            let detail = format!("line {} of the loadfile: {}", line.number, error.detail);
            OpError { detail, ..error }
        })
    }

    async fn line(&mut self, file: &Loadfile, line: &LoadfileLine) -> Result<(), OpError> {
        if let Some(handle) = handle_of(&line.call) {
            let held = self.replay.open.get(&handle).copied();
            let closed =
                || OpError::new(ErrorClass::Io, OpStep::Replay, format!("handle {handle} is not open"));
            return self.line_on_handle(file, line, held.ok_or_else(closed)?).await;
        }
        let path = |user: &Self, name: u32| user.replayed_path(file, name);
        let op = match &line.call {
            Call::Create { name, directory: true, disposition, handle } => {
                return self.open_directory(path(self, *name), (*disposition, *handle, *name), line).await;
            }
            Call::Create { name, disposition, handle, .. } => {
                return self.open_file(path(self, *name), (*disposition, *handle, *name), line).await;
            }
            Call::Rename { from, to } => {
                return self.rename_line(file, (*from, *to), line.expected).await;
            }
            Call::Deltree { name } => return self.delete_tree(file, *name, true).await,
            Call::Find { directory, mask } => {
                return self.find(path(self, *directory), mask, line.expected).await;
            }
            Call::QueryPath { name } => MetaOp::Stat { path: path(self, *name) },
            Call::QueryFs => MetaOp::Space,
            Call::Mkdir { name } => MetaOp::MakeDir { path: path(self, *name) },
            Call::Rmdir { name } => MetaOp::RemoveDir { path: path(self, *name) },
            Call::Unlink { name } => MetaOp::Remove { path: path(self, *name) },
            Call::Read { .. }
            | Call::Write { .. }
            | Call::Flush { .. }
            | Call::Lock { .. }
            | Call::Unlock { .. }
            | Call::Close { .. }
            | Call::SetFile { .. }
            | Call::QueryFile { .. } => return Ok(()),
        };
        let done = self.timed(op, line.expected).await?;
        if let (Call::Unlink { name }, Some(_)) = (&line.call, done) {
            self.replay.files.remove(name);
        }
        Ok(())
    }

    /// Performs a line that works on an open file or directory. What has no meaning for a directory is not sent.
    async fn line_on_handle(
        &mut self,
        file: &Loadfile,
        line: &LoadfileLine,
        held: Held,
    ) -> Result<(), OpError> {
        let Held { file: handle, name } = held;
        let op = match (&line.call, handle) {
            (Call::QueryFile { .. }, _) => MetaOp::Stat { path: self.replayed_path(file, name) },
            (Call::Close { handle: number }, handle) => {
                self.replay.open.remove(number);
                let Some(file) = handle else { return Ok(()) };
                MetaOp::Close { file }
            }
            (Call::Read { offset, len, want, .. }, Some(handle)) => {
                return self.read_line(file, (handle, name), *offset, (*len, *want)).await;
            }
            (Call::Write { offset, len, .. }, Some(handle)) => {
                return self.write_line(file, (handle, name), *offset, *len).await;
            }
            (Call::Flush { .. }, Some(handle)) => return self.flush(handle).await,
            (&Call::Lock { offset, bytes, .. }, Some(file)) => {
                let op = SessionOp::Lock { file, offset, bytes, wait: false };
                return self.lock_line(op, line).await;
            }
            (&Call::Unlock { offset, bytes, .. }, Some(file)) => {
                return self.lock_line(SessionOp::Unlock { file, offset, bytes }, line).await;
            }
            (Call::SetFile { .. }, Some(file)) => {
                let size = self.replay.files.get(&name).map_or(0, |stored| stored.own.bytes);
                MetaOp::SetSize { file, size }
            }
            _ => return Ok(()),
        };
        self.timed(op, line.expected).await.map(drop)
    }

    /// A lock or its release. Where it is rejected as unsupported, these lines are left out from now on.
    async fn lock_line(&mut self, op: SessionOp, line: &LoadfileLine) -> Result<(), OpError> {
        let kind = OperationKind::of(&op);
        let started = self.thread.clock.now();
        let result = self.call(op).await;
        if result.as_ref().is_err_and(|error| error.class == ErrorClass::Unsupported) {
            self.replay.locking = Locking::JustRejected;
            self.leave_out(line, NO_LOCKS);
            return Ok(());
        }
        let result = judged(line.expected, result);
        self.count(kind, started, result.as_ref().err(), 0);
        result.map(drop)
    }

    pub(crate) fn replayed_path(&self, file: &Loadfile, name: u32) -> String {
        let path = file.names.get(name as usize).map_or("", String::as_str);
        self.own_path(path).trim_end_matches('/').to_owned()
    }

    /// An operation that ends as expected is one that ended well, in all counts.
    async fn timed(&mut self, op: MetaOp, expected: Expected) -> Result<Option<MetaYield>, OpError> {
        let op = op.into();
        let kind = OperationKind::of(&op);
        let started = self.thread.clock.now();
        let result = judged(expected, self.call(op).await);
        self.count(kind, started, result.as_ref().err(), 0);
        result
    }

    /// Directories are made or looked at; no session here keeps one open.
    async fn open_directory(
        &mut self,
        path: String,
        (disposition, handle, name): (Disposition, u32, u32),
        line: &LoadfileLine,
    ) -> Result<(), OpError> {
        let done = if disposition == Disposition::Open {
            self.timed(MetaOp::Stat { path }, line.expected).await?
        } else {
            let started = self.thread.clock.now();
            let made = match self.call(MetaOp::MakeDir { path }).await {
                Err(error) if error.class == ErrorClass::Exists && disposition == Disposition::OpenIf => {
                    Ok(MetaYield::Done)
                }
                made => made,
            };
            let done = judged(line.expected, made);
            self.count(OperationKind::Create, started, done.as_ref().err(), 0);
            done?
        };
        if done.is_some() {
            self.replay.open.insert(handle, Held { file: None, name });
        }
        Ok(())
    }

    async fn open_file(
        &mut self,
        path: String,
        (disposition, handle, name): (Disposition, u32, u32),
        line: &LoadfileLine,
    ) -> Result<(), OpError> {
        let known = self.replay.files.contains_key(&name);
        let how = match disposition {
            Disposition::Open | Disposition::Overwrite => OpenHow::ReadWrite,
            Disposition::OpenIf | Disposition::OverwriteIf if known => OpenHow::ReadWrite,
            _ => OpenHow::CreateNew,
        };
        let op = MetaOp::open(path, how).into();
        let kind = OperationKind::of(&op);
        let started = self.thread.clock.now();
        let result = self.call(op).await;
        if let (Ok(MetaYield::Opened { file, .. }), Expected::Failure(..)) = (&result, line.expected) {
            // The loadfile has no handle to close it by.
            let _ = self.call(MetaOp::Close { file: *file }).await;
        }
        let result = judged(line.expected, result);
        self.count(kind, started, result.as_ref().err(), 0);
        let Some(MetaYield::Opened { file, size }) = result? else { return Ok(()) };
        let made = how == OpenHow::CreateNew;
        if made || !known {
            let own = OwnFile { bytes: if made { 0 } else { size }, ..OwnFile::default() };
            self.replay.files.insert(name, Stored { id: name, own });
        }
        self.replay.open.insert(handle, Held { file: Some(file), name });
        if !made && matches!(disposition, Disposition::Overwrite | Disposition::OverwriteIf) {
            self.timed(MetaOp::SetSize { file, size: 0 }, Expected::Success).await?;
            if let Some(stored) = self.replay.files.get_mut(&name) {
                stored.own = OwnFile::default();
            }
        }
        Ok(())
    }

    async fn rename_line(
        &mut self,
        file: &Loadfile,
        (from, to): (u32, u32),
        expected: Expected,
    ) -> Result<(), OpError> {
        let op = MetaOp::Rename { from: self.replayed_path(file, from), to: self.replayed_path(file, to) };
        if self.timed(op, expected).await?.is_some() {
            if let Some(stored) = self.replay.files.remove(&from) {
                self.replay.files.insert(to, stored);
            }
            for held in self.replay.open.values_mut().filter(|held| held.name == from) {
                held.name = to;
            }
        }
        Ok(())
    }

    /// Lists a directory; entries that match the mask count as found.
    async fn find(&mut self, path: String, mask: &str, expected: Expected) -> Result<(), OpError> {
        let started = self.thread.clock.now();
        let result = match (self.call(MetaOp::List { path }).await, expected) {
            (Ok(MetaYield::Entries(entries)), Expected::Failure(ErrorClass::NotFound, name)) => {
                let found = entries.iter().any(|entry| matches_mask(mask, &entry.name));
                if found { Err(unexpected(name)) } else { Ok(()) }
            }
            (result, _) => judged(expected, result).map(drop),
        };
        self.count(OperationKind::List, started, result.as_ref().err(), 0);
        result
    }

    /// Reads the requested bytes of a line, up to the end of the file, and verifies those with known content.
    async fn read_line(
        &mut self,
        file: &Loadfile,
        (handle, name): (FileRef, u32),
        offset: u64,
        (len, want): (u32, u32),
    ) -> Result<(), OpError> {
        let mut at = offset;
        let end = offset + u64::from(len);
        let mut requests = 0;
        let mut wrong = None;
        while at < end {
            self.turn().await;
            let part =
                self.max_transfer(DataOp::Read { file: handle, offset: at, len: (end - at) as u32 })?;
            let part = part.min((end - at) as u32);
            let started = self.thread.clock.now();
            let result = self.reply(DataOp::Read { file: handle, offset: at, len: part }).await;
            let read = u64::from(*result.as_ref().unwrap_or(&0));
            self.count(OperationKind::Read, started, result.as_ref().err(), read);
            let read = u64::from(result?.min(part));
            wrong = wrong.or(self.verify_replayed(file, name, at, read).err());
            at += read;
            requests += 1;
            if read < u64::from(part) {
                break;
            }
        }
        self.count_parts(len, requests);
        let read = at - offset;
        if wrong.is_none() && read != u64::from(want) {
            let detail = format!("read {read} bytes at {offset} instead of {want}");
            wrong = Some(OpError::new(ErrorClass::Io, OpStep::Replay, detail));
        }
        wrong.map_or(Ok(()), Err)
    }

    async fn write_line(
        &mut self,
        file: &Loadfile,
        (handle, name): (FileRef, u32),
        offset: u64,
        len: u32,
    ) -> Result<(), OpError> {
        self.replay.generation += 1;
        let mut stored = self.replay.files.remove(&name).unwrap_or(Stored { id: name, ..Stored::default() });
        let content = self.replayed_content(file, stored.id, self.replay.generation);
        let piece = crate::load::user::requests::Piece { handle, file: name as usize, offset, len };
        let result = self.write(piece, content, Some(&mut stored.own)).await;
        self.replay.files.insert(name, stored);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_judged_by_what_was_expected() {
        let failed = |class| Err(OpError::new(class, OpStep::OpenFile, "no"));
        let not_found = Expected::Failure(ErrorClass::NotFound, "NT_STATUS_NO_SUCH_FILE");
        assert_eq!(judged(Expected::Success, Ok(MetaYield::Done)), Ok(Some(MetaYield::Done)));
        assert_eq!(judged(not_found, failed(ErrorClass::NotFound)), Ok(None));
        assert_eq!(judged(not_found, failed(ErrorClass::Refused)).unwrap_err().class, ErrorClass::Refused);
        let succeeded = judged(not_found, Ok(MetaYield::Done)).unwrap_err();
        assert!(succeeded.detail.contains("NT_STATUS_NO_SUCH_FILE"), "{succeeded}");
        assert_eq!(judged(Expected::Any, failed(ErrorClass::Exists)), Ok(None));
        assert!(judged(Expected::Any, failed(ErrorClass::Disconnected)).is_err());
    }
}
