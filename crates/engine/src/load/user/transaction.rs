//! Transactions: what a user does with a file of the data set, operation by operation.

use std::collections::BTreeMap;

use sharebench_model::{ChangeKind, ErrorClass, FileRef, MetaOp, OpError, OpStep, OpenHow, SessionOp};
use sharebench_plan::{Operation, Owner, RequestPattern, Requests, Times, Transaction};

use crate::data::set_content::{blocks, set_content};
use crate::load::user::locked_range::LockedRange;
use crate::load::user::open_file::OpenFile;
use crate::load::user::requests::Piece;
use crate::load::user::user_files::OwnFile;
use crate::load::user::virtual_user::{VirtualUser, loses_session};
use crate::load::user::watched::OwnChange;
use crate::load::user::whole_file::whole_read;
use crate::record::operation_kind::OperationKind;

/// A file made by a transaction.
struct CreatedFile {
    path: String,
    own: OwnFile,
    generation: u32,
}

/// The files that a transaction has open or has made so far.
#[derive(Default)]
struct TransactionState {
    /// Index into the data set; nothing where the transaction needs no file.
    file: Option<usize>,
    handle: Option<FileRef>,
    /// Offset at which the next sequential request starts: in the file, or in the range that is locked.
    at: u64,
    locked: Option<LockedRange>,
    /// The user holds the right to cache the file that is open.
    holds_right: bool,
    /// A report of changes is requested and not received.
    awaits_report: bool,
    /// The last change that the transaction has made since it requested a report.
    change: Option<OwnChange>,
    made: Option<CreatedFile>,
    /// Generation of what this transaction writes to the user's own file; none before its first write.
    generation: Option<u32>,
}

/// Directory part of a path.
fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

impl TransactionState {
    /// Notes a change whose report may be awaited.
    fn note_change(&mut self, started: u64, kind: ChangeKind, path: impl FnOnce() -> String) {
        if self.awaits_report {
            self.change = Some(OwnChange { started, path: path(), kind });
        }
    }
}

