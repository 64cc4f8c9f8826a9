//! A share's directory over one connection, as the engine drives it.

use std::task::{Context, Poll};
use std::time::Duration;

use sharebench_model::{
    DataOp, ErrorClass, Facts, MetaOp, MetaReply, OpError, PolicyCount, Reply, Slot, WireCount,
};
use sharebench_target::{LocalBoxFuture, Session};

use crate::client::agreement::Agreement;
use crate::client::arrival::Arrival;
use crate::client::calls::Order;
use crate::client::channel::Channel;
use crate::client::files::Files;
use crate::client::handshake::log_off;
use crate::client::names::Names;
use crate::client::policy::{read_flags, write_flags};

/// How long a server may take for a log-off.
const LOG_OFF_TIMEOUT: Duration = Duration::from_secs(2);

/// One user's connection to a share.
#[derive(Debug)]
pub(crate) struct SmbSession {
    pub(crate) channel: Channel,
    pub(crate) files: Files,
    pub(crate) names: Names,
    pub(crate) agreement: Agreement,
    arrivals: Vec<Arrival>,
    /// Replies of submissions that never left.
    refused: Vec<Reply>,
}

impl SmbSession {
    pub(crate) fn new(channel: Channel, names: Names, agreement: Agreement) -> Self {
        let arrivals = Vec::with_capacity(channel.buffers.count() + 1);
        Self { channel, files: Files::default(), names, agreement, arrivals, refused: Vec::new() }
    }

    fn check_record(&mut self, slot: Slot, len: u32, step: &'static str, most: u32) -> Result<(), OpError> {
        let detail = if len > most {
            format!("a record of {len} bytes is beyond the server's limit {most}; records are never split")
        } else if self.channel.buffers.place(slot.0 as usize, len as usize).is_none() {
            format!("a record of {len} bytes is beyond its slot")
        } else {
            return Ok(());
        };
        Err(OpError::new(ErrorClass::Unsupported, step, detail))
    }

    fn try_submit(&mut self, slot: Slot, op: DataOp) -> Result<(), OpError> {
        if let Some(error) = self.channel.failure() {
            return Err(error);
        }
        let index = slot.0 as usize;
        if index >= self.channel.buffers.count() || !self.channel.is_idle(index) {
            return Err(OpError::new(ErrorClass::Busy, "submit", "the slot is in flight or does not exist"));
        }
        let order = match op {
            DataOp::Read { file, offset, len } => {
                self.check_record(slot, len, "READ", self.agreement.max_read)?;
                let file = self.files.get(file)?;
                let flags = read_flags(file.policy, self.agreement.dialect);
                Order::Read { file, offset, len, flags }
            }
            DataOp::Write { file, offset, len, stability } => {
                self.check_record(slot, len, "WRITE", self.agreement.max_write)?;
                let file = self.files.get(file)?;
                let flags = write_flags(file.policy, stability, self.agreement.dialect)?;
                Order::Write { file, offset, len, flags }
            }
            DataOp::Flush { file } => Order::Flush { file: self.files.get(file)?.id },
        };
        self.channel.submit(index, order);
        Ok(())
    }
}

impl Session for SmbSession {
    fn facts(&self) -> Facts {
        let mut facts = self.agreement.facts();
        facts.insert("client_cache".into(), "none (no lease or oplock is asked for)".into());
        facts.insert("credits".into(), self.channel.credits.available().to_string());
        facts
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.channel.buffers.payload(slot.0 as usize)
    }

    fn release_buffers(&mut self) {
        self.channel.release_buffers();
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        match op {
            DataOp::Read { len, .. } => len.min(self.agreement.max_read),
            DataOp::Write { len, .. } => len.min(self.agreement.max_write),
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
        let _ = self.channel.poll(cx, &mut arrivals);
        for Arrival { index, order, result, requests } in arrivals.drain(..) {
            // A request about names that somebody abandoned has no slot.
            if !matches!(order, Order::Meta { .. }) {
                replies.push(Reply { slot: Slot(index as u32), result, requests });
            }
        }
        self.arrivals = arrivals;
        if replies.len() > before { Poll::Ready(()) } else { Poll::Pending }
    }

    fn call(&mut self, op: MetaOp) -> LocalBoxFuture<'_, MetaReply> {
        Box::pin(async move {
            let before = self.channel.wire().requests;
            let result = self.perform(&op).await;
            MetaReply { result, requests: (self.channel.wire().requests - before) as u32 }
        })
    }

    fn wire(&self) -> WireCount {
        self.channel.wire()
    }

    fn policy_count(&self) -> PolicyCount {
        self.channel.policy_count()
    }

    fn close(mut self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        Box::pin(async move {
            // Closes every open file as well (MS-SMB2 3.3.5.6).
            let _ = tokio::time::timeout(LOG_OFF_TIMEOUT, log_off(&mut self.channel)).await;
        })
    }
}
