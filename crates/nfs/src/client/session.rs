//! A mounted export over one connection, as the engine drives it.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use sharebench_model::{
    DataOp, ErrorClass, Facts, FileRef, MetaOp, MetaReply, OpError, PolicyCount, Reply, Slot, Stability,
    WireCount,
};
use sharebench_target::{LocalBoxFuture, Session, SessionSpec, buffer_pool};

use crate::client::arrival::{Answer, Arrival};
use crate::client::calls::Expected;
use crate::client::channel::Channel;
use crate::client::directories::Directories;
use crate::client::files::Files;
use crate::client::mounting::Mount;
use crate::protocol::{FileHandle, Procedure, StableHow};
use crate::results::{FsInfo, WriteVerifier};
use crate::status::NfsStatus;
use crate::xdr::{Reader, Writer};

/// Pauses before a server that asked to come back later is asked again.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// One user's connection to an export.
#[derive(Debug)]
pub(crate) struct NfsSession {
    pub(crate) channel: Channel,
    pub(crate) files: Files,
    pub(crate) directories: Directories,
    pub(crate) limits: FsInfo,
    /// Empty while the session rests.
    buffers: Vec<Box<[u8]>>,
    slot_bytes: usize,
    arrivals: Vec<Arrival>,
    /// Replies of submissions that never left.
    refused: Vec<Reply>,
    pub(crate) facts: Facts,
    pub(crate) mount: Mount,
    verifier: Option<WriteVerifier>,
    policy: PolicyCount,
}

impl NfsSession {
    pub(crate) fn new(
        channel: Channel,
        root: FileHandle,
        limits: FsInfo,
        spec: &SessionSpec,
        facts: Facts,
        mount: Mount,
    ) -> Self {
        Self {
            channel,
            files: Files::default(),
            directories: Directories::new(root),
            limits,
            arrivals: Vec::with_capacity(spec.slots as usize + 1),
            refused: Vec::new(),
            buffers: vec![Box::default(); spec.slots as usize],
            slot_bytes: spec.slot_bytes as usize,
            facts,
            mount,
            verifier: None,
            policy: PolicyCount::default(),
        }
    }

