//! The run's own directory on a target, and the files in it.

use std::collections::{BTreeMap, BTreeSet};

use sharebench_cluster::Ranks;
use sharebench_model::{
    CachePolicy, DataOp, Fact, FileRef, IoPolicy, MetaOp, MetaYield, OpError, OpenHow, Space, StepError,
    TargetFacts,
};
use sharebench_plan::{RecordWork, Start, Verify};
use sharebench_target::Session;

use crate::cell::access_pattern::AccessPattern;
use crate::cell::pass::Pass;
use crate::cell::server_cache::{DISPLACING, has_server};
use crate::data::closed_session::ClosedSession;
use crate::data::context::PassContext;
use crate::data::directory::make;
use crate::data::file_state::FileState;
use crate::data::recycle_bins::{self, remove_completely};
use crate::data::request_splitting;
use crate::data::tree_removal::remove_tree;
use crate::record::request::transfer;
use crate::record::tally::Tally;

/// The largest pieces that divide every request to a file: the units in which the states of files are tracked. One unit serves
/// all files, except those of cells whose jobs take turns: their odd records would make the maps of all files large.
#[derive(Debug, Clone, Default)]
pub(crate) struct Units {
    /// Of all cells whose jobs do not take turns.
    usual: Option<u64>,
    /// Of all cells with files of this size.
    by_size: BTreeMap<u64, u64>,
    /// Sizes of files whose jobs take turns.
    interleaved: BTreeSet<u64>,
}

/// Unit of files if no cell has one.
const UNIT_WITHOUT_CELLS: u64 = 512;

impl Units {
    /// Notes the requests of a cell.
    pub fn note(&mut self, work: &RecordWork) {
        for piece in work.pieces().into_iter().filter(|piece| *piece > 0) {
            let unit = self.by_size.entry(work.file_size).or_insert(piece);
            *unit = greatest_common_divisor(*unit, piece);
            if !work.is_interleaved() {
                self.usual = Some(self.usual.map_or(piece, |usual| greatest_common_divisor(usual, piece)));
            }
        }
        if work.is_interleaved() {
            self.interleaved.insert(work.file_size);
        }
    }

    /// The unit of a file of this size.
    fn for_size(&self, size: u64) -> u64 {
        let own = self.by_size.get(&size).filter(|_| self.interleaved.contains(&size));
        own.copied().unwrap_or_else(|| self.usual())
    }

    /// The unit of files that belong to no cell.
    fn usual(&self) -> u64 {
        self.usual.unwrap_or(UNIT_WITHOUT_CELLS)
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// One target as the engine uses it: its session, its directory, its files.
pub(crate) struct TargetFiles {
    pub session: Box<dyn Session>,
    pub directory: String,
    pub facts: TargetFacts,
    pub files: BTreeMap<String, FileState>,
    /// The target is a path, so the system's page cache is between the engine and its files.
    pub paged: bool,
    /// Smallest piece that any step writes, for the generation maps.
    units: Units,
    next_id: u32,
    /// Failures found while files that have been removed were read back; the next cell reports them.
    aftermath: Tally,
}

impl TargetFiles {
    /// Takes over a fresh session and makes the directory; a directory of that name that exists already
    /// is refused, unless `replace` marks it as leftovers of this run.
    pub async fn prepare(
        session: Box<dyn Session>,
        directory: String,
        units: Units,
        replace: bool,
        context: &mut PassContext<'_>,
    ) -> Result<Self, OpError> {
        let facts = session.facts();
        let mut files = Self {
            session,
            directory,
            facts,
            files: BTreeMap::new(),
            paged: false,
            units,
            next_id: 1,
            aftermath: Tally::default(),
        };
        if replace {
            remove_tree(files.session.as_mut(), &files.directory, context).await?;
        }
        make(files.session.as_mut(), &files.directory, context).await?;
        Ok(files)
    }

    /// Takes over a fresh session, to work in a directory that another process made and will remove.
    pub fn join(session: Box<dyn Session>, directory: String, units: Units, ranks: &Ranks) -> Self {
        let facts = session.facts();
        // File ids are part of the stamps. Each rank has a range of its own, so that no two ranks stamp different files alike.
        let next_id = ((ranks.rank() & 0x7FF) << 20) + 1;
        let files = BTreeMap::new();
        let aftermath = Tally::default();
        Self { session, directory, facts, files, paged: false, units, next_id, aftermath }
    }

    /// Closes all files and the session. The leader removes the directory.
    pub async fn leave(mut self, context: &mut PassContext<'_>) -> Result<(), OpError> {
        self.release(context).await
    }

    /// Bytes that this user may still write, which become a fact of the target together with the size of its file
    /// system; none where the target does not report them.
    pub async fn examine_space(&mut self, context: &mut PassContext<'_>) -> Option<u64> {
        let space = self.space(context).await?;
        self.facts.state(Fact::SpaceTotal, space.total.to_string());
        self.facts.state(Fact::SpaceAvailable, space.available.to_string());
        Some(space.available)
    }

    /// What keeps the files of the run on the target after they are deleted, in words.
    pub async fn examine_keepers(&mut self, context: &mut PassContext<'_>) -> Vec<String> {
        let found = recycle_bins::find(self.session.as_mut(), &self.directory, context).await;
        // A lost connection is reported by the first step.
        found.map_or_else(|_| Vec::new(), |keepers| keepers.warnings())
    }

    /// Size and free space of the target's file system, where it reports them.
    pub async fn space(&mut self, context: &mut PassContext<'_>) -> Option<Space> {
        match context.deadline.call(self.session.as_mut(), MetaOp::Space).await {
            Ok(MetaYield::Space(space)) => Some(space),
            _ => None,
        }
    }

    /// The path of a file or directory in the run's own directory.
    pub fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.directory)
    }