impl VirtualUser<'_> {
    /// Performs one transaction. Repeated requests that are left when the user's windows have ended are dropped.
    pub(crate) async fn perform(&mut self, index: usize) -> Result<(), OpError> {
        let thread = self.thread;
        if let Some(file) = thread.work.workload.loadfile.as_deref() {
            return self.replay(file, index).await;
        }
        let transaction = &thread.work.workload.transactions[index];
        let file = self.pick(transaction);
        let mut state = TransactionState { file, ..TransactionState::default() };
        if let (true, Some(file)) = (transaction.keeps_open(), file) {
            state.at = self.kept.get(&file).map_or(0, |kept| kept.at);
        }
        let mut result = Ok(());
        let mut operations = &transaction.operations[..];
        while let Some((operation, rest)) = operations.split_first() {
            (result, operations) = match self.at_once(operations, file) {
                Some((file, len, rest)) => (self.read_at_once(file, len).await, rest),
                None => (self.operation(operation, &mut state).await, rest),
            };
            if result.is_err() {
                break;
            }
        }
        if let (true, Some(kept)) = (transaction.keeps_open(), file.and_then(|file| self.kept.get_mut(&file)))
        {
            kept.at = state.at;
        }
        // A lost session has closed its files on the server; what it made is removed with the run's directory.
        if result.as_ref().is_err_and(|error| !loses_session(error.class)) {
            self.clean_up(state).await;
        }
        result
    }

    /// The file, its bytes and the operations afterwards, if one request can perform the next operations.
    fn at_once<'t>(
        &mut self,
        operations: &'t [Operation],
        file: Option<usize>,
    ) -> Option<(usize, u32, &'t [Operation])> {
        let file = file?;
        let (rest, request) = whole_read(operations, self.thread.work.workload.block.into())?;
        Some((file, self.bytes_at_once(file, request)?, rest))
    }

    /// Closes and removes what a failed transaction left, if the session still can.
    async fn clean_up(&mut self, state: TransactionState) {
        // What fails here is not reported: the earlier failure is.
        if let (true, Some(file)) = (state.awaits_report, state.file) {
            self.end_watch(&self.directory_of(file)).await;
        }
        if let Some(file) = state.handle {
            if let Some(LockedRange { offset, bytes }) = state.locked {
                // Over NFS 4 a file with locks cannot be closed.
                let _ = self.call(SessionOp::Unlock { file, offset, bytes }).await;
            }
            let _ = self.call(MetaOp::Close { file }).await;
        }
        if let Some(made) = state.made {
            let _ = self.call(MetaOp::Remove { path: made.path }).await;
        }
        self.give_up_unit().await;
    }

    /// The directory of a file of the data set.
    pub(crate) fn directory_of(&self, file: usize) -> String {
        parent(&self.path_of(file)).to_owned()
    }

    /// Selects the file of its class on which a transaction works. Of files that stay open, and of those whose directory does, each
    /// user has one.
    pub(crate) fn pick(&mut self, transaction: &Transaction) -> Option<usize> {
        let (_, files) = self.thread.work.workload.set.classes.get(transaction.class?)?;
        let count = files.len() as u64;
        let picked = match count {
            0 | 1 => 0,
            _ if transaction.keeps_open() || transaction.watches() => u64::from(self.number) % count,
            _ => self.random.below(count),
        };
        Some(files.start + picked as usize)
    }

    /// Opens the files that transactions keep open, so that such a transaction consists of its requests only, and what else stays
    /// open: the semaphore, and the directories that are watched.
    pub(crate) async fn open_kept(&mut self) -> Result<(), OpError> {
        let mut wanted: BTreeMap<usize, bool> = BTreeMap::new();
        for transaction in self.thread.work.workload.transactions.iter().filter(|t| t.keeps_open()) {
            if let Some(file) = self.pick(transaction) {
                *wanted.entry(file).or_default() |= transaction.writes();
            }
        }
        for (file, writes) in wanted {
            if !self.kept.contains_key(&file) {
                let how = if writes { OpenHow::ReadWrite } else { OpenHow::Read };
                let handle = self.open_unmeasured(self.path_of(file), how).await?;
                self.kept.insert(file, OpenFile { handle, at: 0 });
            }
        }
        self.open_semaphore().await?;
        self.open_watched().await
    }

    /// Closes what [`Self::open_kept`] opened.
    pub(crate) async fn close_kept(&mut self) {
        self.close_watched().await;
        self.close_semaphore().await;
        for OpenFile { handle: file, .. } in std::mem::take(&mut self.kept).into_values() {
            // The session is closed next: what fails here is of no interest any more.
            let _ = self.call(MetaOp::Close { file }).await;
        }
    }

    async fn operation(
        &mut self,
        operation: &Operation,
        state: &mut TransactionState,
    ) -> Result<(), OpError> {
        let Some(file) = state.file else {
            return match operation {
                Operation::Wait => self.wait_for_unit().await,
                Operation::Signal => self.signal_unit().await,
                Operation::Connect => self.connect_again().await,
                Operation::Think(time) => {
                    self.pause(*time).await;
                    Ok(())
                }
                _ => self.meta(MetaOp::Space).await.map(drop),
            };
        };
        match operation {
            Operation::Open { write } => {
                let how = if *write { OpenHow::ReadWrite } else { OpenHow::Read };
                state.handle = Some(self.open(self.path_of(file), how).await?);
                state.at = 0;
            }
            Operation::OpenDenying => {
                let open = SessionOp::OpenDenying { path: self.path_of(file) };
                state.handle = Some(self.meta_when_free(open).await?.into_opened()?.0);
                state.at = 0;
            }
            Operation::OpenLeased => {
                self.open_with_right(SessionOp::OpenLeased { path: self.path_of(file) }, state).await?;
            }
            Operation::OpenDelegated => {
                self.open_with_right(SessionOp::OpenDelegated { path: self.path_of(file) }, state).await?;
            }
            Operation::Lock(range) => {
                if let Some(file) = state.handle {
                    state.locked = Some(self.lock_range(file, *range).await?);
                    state.at = 0;
                }
            }
            Operation::Unlock => self.unlock(state).await?,
            Operation::Think(time) => match state.handle.filter(|_| state.holds_right) {
                Some(file) => state.holds_right = !self.pause_holding(*time, file).await?,
                None => self.pause(*time).await,
            },
            Operation::Create => self.create(file, state).await?,
            Operation::Close => {
                state.holds_right = false;
                if let Some(file) = state.handle.take() {
                    self.meta(MetaOp::Close { file }).await?;
                }
            }
            Operation::Stat => {
                let path = state.made.as_ref().map_or_else(|| self.path_of(file), |made| made.path.clone());
                self.meta(MetaOp::Stat { path }).await?;
            }
            Operation::List => {
                self.meta(MetaOp::List { path: self.directory_of(file) }).await?;
            }
            Operation::Rename => {
                let started = self.thread.clock.now();
                self.rename(file, state).await?;
                state.note_change(started, ChangeKind::Added, || self.own_name(file));
            }
            Operation::Delete => self.delete_made(state).await?,
            Operation::Watch => {
                self.watch(&self.directory_of(file)).await?;
                state.awaits_report = true;
            }
            Operation::Notify => {
                if let Some(change) = state.change.take() {
                    self.notified(&self.directory_of(file), &change).await?;
                    state.awaits_report = false;
                }
            }
            Operation::Wait => self.wait_for_unit().await?,
            Operation::Signal => self.signal_unit().await?,
            Operation::SetSize => {
                let own = state.made.as_ref().map(|made| made.own.bytes);
                let size = own.unwrap_or_else(|| self.own_mut(file).bytes);
                if let Some(file) = state.handle {
                    self.meta(MetaOp::SetSize { file, size }).await?;
                }
            }
            Operation::Flush => {
                let kept = self.kept.get(&file).map(|kept| kept.handle);
                if let Some(file) = state.handle.or(kept) {
                    self.flush(file).await?;
                }
            }
            Operation::Space => drop(self.meta(MetaOp::Space).await?),
            Operation::Connect => self.connect_again().await?,
            Operation::Read(requests) => self.requests(requests, false, file, state).await?,
            Operation::Write(requests) => self.requests(requests, true, file, state).await?,
            Operation::CopyToServer => self.copy_to_server(file).await?,
            Operation::CopyFromServer => self.copy_from_server(file).await?,
        }
        Ok(())
    }

    /// Creates a new file of the user in the directory of the transaction's file.
    async fn create(&mut self, file: usize, state: &mut TransactionState) -> Result<(), OpError> {
        let set = &self.thread.work.workload.set;
        let neighbor = match set.files[file].owner {
            Owner::User => self.own_path(&set.files[file].path),
            Owner::Shared => format!("{}/{}", self.thread.set_directory, set.files[file].path),
        };
        self.own.made += 1;
        // Generations of a file and of what may replace it never meet.
        let generation = match set.files[file].owner {
            Owner::User => self.own_mut(file).next_generation(),
            Owner::Shared => self.own.made as u32,
        };
        let path = format!("{}/n{}-{}", parent(&neighbor), self.number, self.own.made);
        let started = self.thread.clock.now();
        state.handle = Some(self.open(path.clone(), OpenHow::CreateNew).await?);
        state.note_change(started, ChangeKind::Added, || path.clone());
        state.made =
            Some(CreatedFile { path, own: OwnFile { newest: generation, ..OwnFile::default() }, generation });
        state.at = 0;
        Ok(())
    }

    /// Removes the file that the transaction has created.
    async fn delete_made(&mut self, state: &mut TransactionState) -> Result<(), OpError> {
        let Some(CreatedFile { path, .. }) = state.made.take() else { return Ok(()) };
        let started = self.thread.clock.now();
        self.meta(MetaOp::Remove { path: path.clone() }).await?;
        state.note_change(started, ChangeKind::Removed, || path);
        Ok(())
    }

    async fn unlock(&mut self, state: &mut TransactionState) -> Result<(), OpError> {
        if let (Some(file), Some(LockedRange { offset, bytes })) = (state.handle, state.locked) {
            self.meta(SessionOp::Unlock { file, offset, bytes }).await?;
            (state.locked, state.at) = (None, 0);
        }
        Ok(())
    }

    /// Opens a file with a request for the right to cache it.
    async fn open_with_right(&mut self, op: SessionOp, state: &mut TransactionState) -> Result<(), OpError> {
        let (file, holds_right) = self.open_to_cache(op).await?;
        (state.handle, state.holds_right, state.at) = (Some(file), holds_right, 0);
        Ok(())
    }

    /// Renames a file that the transaction made to the name of the user's own file, or gives that file another name
    /// and, the next time, its first name again.
    async fn rename(&mut self, file: usize, state: &mut TransactionState) -> Result<(), OpError> {
        let to = self.own_name(file);
        if let Some(made) = &state.made {
            let from = made.path.clone();
            if let Err(error) = self.meta(MetaOp::Rename { from, to }).await {
                // Without a reply it is unknown which of the two names exists.
                if loses_session(error.class) {
                    self.invalidate(file);
                }
                return Err(error);
            }
            if let Some(made) = state.made.take() {
                let renamed = self.own_mut(file).renamed;
                *self.own_mut(file) = OwnFile { renamed, ..made.own };
            }
            return Ok(());
        }
        let renamed = !self.own_mut(file).renamed;
        self.own_mut(file).renamed = renamed;
        let other = self.own_name(file);
        let result = self.meta(MetaOp::Rename { from: to, to: other }).await;
        match &result {
            Err(error) if loses_session(error.class) => self.invalidate(file),
            Err(_) => self.own_mut(file).renamed = !renamed,
            Ok(_) => {}
        }
        result.map(drop)
    }

    /// Logs off and on again. Both together are timed as one operation.
    pub(crate) async fn connect_again(&mut self) -> Result<(), OpError> {
        let thread = self.thread;
        let started = thread.clock.now();
        self.close_kept().await;
        self.activity.has_session.set(false);
        if let Some(session) = self.session.take() {
            session.close().await;
        }
        let result = match thread.target.connect(&thread.spec).await {
            Ok(session) => {
                self.wire = session.wire();
                self.session = Some(session);
                self.activity.has_session.set(true);
                self.open_kept().await
            }
            Err(error) => Err(OpError::from(error)),
        };
        self.count(OperationKind::Connect, started, result.as_ref().err(), 0);
        result
    }

    /// Reads or writes as often as the operation of the workload states.
    async fn requests(
        &mut self,
        requests: &Requests,
        write: bool,
        file: usize,
        state: &mut TransactionState,
    ) -> Result<(), OpError> {
        let workload = &self.thread.work.workload;
        let kept = self.kept.get(&file).map(|kept| kept.handle);
        let Some(handle) = state.handle.or(kept) else {
            return Err(OpError::new(ErrorClass::Disconnected, OpStep::Session, "its file is not open"));
        };
        let described = &workload.set.files[file];
        // A new file grows up to the size of its neighbor; others keep their length.
        let growing = state.made.is_some();
        let whole = match described.owner {
            Owner::User if !growing => self.own_mut(file).bytes,
            _ => described.bytes,
        };
        // While a range is locked, requests are within it, as if it were the file.
        let (first, bytes) = state.locked.map_or((0, whole), |range| (range.offset, range.bytes));
        let mut left = match requests.times {
            Times::Count(n) if bytes > 0 || growing => n,
            Times::All if bytes > 0 => u32::MAX,
            // An empty file has nothing to request.
            _ => 0,
        };
        let mut moved = 0;
        while left > 0 {
            let drawn =
                requests.size.as_ref().map_or(u64::from(workload.block), |s| s.draw(&mut self.random));
            let wanted = match requests.times {
                Times::All => drawn.min(bytes - moved),
                Times::Count(_) => drawn,
            };
            let grain =
                requests.size.as_ref().map_or(u64::from(workload.block), sharebench_plan::Sizes::grain);
            let (offset, len) = self.next_range(requests.pattern, state.at, wanted, grain, bytes, growing);
            let piece = Piece { handle, file, offset: first + offset, len: len as u32 };
            if write {
                self.write_to(piece, state).await?;
            } else {
                self.read(piece).await?;
            }
            (state.at, moved, left) = (offset + len, moved + len, left - 1);
            // The clock is read only where something would follow.
            let done = left == 0 || requests.times == Times::All && moved >= bytes;
            if done || self.is_over() {
                break;
            }
        }
        Ok(())
    }

    /// Offset and length of the next request.
    fn next_range(
        &mut self,
        pattern: RequestPattern,
        at: u64,
        wanted: u64,
        grain: u64,
        bytes: u64,
        growing: bool,
    ) -> (u64, u64) {
        match pattern {
            RequestPattern::Random => {
                let len = wanted.min(bytes);
                (self.random.below((bytes - len) / grain + 1) * grain, len)
            }
            RequestPattern::Sequential if growing => (at, wanted),
            RequestPattern::Sequential => {
                let from = if at >= bytes { 0 } else { at };
                (from, wanted.min(bytes - from))
            }
        }
    }

    /// Writes to the file that the transaction made, or to the user's own file. A shared file gets the content that it has
    /// already, so that reads of other users are right whenever they arrive.
    async fn write_to(&mut self, piece: Piece, state: &mut TransactionState) -> Result<(), OpError> {
        if let Some(made) = &mut state.made {
            let content = self.own_content(piece.file, made.generation);
            return self.write(piece, content, Some(&mut made.own)).await;
        }
        let described = &self.thread.work.workload.set.files[piece.file];
        if described.owner == Owner::Shared {
            let content = set_content(piece.file, described);
            return self.write(piece, content, Some(&mut OwnFile::default())).await;
        }
        let generation = match state.generation {
            Some(generation) => generation,
            None => *state.generation.insert(self.own_mut(piece.file).next_generation()),
        };
        let content = self.own_content(piece.file, generation);
        self.write(piece, content, None).await
    }

    /// Reads a whole file into memory.
    async fn copy_from_server(&mut self, file: usize) -> Result<(), OpError> {
        let workload = &self.thread.work.workload;
        let described = &workload.set.files[file];
        let bytes = match described.owner {
            Owner::User => self.own_mut(file).bytes,
            Owner::Shared => described.bytes,
        };
        if let Some(len) = self.bytes_at_once(file, workload.block.into()) {
            return self.read_at_once(file, len).await;
        }
        let handle = self.open(self.path_of(file), OpenHow::Read).await?;
        let mut result = Ok(());
        for (offset, len) in blocks(bytes, workload.block) {
            result = self.read(Piece { handle, file, offset, len }).await;
            if result.is_err() || self.is_over() {
                break;
            }
        }
        self.close_after(handle, result).await
    }

    /// Writes a whole file from memory, under a name of this user.
    async fn copy_to_server(&mut self, file: usize) -> Result<(), OpError> {
        let workload = &self.thread.work.workload;
        let how = if self.own.files.contains_key(&file) { OpenHow::ReadWrite } else { OpenHow::CreateNew };
        let opened = self.open(self.own_name(file), how).await;
        if opened.as_ref().is_err_and(|error| error.class == ErrorClass::Exists) {
            // The reply was lost, so the file is not recorded. The next copy finds it.
            self.own_mut(file);
        }
        let handle = opened?;
        let generation = self.own_mut(file).next_generation();
        let content = self.own_content(file, generation);
        let mut result = Ok(());
        for (offset, len) in blocks(workload.set.files[file].bytes, workload.block) {
            result = self.write(Piece { handle, file, offset, len }, content, None).await;
            if result.is_err() || self.is_over() {
                break;
            }
        }
        self.close_after(handle, result).await
    }

    /// Closes a file, also after a failure. The earlier failure is the one to report.
    async fn close_after(&mut self, file: FileRef, result: Result<(), OpError>) -> Result<(), OpError> {
        match result {
            Ok(()) => self.meta(MetaOp::Close { file }).await.map(drop),
            Err(error) => {
                if !loses_session(error.class) {
                    let _ = self.call(MetaOp::Close { file }).await;
                }
                Err(error)
            }
        }
    }
}
