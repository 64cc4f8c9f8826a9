//! A directory of a share over SMB1, as the engine drives it.

use std::task::{Context, Poll};

use sharebench_client_core::{OpenFileTable, SlotPayload, TransferLimit};
use sharebench_model::{
    CachePolicy, DataOp, Fact, FileRef, MetaReply, NO_CLIENT_CACHE, OpError, PolicyCount, Reply, SessionOp,
    Slot, Stability, TargetFacts, TcpReading, WireCount,
};
use sharebench_relay::Far;
use sharebench_target::{Extensions, Idle, LocalBoxFuture, Probe, Readings, Session, perform_counted};

use super::connection::{Completion, Connection, Request};
use super::names::Search;
use crate::client::names::share_paths::SharePaths;
use crate::client::negotiated::guid_text;
use crate::client::options::{Nt1Transport, SmbOptions};
use crate::client::session::LOG_OFF_TIMEOUT;
use crate::nt1::command;
use crate::nt1::message::NO_ANDX;
use crate::nt1::path::Echo;
use crate::nt1::session::Logoff;

/// Name of the limit of a record in errors.
const LARGEST: &str = "largest transfer";

/// What client and server negotiated.
#[derive(Debug, Clone)]
pub(super) struct Nt1Negotiated {
    pub(super) session_key: u32,
    pub(super) max_mpx: u16,
    pub(super) max_read: u32,
    pub(super) max_write: u32,
    /// Every message is signed.
    pub(super) signed: bool,
    pub(super) server_guid: [u8; 16],
    pub(super) session: &'static str,
}

/// An open file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nt1File {
    pub(super) fid: u16,
    pub(super) unbuffered: bool,
    pub(super) through: bool,
}

/// One user's logged-in connection to a share over SMB1.
///
/// Each data operation is one request. At most `MaxMpxCount` of them are in flight; the others wait. Nothing is cached. Oplocks
/// are requested only where an operation wants one.
#[derive(Debug)]
pub(crate) struct Nt1Session {
    pub(super) connection: Connection,
    pub(super) files: OpenFileTable<Nt1File>,
    pub(super) paths: SharePaths,
    pub(super) negotiated: Nt1Negotiated,
    pub(super) search: Option<Search>,
    /// The open file of whose oplock a break is awaited.
    pub(super) held: Option<FileRef>,
    far: Far,
    netbios: bool,
    completions: Vec<Completion>,
    rejected: Vec<Reply>,
}

impl Nt1Session {
    pub(super) fn new(connection: Connection, options: &SmbOptions, negotiated: Nt1Negotiated) -> Self {
        Self {
            connection,
            files: OpenFileTable::default(),
            paths: SharePaths::new(&options.directory),
            negotiated,
            search: None,
            held: None,
            far: options.far.clone(),
            netbios: options.nt1 == Some(Nt1Transport::Netbios),
            completions: Vec::new(),
            rejected: Vec::new(),
        }
    }

    fn try_submit(&mut self, slot: Slot, op: DataOp) -> Result<(), OpError> {
        if let Some(error) = self.connection.failure() {
            return Err(error);
        }
        let index = slot.0 as usize;
        if index >= self.connection.buffers.count() || !self.connection.is_idle(index) {
            return Err(OpError::slot_not_idle());
        }
        let policy = |file: Nt1File, through: bool| PolicyCount {
            through: u64::from(through),
            unbuffered: u64::from(file.unbuffered),
            ..PolicyCount::default()
        };
        let request = match op {
            DataOp::Read { file, offset, len } => {
                let limit = TransferLimit { name: LARGEST, max: self.negotiated.max_read };
                self.connection.buffers.check_record(index, "READ_ANDX", len, limit)?;
                let file = *self.files.get(file)?;
                Request::Read { fid: file.fid, offset, len, policy: policy(file, false) }
            }
            DataOp::Write { file, offset, len, stability } => {
                let limit = TransferLimit { name: LARGEST, max: self.negotiated.max_write };
                self.connection.buffers.check_record(index, "WRITE_ANDX", len, limit)?;
                let file = *self.files.get(file)?;
                let through = file.through || stability == Stability::Durable;
                Request::Write { fid: file.fid, offset, len, through, policy: policy(file, through) }
            }
            DataOp::Flush { file } => Request::Flush { fid: self.files.get(file)?.fid },
        };
        self.connection.submit(index, request);
        Ok(())
    }
}

