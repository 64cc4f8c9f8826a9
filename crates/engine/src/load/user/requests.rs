//! Requests of a user: each is timed, counted by kind, and verified.

use sharebench_model::{
    DataOp, ErrorClass, FileRef, MetaOp, MetaYield, OpError, OpenHow, SessionOp, Stability,
};
use sharebench_plan::{Owner, Verify};
use sharebench_target::Session;

use crate::data::request_splitting;
use crate::data::set_content::{kind_of, set_content};
use crate::data::stamp;
use crate::data::stamp::Content;
use crate::load::user::user_files::OwnFile;
use crate::load::user::virtual_user::VirtualUser;
use crate::record::operation_kind::OperationKind;
use crate::record::request::{SLOT, complete, exchange, write_next};
use crate::record::verify::{ContentRun, verify};
use crate::time::deadline::Deadline;

/// A range of an open file that a transaction reads or writes, as one request or several.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub handle: FileRef,
    /// Index into the data set.
    pub file: usize,
    pub offset: u64,
    pub len: u32,
}

impl Piece {
    /// Removes the first `len` bytes and returns them as a piece.
    fn split_off(&mut self, len: u32) -> Self {
        let part = Self { len: len.min(self.len), ..*self };
        self.offset += u64::from(part.len);
        self.len -= part.len;
        part
    }
}