    /// Makes sure that the file of a cell exists. One that is measured as it is was read since it was made, if the page
    /// cache keeps it: the first use of a page that was only written takes longer than any other (docs/measure/sweeps.md), and
    /// which cell comes first is chance.
    pub async fn ensure_for(
        &mut self,
        work: &RecordWork,
        name: &str,
        context: &mut PassContext<'_>,
    ) -> Result<(), StepError> {
        let made = self.ensure(name, work.file_size, work.record_size, context).await?;
        let as_it_is = work.test.start() == Start::AsItIs && work.policy.cache == CachePolicy::Normal;
        // The kernel records the first use of a page: without this read the first cell on a new file would be
        // slower than the others (docs/design/cells.md).
        if made && as_it_is && self.paged {
            return self.read(name, context).await;
        }
        Ok(())
    }

    /// Makes sure that the data exists whose reads displace the server's cache, if the cell needs it.
    pub async fn ensure_displacing(
        &mut self,
        work: &RecordWork,
        context: &mut PassContext<'_>,
    ) -> Result<(), StepError> {
        if work.displaced == 0 || !has_server(self.session.as_ref()) {
            return Ok(());
        }
        let size = work.displaced.next_multiple_of(self.units.usual());
        // The same layout for every cell, so that it is written once.
        let most = request_splitting::largest_request(self.session.as_mut());
        let record = request_splitting::largest_record(size, self.units.usual(), most) as u32;
        self.ensure(DISPLACING, size, record, context).await.map(drop)
    }

    /// Makes sure that `name` exists with `size` verified bytes, written in records of `record` bytes; true if it had to be
    /// made. How a file was written stays in how a server or file system keeps it (docs/measure/sweeps.md): a file of another
    /// layout is made anew, and read before that, so that no write that was acknowledged and lost goes unnoticed.
    pub async fn ensure(
        &mut self,
        name: &str,
        size: u64,
        record: u32,
        context: &mut PassContext<'_>,
    ) -> Result<bool, StepError> {
        let old = self.files.get(name);
        if old.is_some_and(|file| file.layout == record) {
            return Ok(false);
        }
        if context.verify != Verify::Off && old.is_some_and(FileState::is_rewritten) {
            // A file that was rewritten is read back before it is removed, because no later read would find what a
            // server lost of it (docs/design/cells.md).
            self.reopen(name, context).await?;
            self.read(name, context).await?;
        }
        if let Some(file) = self.files.remove(name) {
            self.discard(file, context).await?;
        }
        let mut file = self.create(name, size, context).await?;
        file.layout = record;
        let result = self.write_all(&mut file, context).await;
        self.files.insert(name.to_owned(), file);
        result.map(|()| true)
    }

    /// Closes a file and opens it again with the usual policy.
    async fn reopen(&mut self, name: &str, context: &mut PassContext<'_>) -> Result<(), StepError> {
        let (Some(file), session) = (self.files.get_mut(name), self.session.as_mut()) else { return Ok(()) };
        if let Some(file) = file.file.take() {
            context.deadline.call(session, MetaOp::Close { file }).await?;
        }
        let open = MetaOp::open(&file.path, OpenHow::ReadWrite);
        if let MetaYield::Opened { file: handle, .. } = context.deadline.call(session, open).await? {
            file.file = Some(handle);
        }
        Ok(())
    }

    /// Reads an open file from end to end, unmeasured.
    async fn read(&mut self, name: &str, context: &mut PassContext<'_>) -> Result<(), StepError> {
        let (Some(file), session) = (self.files.get_mut(name), self.session.as_mut()) else { return Ok(()) };
        let Some(handle) = file.file else { return Ok(()) };
        let most = request_splitting::largest_request(session);
        let record_size = request_splitting::largest_record(file.size, self.units.for_size(file.size), most);
        let order = AccessPattern::scanning(file.size, record_size);
        let record_size = record_size as u32;
        let pass = Pass { context, session, file, handle, record_size, depth: 1, content: None };
        pass.run(order, &mut self.aftermath).await
    }