impl Session for Nt1Session {
    fn facts(&self) -> TargetFacts {
        let negotiated = &self.negotiated;
        let mut facts = TargetFacts::from([
            (Fact::Dialect, "NT LM 0.12".into()),
            (Fact::Signing, if negotiated.signed { "MD5" } else { "off" }.into()),
            (Fact::Encryption, "off".into()),
            (Fact::MaxRead, negotiated.max_read.to_string()),
            (Fact::MaxWrite, negotiated.max_write.to_string()),
            (Fact::MaxMpx, negotiated.max_mpx.to_string()),
            (Fact::Session, negotiated.session.into()),
            (Fact::ServerGuid, guid_text(&negotiated.server_guid)),
            (Fact::Transport, if self.netbios { "NetBIOS session service" } else { "TCP" }.into()),
            (Fact::ClientCache, NO_CLIENT_CACHE.into()),
            (
                Fact::Unsafe,
                "SMB1 has no encryption, signs with MD5 and does not protect its negotiation; use it for comparisons \
                 only"
                .into(),
            ),
        ]);
        self.far.add_fact(&mut facts);
        facts
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.connection.buffers.payload(slot.0 as usize)
    }

    fn max_transfer(&self, op: DataOp) -> u32 {
        match op {
            DataOp::Read { len, .. } => len.min(self.negotiated.max_read),
            DataOp::Write { len, .. } => len.min(self.negotiated.max_write),
            DataOp::Flush { .. } => 0,
        }
    }

    fn submit(&mut self, slot: Slot, op: DataOp) {
        if let Err(error) = self.try_submit(slot, op) {
            self.rejected.push(Reply { slot, result: Err(error), requests: 0 });
        }
    }

    fn poll_replies(&mut self, cx: &mut Context<'_>, replies: &mut Vec<Reply>) -> Poll<()> {
        let before = replies.len();
        replies.append(&mut self.rejected);
        let mut completions = std::mem::take(&mut self.completions);
        // The result is ignored: rejected operations make the session ready even if the connection is pending.
        let _ = self.connection.poll(cx, &mut completions);
        let slots = self.connection.buffers.count();
        for Completion { index, result, requests } in completions.drain(..) {
            // The caller of a metadata request may have dropped its future: its reply belongs to no slot.
            if index < slots {
                replies.push(Reply { slot: Slot(index as u32), result, requests });
            }
        }
        self.completions = completions;
        if replies.len() > before { Poll::Ready(()) } else { Poll::Pending }
    }

    fn perform_call(&mut self, op: SessionOp) -> LocalBoxFuture<'_, MetaReply> {
        Box::pin(perform_counted(self, op))
    }

    fn wire(&self) -> WireCount {
        self.connection.wire()
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        Some(self)
    }

    fn readings(&self) -> Option<&dyn Readings> {
        Some(self)
    }

    fn close(mut self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        Box::pin(async move {
            let logoff = Logoff { andx: NO_ANDX };
            let logged_off = self.connection.request(command::LOGOFF_ANDX, &logoff, |_| {});
            let _ = tokio::time::timeout(LOG_OFF_TIMEOUT, logged_off).await;
        })
    }
}

impl Extensions for Nt1Session {
    fn idle(&mut self) -> Option<&mut dyn Idle> {
        Some(self)
    }

    fn probe(&mut self) -> Option<&mut dyn Probe> {
        Some(self)
    }
}

impl Idle for Nt1Session {
    fn release_buffers(&mut self) {
        self.connection.release_buffers();
    }

    fn poll_keepalive(&mut self, _cx: &mut Context<'_>) {}
}

impl Readings for Nt1Session {
    fn policy_count(&self) -> PolicyCount {
        self.connection.policy_count()
    }

    fn tcp(&self) -> Option<TcpReading> {
        (!self.far.is_simulated()).then(|| self.connection.tcp()).flatten()
    }
}

impl Probe for Nt1Session {
    /// ECHO (MS-CIFS 2.2.4.39).
    fn empty_request(&mut self) -> LocalBoxFuture<'_, Option<Result<(), OpError>>> {
        Box::pin(async move {
            let echo = Echo { count: 1 };
            Some(self.connection.request(command::ECHO, &echo, |out| out.push(0)).await)
        })
    }
}

impl Nt1File {
    pub(super) fn new(fid: u16, policy: sharebench_model::IoPolicy) -> Self {
        let unbuffered = policy.cache == CachePolicy::Unbuffered;
        Self { fid, unbuffered, through: policy.writes_through() }
    }
}