impl VirtualUser<'_> {
    /// File id of a file of this user's own: no two users of a run share one, nor do own and shared files.
    pub(crate) fn own_content(&self, index: usize, generation: u32) -> Content {
        let set = &self.thread.work.workload.set;
        let number = u64::from(self.number) * set.files.len() as u64 + index as u64 + 1;
        // The highest bit distinguishes files of the shared set from users' own files.
        Content { file: number as u32 & 0x7FFF_FFFF, generation, kind: kind_of(&set.files[index]) }
    }

    /// Makes the user's own directories and its part of the data set, where they are not there yet. False when the
    /// run was stopped before all of it was there.
    pub(crate) async fn lay_out(&mut self) -> Result<bool, OpError> {
        let workload = &self.thread.work.workload;
        if let Some(file) = workload.loadfile.as_deref() {
            if !self.replay.ready {
                self.lay_out_replay(file).await?;
            }
            return Ok(true);
        }
        if !self.own.directories && (0..workload.set.files.len()).any(|index| workload.has_own(index)) {
            let top = self.own_path("").trim_end_matches('/').to_owned();
            let below = workload.set.directories(|index| workload.has_own(index));
            let below: Vec<String> = below.into_iter().map(|below| self.own_path(&below)).collect();
            for path in std::iter::once(top).chain(below) {
                match self.call(MetaOp::MakeDir { path }).await {
                    // The reply to an earlier one was lost: nobody else makes directories here.
                    Err(error) if error.class == ErrorClass::Exists => {}
                    made => drop(made?),
                }
            }
            self.own.directories = true;
        }
        if self.own.laid_out {
            return Ok(true);
        }
        for (index, file) in workload.set.files.iter().enumerate() {
            let wanted = file.owner == Owner::User && workload.needs(index);
            let known = self.own.files.get(&index);
            if !wanted || known.is_some_and(|own| own.bytes == file.bytes) {
                continue;
            }
            if self.thread.stop.is_stopped() {
                return Ok(false);
            }
            let handle = self.open_own(index).await?;
            let own = self.own.files.entry(index).or_default();
            let generation = own.next_generation();
            let content = self.own_content(index, generation);
            let mut offset = 0;
            while offset < file.bytes {
                self.turn().await;
                let (session, deadline) = self.link()?;
                let written = write_next(session, deadline, handle, offset..file.bytes, content).await?;
                self.own_mut(index).written(offset, u64::from(written), generation);
                offset += u64::from(written);
            }
            // The load must not pay for writing back its own layout.
            self.reply(DataOp::Flush { file: handle }).await?;
            self.call(MetaOp::Close { file: handle }).await?;
        }
        self.own.laid_out = true;
        Ok(true)
    }

    /// Opens a file of the user's own for writing, whether it is there or not: lost replies leave that open.
    async fn open_own(&mut self, index: usize) -> Result<FileRef, OpError> {
        let path = self.own_name(index);
        let known = self.own.files.contains_key(&index);
        let mut first = OpenHow::CreateNew;
        let mut second = OpenHow::ReadWrite;
        if known {
            std::mem::swap(&mut first, &mut second);
        }
        match self.open_unmeasured(path.clone(), first).await {
            Err(error) if matches!(error.class, ErrorClass::Exists | ErrorClass::NotFound) => {
                self.open_unmeasured(path, second).await
            }
            opened => opened,
        }
    }

    /// Forgets the content and the name of a user's own file after a failure without a reply. The file is made again
    /// before the user continues.
    pub(crate) fn invalidate(&mut self, index: usize) {
        let own = self.own_mut(index);
        // Generations continue, so that older content is never mistaken for newer content.
        *own = OwnFile { newest: own.newest, ..OwnFile::default() };
        self.own.laid_out = false;
    }

    pub(crate) fn own_mut(&mut self, index: usize) -> &mut OwnFile {
        self.own.files.entry(index).or_default()
    }

    /// A path below the user's own directory.
    pub(crate) fn own_path(&self, path: &str) -> String {
        format!("{}/u{}/{path}", self.thread.directory, self.number)
    }

    /// The path of file `index` for reading: that of the shared file, or of the user's own file under its current
    /// name.
    pub(crate) fn path_of(&self, index: usize) -> String {
        let file = &self.thread.work.workload.set.files[index];
        match file.owner {
            Owner::Shared => format!("{}/{}", self.thread.set_directory, file.path),
            Owner::User => self.own_name(index),
        }
    }

    /// The path of the user's own file `index`.
    pub(crate) fn own_name(&self, index: usize) -> String {
        let path = self.own_path(&self.thread.work.workload.set.files[index].path);
        let renamed = self.own.files.get(&index).is_some_and(|own| own.renamed);
        if renamed { format!("{path}.r") } else { path }
    }

    /// Reads a piece, as one request or as many as the session needs for it.
    pub(crate) async fn read(&mut self, piece: Piece) -> Result<(), OpError> {
        let mut left = piece;
        let mut requests = 0;
        while left.len > 0 {
            self.turn().await;
            let op = DataOp::Read { file: left.handle, offset: left.offset, len: left.len };
            let part = left.split_off(self.max_transfer(op)?);
            self.read_part(part).await?;
            requests += 1;
        }
        self.count_parts(piece.len, requests);
        Ok(())
    }

    /// The number of bytes of an operation that the session sends as one request.
    pub(crate) fn max_transfer(&mut self, op: DataOp) -> Result<u32, OpError> {
        let slot_bytes = self.thread.spec.slot_bytes;
        Ok(request_splitting::max_transfer(self.session_mut()?, op, slot_bytes))
    }

    /// Counts a block that took more than one request, if its last one ended within the measured window.
    pub(crate) fn count_parts(&mut self, bytes: u32, requests: u32) {
        if requests > 1 && self.last_counted {
            self.thread.tally.borrow_mut().detail.split.add(bytes, requests);
        }
    }

    /// Reads what one request carries and verifies what is known of it.
    async fn read_part(&mut self, part: Piece) -> Result<(), OpError> {
        let Piece { handle, offset, len, .. } = part;
        self.data(OperationKind::Read, DataOp::Read { file: handle, offset, len }, len).await?;
        self.verify_part(part)
    }

    /// Verifies what is known of a part that the last request read.
    pub(crate) fn verify_part(&mut self, part: Piece) -> Result<(), OpError> {
        let Piece { file, offset, len, .. } = part;
        if self.thread.verify == Verify::Off {
            return Ok(());
        }
        let described = &self.thread.work.workload.set.files[file];
        let runs = match described.owner {
            Owner::Shared => vec![(offset, len as usize, set_content(file, described))],
            Owner::User => {
                let own = self.own.files.get(&file).into_iter();
                let runs = own.flat_map(|own| own.expected(offset, u64::from(len)));
                runs.map(|(at, len, generation)| (at, len, self.own_content(file, generation))).collect()
            }
        };
        self.verify_read(&described.path, offset, runs)
    }

    /// Verifies what the last request read at `offset`. The bytes count when the request counted.
    pub(crate) fn verify_read(
        &mut self,
        path: &str,
        offset: u64,
        runs: Vec<ContentRun>,
    ) -> Result<(), OpError> {
        let thread = self.thread;
        let buffer = self.session_mut()?.buffer(SLOT);
        let verified = verify(thread.verify, path, buffer, offset, runs.into_iter());
        if self.last_counted {
            thread.tally.borrow_mut().verified += verified.bytes;
        }
        verified.result
    }

    /// Writes a piece of the user's own file, with that content, by as many requests as it takes; `own` says how much
    /// of it is known then.
    pub(crate) async fn write(
        &mut self,
        piece: Piece,
        content: Content,
        mut own: Option<&mut OwnFile>,
    ) -> Result<(), OpError> {
        let generation = content.generation;
        let mut left = piece;
        let mut requests = 0;
        while left.len > 0 {
            self.turn().await;
            let stability = Stability::Unstable;
            let op = DataOp::Write { file: left.handle, offset: left.offset, len: left.len, stability };
            let Piece { handle, file, offset, len } = left.split_off(self.max_transfer(op)?);
            stamp::fill(&mut self.session_mut()?.buffer(SLOT)[..len as usize], content, offset);
            let op = DataOp::Write { file: handle, offset, len, stability };
            if let Some(own) = &mut own {
                own.begin(offset, u64::from(len));
                self.data(OperationKind::Write, op, len).await?;
                own.written(offset, u64::from(len), generation);
            } else {
                self.own_mut(file).begin(offset, u64::from(len));
                self.data(OperationKind::Write, op, len).await?;
                self.own_mut(file).written(offset, u64::from(len), generation);
            }
            requests += 1;
        }
        self.count_parts(piece.len, requests);
        Ok(())
    }

    /// True if the rest of a transaction is dropped: after a stop, and after the only window of a step. Users of a series
    /// finish their transactions, because the next window counts them.
    pub(crate) fn is_over(&self) -> bool {
        let thread = self.thread;
        thread.stop.is_stopped() || (!thread.consecutive && thread.clock.now() >= self.activity.leaves.get())
    }

    pub(crate) fn session_mut(&mut self) -> Result<&mut dyn Session, OpError> {
        Ok(self.link()?.0)
    }

    /// The session with the deadline of its replies; an error for a user that has lost its session.
    pub(crate) fn link(&mut self) -> Result<(&mut dyn Session, &mut Deadline), OpError> {
        match self.session.as_deref_mut() {
            Some(session) => Ok((session, &mut self.deadline)),
            None => Err(OpError::no_session()),
        }
    }

    pub(crate) async fn open(&mut self, path: String, how: OpenHow) -> Result<FileRef, OpError> {
        let (file, _) = self.meta(MetaOp::open(path, how)).await?.into_opened()?;
        Ok(file)
    }

    pub(crate) async fn open_unmeasured(&mut self, path: String, how: OpenHow) -> Result<FileRef, OpError> {
        let (file, _) = self.call(MetaOp::open(path, how)).await?.into_opened()?;
        Ok(file)
    }

    /// Performs a metadata operation that is not part of a transaction, so that it is neither timed nor counted.
    pub(crate) async fn call(&mut self, op: impl Into<SessionOp>) -> Result<MetaYield, OpError> {
        let (session, deadline) = self.link()?;
        deadline.call(session, op).await
    }

    /// Performs a metadata operation of a transaction, and times and counts it.
    pub(crate) async fn meta(&mut self, op: impl Into<SessionOp>) -> Result<MetaYield, OpError> {
        let op = op.into();
        let kind = OperationKind::from_op(&op);
        let started = self.thread.clock.now();
        let result = self.call(op).await;
        self.count(kind, started, result.as_ref().err(), 0);
        result
    }

    /// Submits one data operation and waits for its reply.
    pub(crate) async fn reply(&mut self, op: DataOp) -> Result<u32, OpError> {
        let (session, deadline) = self.link()?;
        exchange(session, deadline, op).await
    }

    /// Brings a file to stable storage, timed and counted.
    pub(crate) async fn flush(&mut self, file: FileRef) -> Result<(), OpError> {
        let started = self.thread.clock.now();
        let result = self.reply(DataOp::Flush { file }).await;
        self.count(OperationKind::Flush, started, result.as_ref().err(), 0);
        result.map(drop)
    }

    /// Performs one data operation, and times and counts it.
    async fn data(&mut self, kind: OperationKind, op: DataOp, len: u32) -> Result<(), OpError> {
        let started = self.thread.clock.now();
        let result = complete(op, self.reply(op).await);
        self.count(kind, started, result.as_ref().err(), u64::from(len));
        result
    }

    /// Counts an operation in the window in which it ends, or as one outside windows.
    pub(crate) fn count(&mut self, kind: OperationKind, started: u64, error: Option<&OpError>, bytes: u64) {
        let Self { session, thread, wire, .. } = self;
        let counted = session.as_deref().map_or(*wire, Session::wire);
        let now = thread.clock.now();
        let window = thread.window.get();
        self.last_counted = window.measures(now);
        if self.last_counted {
            let mut tally = thread.tally.borrow_mut();
            let wire = counted.since(*wire);
            tally.wire += wire;
            tally.detail.wire_operations += wire.operations;
            let part = &mut tally.detail.operations[kind as usize];
            if let Some(error) = error {
                *part.errors.entry(error.class).or_default() += 1;
            } else {
                part.count += 1;
                part.bytes += bytes;
                part.service.record(now - started);
                tally.operations += 1;
                if bytes > 0 {
                    tally.seconds.record(now - window.measure, bytes);
                    tally.detail.timeline.moved(now - window.measure, bytes);
                }
                match kind {
                    kind if kind.reads() => tally.bytes.read += bytes,
                    OperationKind::Write => tally.bytes.written += bytes,
                    _ => {}
                }
            }
        } else {
            thread.count_outside(now, kind, error.is_none(), bytes, counted.since(*wire));
        }
        *wire = counted;
    }
}