    /// Returns the failures of abandoned files, to be reported with the next step.
    pub fn merge_pending_failures(&mut self, tally: &mut Tally) {
        tally.add_failures_of(std::mem::take(&mut self.aftermath));
    }

    /// The state of a file that a job or another rank will create.
    pub fn unmade(&mut self, name: &str, size: u64) -> FileState {
        let id = self.next_id;
        self.next_id += 1;
        FileState::new(self.path(name), id, size, self.units.for_size(size))
    }

    /// Makes a new, open, empty file with the usual policy.
    pub async fn create(
        &mut self,
        name: &str,
        size: u64,
        context: &mut PassContext<'_>,
    ) -> Result<FileState, OpError> {
        self.create_as(name, size, IoPolicy::default(), context).await
    }

    /// Creates a new, empty file with a policy, and opens it.
    pub async fn create_as(
        &mut self,
        name: &str,
        size: u64,
        policy: IoPolicy,
        context: &mut PassContext<'_>,
    ) -> Result<FileState, OpError> {
        let mut file = self.unmade(name, size);
        file.policy = policy;
        let open = MetaOp::Open { path: file.path.clone(), how: OpenHow::CreateNew, policy };
        if let MetaYield::Opened { file: handle, .. } =
            context.deadline.call(self.session.as_mut(), open).await?
        {
            file.file = Some(handle);
        }
        Ok(file)
    }

    /// Closes and removes a file.
    pub async fn discard(&mut self, file: FileState, context: &mut PassContext<'_>) -> Result<(), OpError> {
        if let Some(file) = file.file {
            context.deadline.call(self.session.as_mut(), MetaOp::Close { file }).await?;
        }
        context.deadline.call(self.session.as_mut(), MetaOp::Remove { path: file.path }).await.map(drop)
    }

    /// Writes a whole file for the first time, unmeasured, and brings it to stable storage.
    async fn write_all(
        &mut self,
        file: &mut FileState,
        context: &mut PassContext<'_>,
    ) -> Result<(), StepError> {
        let Some(handle) = file.file else { return Ok(()) };
        // Records of streams may be larger than one request.
        let most = request_splitting::largest_request(self.session.as_mut());
        let most = file.layout.min(most);
        let record_size = if file.size.is_multiple_of(most.into()) {
            most.into()
        } else {
            request_splitting::largest_record(file.size, self.units.for_size(file.size), most)
        };
        let content = Some(file.next_generation());
        let order = AccessPattern::filling(file.size, record_size);
        let record_size = record_size as u32;
        let session = self.session.as_mut();
        let pass = Pass { context, session, file, handle, record_size, depth: 1, content };
        let mut tally = Tally::default();
        pass.run(order, &mut tally).await?;
        if let Some(error) = tally.failure_samples.into_iter().next() {
            return Err(error.into());
        }
        // A cell must not pay for writing back what its layout left in a cache.
        self.flush(handle, context).await
    }

    /// Brings a file to stable storage with one flush.
    async fn flush(&mut self, file: FileRef, context: &mut PassContext<'_>) -> Result<(), StepError> {
        let flush = DataOp::Flush { file };
        Ok(transfer(self.session.as_mut(), &mut context.deadline, flush).await?)
    }

    /// Closes what is open and gives the session back; until [`Self::take`] nothing works.
    pub async fn release(&mut self, context: &mut PassContext<'_>) -> Result<(), OpError> {
        for file in self.files.values_mut().filter_map(|file| file.file.take()) {
            context.deadline.call(self.session.as_mut(), MetaOp::Close { file }).await?;
        }
        std::mem::replace(&mut self.session, Box::new(ClosedSession::default())).close().await;
        Ok(())
    }

    /// Continues with a new session, after the pre-step command or a lost connection.
    pub fn take(&mut self, session: Box<dyn Session>) {
        self.session = session;
    }

    /// Where the operating system counts the wire: writes out what earlier steps left in the client's cache, so
    /// that it is not counted as this step's.
    pub async fn drain(&mut self, context: &mut PassContext<'_>) -> Result<(), StepError> {
        // Only a mount has dirty pages of its own that would count towards the next cell.
        if self.session.mount_wire().is_none() {
            return Ok(());
        }
        let open: Vec<FileRef> = self.files.values().filter_map(|file| file.file).collect();
        for file in open {
            self.flush(file, context).await?;
        }
        Ok(())
    }

    /// Closes what is open, removes the directory with all that is in it, and logs off.
    pub async fn clean(mut self, context: &mut PassContext<'_>) -> Result<(), OpError> {
        for file in self.files.values_mut().filter_map(|file| file.file.take()) {
            context.deadline.call(self.session.as_mut(), MetaOp::Close { file }).await?;
        }
        let result = remove_completely(self.session.as_mut(), &self.directory, context).await;
        self.session.close().await;
        result
    }
}
