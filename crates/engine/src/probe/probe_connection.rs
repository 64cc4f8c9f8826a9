//! A connection in addition to the workload's: one timed read at a time.

use sharebench_model::{DataOp, FileRef, IoPolicy, MetaOp, OpError, OpenHow, Slot};
use sharebench_target::{ConnectError, Session, SessionSpec, Target};

use crate::data::context::PassContext;
use crate::data::mismatch::short;
use crate::time::clock::Clock;

/// A session that nobody else uses.
pub(crate) struct SideConnection {
    session: Box<dyn Session>,
    clock: Clock,
}

impl SideConnection {
    pub async fn open(road: &dyn Target, spec: &SessionSpec, clock: &Clock) -> Result<Self, ConnectError> {
        let spec = SessionSpec { slots: 1, ..spec.clone() };
        Ok(Self { session: road.connect(&spec).await?, clock: clock.clone() })
    }

    /// Opens an existing file.
    pub async fn file(
        &mut self,
        path: &str,
        policy: IoPolicy,
        context: &mut PassContext<'_>,
    ) -> Result<FileRef, OpError> {
        let open = MetaOp::Open { path: path.to_owned(), how: OpenHow::Read, policy };
        let (file, _) = context.deadline.call(self.session.as_mut(), open).await?.into_opened()?;
        Ok(file)
    }

    /// Reads a record and gives the time it took, nanoseconds.
    pub async fn read(
        &mut self,
        file: FileRef,
        offset: u64,
        len: u32,
        context: &mut PassContext<'_>,
    ) -> Result<u64, OpError> {
        let mut replies = Vec::with_capacity(1);
        let started = self.clock.now();
        self.session.submit(Slot(0), DataOp::Read { file, offset, len });
        context.deadline.replies(self.session.as_mut(), &mut replies).await?;
        let ended = self.clock.now();
        match replies.swap_remove(0).result? {
            bytes if bytes == len => Ok((ended - started).max(1)),
            bytes => Err(short(bytes, len, offset)),
        }
    }

    /// What the last read brought.
    pub fn buffer(&mut self, len: u32) -> &[u8] {
        &self.session.buffer(Slot(0))[..len as usize]
    }

    /// Reads the first `length` bytes of a file from end to end.
    pub async fn scan(
        &mut self,
        file: FileRef,
        length: u64,
        record: u32,
        context: &mut PassContext<'_>,
    ) -> Result<(), OpError> {
        for number in 0..length / u64::from(record) {
            if context.stop.is_stopped() {
                break;
            }
            self.read(file, number * u64::from(record), record, context).await?;
        }
        Ok(())
    }

    pub async fn close(self) {
        self.session.close().await;
    }
}
