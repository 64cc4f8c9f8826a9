//! Transactions: what a motor does with the data set, as operations of its session.

use sharebench_model::{
    DataOp, ErrorClass, FileRef, MetaOp, MetaYield, OpError, OpenHow, Reply, Slot, Stability,
};
use sharebench_plan::{CopyDirection, Extent, Transaction, Verify};
use sharebench_target::Session;

use crate::motor::{Motor, Window};
use crate::pass::{mismatch_error, short};
use crate::stamp::{self, Content};

/// File id of the shared data set's file `index`.
pub(crate) const fn set_file_id(index: usize) -> u32 {
    0x8000_0000 | index as u32
}

/// (offset, length) of the blocks of a copy; the last may be short.
pub(crate) fn blocks(bytes: u64, block: u32) -> impl Iterator<Item = (u64, u32)> {
    let step = u64::from(block);
    (0..bytes.div_ceil(step)).map(move |n| (n * step, (bytes - n * step).min(step) as u32))
}

impl Motor<'_> {
    /// Performs one transaction; a copy is given up when the window has ended.
    pub(crate) async fn perform(&mut self, transaction: Transaction, window: Window) -> Result<(), OpError> {
        let Transaction { file, direction, extent } = transaction;
        match (extent, direction) {
            (Extent::OneBlock, _) => self.one_block(file, direction, window).await,
            (Extent::WholeFile, CopyDirection::ToServer) => self.copy_to_server(file, window).await,
            (Extent::WholeFile, CopyDirection::FromServer) => self.copy_from_server(file, window).await,
        }
    }

    /// Opens what transactions of one operation need, so that they are one operation.
    pub(crate) async fn open_kept(&mut self) -> Result<(), OpError> {
        let crew = self.crew;
        for transaction in &crew.work.workload.transactions {
            let index = transaction.file;
            if transaction.extent != Extent::OneBlock || self.kept.contains_key(&index) {
                continue;
            }
            let file = &crew.work.workload.files[index];
            let handle = match transaction.direction {
                CopyDirection::FromServer => self.open(self.set_path(index), OpenHow::Read).await?,
                CopyDirection::ToServer => {
                    let handle = self.open_copy(index).await?;
                    self.meta(MetaOp::SetSize { file: handle, size: file.bytes }).await?;
                    handle
                }
            };
            self.kept.insert(index, handle);
        }
        Ok(())
    }

    /// Closes what [`Self::open_kept`] opened.
    pub(crate) async fn close_kept(&mut self) {
        for file in std::mem::take(&mut self.kept).into_values() {
            // The session is closed next: what fails here is of no interest any more.
            let _ = self.meta(MetaOp::Close { file }).await;
        }
    }

    /// Reads or writes one block at a random place.
    async fn one_block(
        &mut self,
        index: usize,
        direction: CopyDirection,
        window: Window,
    ) -> Result<(), OpError> {
        let workload = &self.crew.work.workload;
        let (file, len) = (&workload.files[index], workload.block);
        let Some(&handle) = self.kept.get(&index) else {
            return Err(OpError::new(ErrorClass::Disconnected, "session", "its file is not open"));
        };
        let offset = self.random.below(file.bytes / u64::from(len)) * u64::from(len);
        match direction {
            CopyDirection::FromServer => {
                let content = Content { file: set_file_id(index), generation: 1 };
                self.read(handle, content, (offset, len), file.name, window).await
            }
            CopyDirection::ToServer => {
                let content = self.next_content(index);
                self.write(handle, content, (offset, len), window).await
            }
        }
    }

    /// Reads a file of the shared set into memory.
    async fn copy_from_server(&mut self, index: usize, window: Window) -> Result<(), OpError> {
        let file = &self.crew.work.workload.files[index];
        let handle = self.open(self.set_path(index), OpenHow::Read).await?;
        let content = Content { file: set_file_id(index), generation: 1 };
        for block in blocks(file.bytes, self.crew.work.workload.block) {
            self.read(handle, content, block, file.name, window).await?;
            if self.is_over(window) {
                break;
            }
        }
        self.meta(MetaOp::Close { file: handle }).await.map(drop)
    }

    /// Writes a file from memory under a name of this motor.
    async fn copy_to_server(&mut self, index: usize, window: Window) -> Result<(), OpError> {
        let file = &self.crew.work.workload.files[index];
        let handle = self.open_copy(index).await?;
        let content = self.next_content(index);
        for block in blocks(file.bytes, self.crew.work.workload.block) {
            self.write(handle, content, block, window).await?;
            if self.is_over(window) {
                break;
            }
        }
        self.meta(MetaOp::Close { file: handle }).await.map(drop)
    }

    async fn read(
        &mut self,
        file: FileRef,
        content: Content,
        (offset, len): (u64, u32),
        name: &str,
        window: Window,
    ) -> Result<(), OpError> {
        self.data(DataOp::Read { file, offset, len }, len, window).await?;
        let verify = self.crew.verify;
        let buffer = self.session_mut()?.buffer(Slot(0));
        stamp::verify(&buffer[..len as usize], content, offset, verify)
            .map_err(|mismatch| mismatch_error(name, &mismatch))
    }

    async fn write(
        &mut self,
        file: FileRef,
        content: Content,
        (offset, len): (u64, u32),
        window: Window,
    ) -> Result<(), OpError> {
        stamp::fill(&mut self.session_mut()?.buffer(Slot(0))[..len as usize], content, offset);
        self.data(DataOp::Write { file, offset, len, stability: Stability::Unstable }, len, window).await
    }

    /// Opens this motor's own file of that index, new or made before.
    async fn open_copy(&mut self, index: usize) -> Result<FileRef, OpError> {
        let how = if self.copies.contains_key(&index) { OpenHow::ReadWrite } else { OpenHow::CreateNew };
        let handle = self.open(self.copy_path(index), how).await?;
        self.copies.entry(index).or_default();
        Ok(handle)
    }

    /// What the next write of this motor's own file is to hold.
    fn next_content(&mut self, index: usize) -> Content {
        let generation = self.copies.entry(index).or_default();
        *generation += 1;
        Content { file: (self.number + 1) << 8 | index as u32, generation: *generation }
    }

    fn set_path(&self, index: usize) -> String {
        format!("{}/set-{}", self.crew.directory, self.crew.work.workload.files[index].name)
    }

    pub(crate) fn copy_path(&self, index: usize) -> String {
        format!("{}/m{}-{}", self.crew.directory, self.number, self.crew.work.workload.files[index].name)
    }

    fn is_over(&self, window: Window) -> bool {
        self.crew.stop.is_stopped() || self.crew.clock.now() >= window.end
    }

    fn session_mut(&mut self) -> Result<&mut dyn Session, OpError> {
        match self.session.as_deref_mut() {
            Some(session) => Ok(session),
            None => Err(OpError::new(ErrorClass::Disconnected, "session", "no session")),
        }
    }

    async fn open(&mut self, path: String, how: OpenHow) -> Result<FileRef, OpError> {
        match self.meta(MetaOp::open(path, how)).await? {
            MetaYield::Opened { file, .. } => Ok(file),
            _ => Err(OpError::new(ErrorClass::Protocol, "open", "no file in the reply")),
        }
    }

    async fn meta(&mut self, op: MetaOp) -> Result<MetaYield, OpError> {
        let Self { session, deadline, .. } = self;
        match session.as_deref_mut() {
            Some(session) => deadline.call(session, op).await,
            None => Err(OpError::new(ErrorClass::Disconnected, "session", "no session")),
        }
    }

    /// One data operation, counted when it ends within the measured window.
    async fn data(&mut self, op: DataOp, len: u32, window: Window) -> Result<(), OpError> {
        let Self { session, deadline, crew, wire, .. } = self;
        let Some(session) = session.as_deref_mut() else {
            return Err(OpError::new(ErrorClass::Disconnected, "session", "no session"));
        };
        let mut replies: Vec<Reply> = Vec::with_capacity(1);
        session.submit(Slot(0), op);
        deadline.replies(session, &mut replies).await?;
        let bytes = replies.swap_remove(0).result?;
        if bytes != len {
            let (DataOp::Read { offset, .. } | DataOp::Write { offset, .. }) = op else { return Ok(()) };
            return Err(short(bytes, len, offset));
        }
        let counted = session.wire();
        let now = crew.clock.now();
        if now >= window.measure && now < window.end {
            let mut tally = crew.tally.borrow_mut();
            tally.operations += 1;
            tally.seconds.record(now - window.measure, u64::from(len));
            tally.wire += counted.since(*wire);
            match op {
                DataOp::Read { .. } => {
                    tally.bytes.read += u64::from(len);
                    tally.verified += if crew.verify == Verify::Off { 0 } else { u64::from(len) };
                }
                _ => tally.bytes.written += u64::from(len),
            }
        }
        *wire = counted;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::blocks;

    #[test]
    fn blocks_cover_a_file_exactly() {
        let list: Vec<_> = blocks(250, 100).collect();
        assert_eq!(list, [(0, 100), (100, 100), (200, 50)]);
    }
}