    /// Performs one call and gives its result, status first. A server that asks to come back later, as in its grace period, is
    /// asked again for as long as the caller waits.
    pub(crate) async fn request(
        &mut self,
        procedure: Procedure,
        arguments: impl Fn(&mut Writer),
    ) -> Result<Reader<'_>, OpError> {
        let mut pause = FIRST_PAUSE;
        loop {
            self.ask(procedure, &arguments).await?;
            // Nothing was done, so that asking again does nothing twice (RFC 1813, 2.6).
            let later = NfsStatus::Jukebox.code().to_be_bytes();
            if self.channel.meta_result().first_chunk() != Some(&later) {
                break;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Ok(Reader::new(self.channel.meta_result()))
    }

    async fn ask(&mut self, procedure: Procedure, arguments: &impl Fn(&mut Writer)) -> Result<(), OpError> {
        let named = |error: OpError| OpError { step: procedure.name(), ..error };
        if let Some(error) = self.channel.failure() {
            return Err(named(error));
        }
        let index = self.channel.meta_index();
        if !self.channel.is_idle(index) {
            let error =
                OpError::new(ErrorClass::Disconnected, procedure.name(), "an earlier call was abandoned");
            self.channel.give_up(error.clone());
            return Err(error);
        }
        self.channel.call(index, Expected::Meta, procedure, 0, arguments);
        let mut arrivals = std::mem::take(&mut self.arrivals);
        poll_fn(|cx| self.channel.poll(cx, &mut self.buffers, &mut arrivals)).await;
        let result = arrivals.pop().map_or(Ok(Answer::Meta), |arrival| arrival.result);
        arrivals.clear();
        self.arrivals = arrivals;
        result.map(drop).map_err(named)
    }

    fn check_record(
        &mut self,
        slot: Slot,
        len: u32,
        step: &'static str,
        max: u32,
        name: &str,
    ) -> Result<(), OpError> {
        if len > max {
            let detail =
                format!("record of {len} bytes exceeds the server's {name} {max}; it is never split");
            return Err(OpError::new(ErrorClass::Unsupported, step, detail));
        }
        match self.buffers.get_mut(slot.0 as usize) {
            Some(buffer) if len as usize <= self.slot_bytes => {
                buffer_pool::ensure(buffer, self.slot_bytes);
                Ok(())
            }
            _ => {
                let detail = format!("record of {len} bytes exceeds its slot");
                Err(OpError::new(ErrorClass::Unsupported, step, detail))
            }
        }
    }

    fn try_submit(&mut self, slot: Slot, op: DataOp) -> Result<(), OpError> {
        if let Some(error) = self.channel.failure() {
            return Err(error);
        }
        let index = slot.0 as usize;
        if index >= self.buffers.len() || !self.channel.is_idle(index) {
            return Err(OpError::new(ErrorClass::Busy, "submit", "the slot is in flight or does not exist"));
        }
        match op {
            DataOp::Read { file, offset, len } => {
                self.check_record(slot, len, "READ", self.limits.read_max, "rtmax")?;
                let handle = self.files.get(file)?.handle;
                self.channel.call(index, Expected::Read { len }, Procedure::Read, 0, |writer| {
                    put_range(writer, &handle, offset, len);
                });
            }
            DataOp::Write { file, offset, len, stability } => {
                self.check_record(slot, len, "WRITE", self.limits.write_max, "wtmax")?;
                let open = self.files.get(file)?;
                let (handle, stability) = (open.handle, open.stability(stability));
                self.policy.through += u64::from(stability == Stability::Durable);
                let expected = Expected::Write { file: file.0, len, stability };
                self.channel.call(index, expected, Procedure::Write, len, |writer| {
                    put_range(writer, &handle, offset, len);
                    writer.u32(wanted(stability) as u32);
                    writer.u32(len);
                });
            }
            DataOp::Flush { file } => {
                let handle = self.files.get(file)?.handle;
                // Offset and count 0: the whole file (RFC 1813, 3.3.21).
                self.channel.call(index, Expected::Flush { file: file.0 }, Procedure::Commit, 0, |writer| {
                    put_range(writer, &handle, 0, 0);
                });
            }
        }
        Ok(())
    }

    #[inline]
    fn conclude(&mut self, expected: Expected, answer: Answer) -> Result<u32, OpError> {
        match (expected, answer) {
            (_, Answer::Read(count)) => Ok(count),
            (Expected::Write { file, len, stability }, Answer::Written(written)) => {
                self.verifier = Some(written.verifier);
                if written.count != len {
                    let detail = format!("short write: {} of {len} bytes taken", written.count);
                    return Err(OpError::new(ErrorClass::Io, "WRITE", detail));
                }
                if written.committed < wanted(stability) {
                    let given = written.committed.name();
                    let detail =
                        format!("FILE_SYNC was asked for, the server gives {given}: no write-through");
                    return Err(OpError::new(ErrorClass::Protocol, "WRITE", detail));
                }
                self.policy.stable += u64::from(written.committed == StableHow::FileSync);
                if written.committed == StableHow::Unstable
                    && let Ok(open) = self.files.get(FileRef(file))
                {
                    open.wrote(written.verifier);
                }
                Ok(len)
            }
            (Expected::Flush { file }, Answer::Committed(verifier)) => {
                self.verifier = Some(verifier);
                self.files.get(FileRef(file))?.committed(verifier).map(|()| 0)
            }
            _ => Err(OpError::new(ErrorClass::Protocol, "reply", "a result of another procedure")),
        }
    }
}

const fn wanted(stability: Stability) -> StableHow {
    match stability {
        Stability::Unstable => StableHow::Unstable,
        Stability::Durable => StableHow::FileSync,
    }
}

/// Handle, offset and count: what READ, WRITE and COMMIT begin with.
#[inline]
fn put_range(writer: &mut Writer, handle: &FileHandle, offset: u64, count: u32) {
    handle.put(writer);
    writer.u64(offset);
    writer.u32(count);
}

impl Session for NfsSession {
    fn facts(&self) -> Facts {
        let mut facts = self.facts.clone();
        facts.insert("client_cache".into(), "none".into());
        if let Some(verifier) = self.verifier {
            facts.insert("write_verifier".into(), format!("{:016x}", u64::from_be_bytes(verifier)));
        }
        facts
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        let buffer = &mut self.buffers[slot.0 as usize];
        buffer_pool::ensure(buffer, self.slot_bytes);
        buffer
    }

    fn release_buffers(&mut self) {
        if self.channel.release_buffers() {
            self.buffers.iter_mut().for_each(buffer_pool::give_back);
        }
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        match op {
            DataOp::Read { len, .. } => len.min(self.limits.read_max),
            DataOp::Write { len, .. } => len.min(self.limits.write_max),
            DataOp::Flush { .. } => 0,
        }
    }

    #[inline]
    fn submit(&mut self, slot: Slot, op: DataOp) {
        if let Err(error) = self.try_submit(slot, op) {
            self.refused.push(Reply { slot, result: Err(error), requests: 0 });
        }
    }

    fn poll_replies(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        let before = replies.len();
        replies.append(&mut self.refused);
        let mut arrivals = std::mem::take(&mut self.arrivals);
        let _ = self.channel.poll(cx, &mut self.buffers, &mut arrivals);
        for Arrival { index, expected, result } in arrivals.drain(..) {
            // A call for names that somebody abandoned has no slot.
            if expected != Expected::Meta {
                let result = result.and_then(|answer| self.conclude(expected, answer));
                replies.push(Reply { slot: Slot(index as u32), result, requests: 1 });
            }
        }
        self.arrivals = arrivals;
        if replies.len() > before { Poll::Ready(()) } else { Poll::Pending }
    }

    fn call(&mut self, op: MetaOp) -> LocalBoxFuture<'_, MetaReply> {
        Box::pin(async move {
            let before = self.channel.wire().requests;
            self.directories.begin();
            let mut result = self.perform(&op).await;
            // A remembered directory may be gone; the server did nothing, so asking again is safe.
            if matches!(&result, Err(error) if error.class == ErrorClass::Stale)
                && self.directories.distrust()
            {
                result = self.perform(&op).await;
            }
            MetaReply { result, requests: (self.channel.wire().requests - before) as u32 }
        })
    }

    fn wire(&self) -> WireCount {
        self.channel.wire()
    }

    fn policy_count(&self) -> PolicyCount {
        self.policy
    }

    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        Box::pin(async move {
            drop(self.channel);
            self.mount.undo().await;
        })
    }
}
