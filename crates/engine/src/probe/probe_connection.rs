//! A connection in addition to the workload's: one timed read at a time.

use sharebench_model::{DataOp, FileRef, IoPolicy, MetaOp, OpError, OpenHow};
use sharebench_target::{ConnectError, Session, SessionSpec, Target};

use crate::data::context::PassContext;
use crate::record::request::{SLOT, transfer};
use crate::time::clock::Clock;

/// The probe connection: a session of its own, which no workload uses, so that probes wait for no other request.
pub(crate) struct ProbeConnection {
    session: Box<dyn Session>,
    clock: Clock,
}

impl ProbeConnection {
    pub async fn open(path: &dyn Target, spec: &SessionSpec, clock: &Clock) -> Result<Self, ConnectError> {
        let spec = SessionSpec { slots: 1, ..spec.clone() };
        Ok(Self { session: path.connect(&spec).await?, clock: clock.clone() })
    }

    /// Opens an existing file for probes.
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

    /// Reads a record and returns its time in nanoseconds.
    pub async fn read(
        &mut self,
        file: FileRef,
        offset: u64,
        len: u32,
        context: &mut PassContext<'_>,
    ) -> Result<u64, OpError> {
        let read = DataOp::Read { file, offset, len };
        let started = self.clock.now();
        transfer(self.session.as_mut(), &mut context.deadline, read).await?;
        // A quotient of two times must have a denominator, also on a clock that is coarser than the read.
        Ok((self.clock.now() - started).max(1))
    }

    /// The data of the last read.
    pub fn buffer(&mut self, len: u32) -> &[u8] {
        &self.session.buffer(SLOT)[..len as usize]
    }

    /// Reads the first `length` bytes of a file once, in order.
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
