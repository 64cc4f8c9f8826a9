//! Calls from the server to the client (RFC 7530, 15 and 16; RFC 8881, 20).
//!
//! The reply has the same heads as a COMPOUND: see [`super::compound`].

use crate::protocol::StableHow;
use crate::results::WriteVerifier;
use crate::v4::bitmap::Bitmap;
use crate::v4::compound::{MAX_TAG_BYTES, OK};
use crate::v4::data::{MAX_HANDLE_BYTES, StateId};
use crate::v4::item::{Item, Opaque, message};
use crate::v4::list::List;
use crate::v4::open::StateOwner;
use crate::v4::session::SessionId;
use crate::xdr::{Reader, Writer, XdrError};

/// `CB_NULL`.
pub const CALLBACK_NULL: u32 = 0;
/// `CB_COMPOUND`.
pub const CALLBACK_COMPOUND: u32 = 1;
/// Version of the callback program.
pub const CALLBACK_VERSION: u32 = 1;

/// An operation of a `CB_COMPOUND` (`nfs_cb_opnum4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the specifications'")]
pub enum CallbackOperation {
    GetAttr = 3,
    Recall = 4,
    LayoutRecall = 5,
    Notify = 6,
    PushDelegation = 7,
    RecallAny = 8,
    RecallableObjectAvailable = 9,
    RecallSlot = 10,
    Sequence = 11,
    WantsCancelled = 12,
    NotifyLock = 13,
    NotifyDeviceId = 14,
    Offload = 15,
    Illegal = 10_044,
}

impl CallbackOperation {
    /// All operations, in the order of their numbers.
    pub const ALL: [Self; 14] = [
        Self::GetAttr,
        Self::Recall,
        Self::LayoutRecall,
        Self::Notify,
        Self::PushDelegation,
        Self::RecallAny,
        Self::RecallableObjectAvailable,
        Self::RecallSlot,
        Self::Sequence,
        Self::WantsCancelled,
        Self::NotifyLock,
        Self::NotifyDeviceId,
        Self::Offload,
        Self::Illegal,
    ];

    /// The operation with this number.
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| *operation as u32 == code)
    }
}

message! {
    /// Head of a call (`CB_COMPOUND4args`); `count` operations follow.
    CallbackHead<'a> {
        /// Text for people, which the client returns.
        tag: Opaque<'a, MAX_TAG_BYTES>,
        /// Minor version.
        minor_version: u32,
        /// Identifies the client; only minor version 0 uses it.
        ident: u32,
        /// Number of operations. It comes from the peer: never allocate memory for that many.
        count: u32,
    }
}

message! {
    /// A call of a slot (`referring_call4`).
    ReferringCall {
        /// Number of the call in its slot.
        sequence: u32,
        /// The slot.
        slot: u32,
    }
}

message! {
    /// Calls of a session that have caused a callback (`referring_call_list4`).
    ReferringCalls<'a> {
        /// The session.
        session: SessionId,
        /// The calls.
        calls: List<'a, ReferringCall, 1024>,
    }
}

message! {
    /// Arguments of `CB_SEQUENCE`.
    CallbackSequence<'a> {
        /// The session.
        session: SessionId,
        /// Number of the call in its slot.
        sequence: u32,
        /// The slot.
        slot: u32,
        /// Highest slot in use.
        highest_slot: u32,
        /// The client keeps the reply for a repeated call.
        cache_reply: bool,
        /// Calls of the client that have caused the callback.
        referring: List<'a, ReferringCalls<'a>, 64>,
    }
}

message! {
    /// Result of `CB_SEQUENCE`.
    CallbackSequenced {
        /// The session.
        session: SessionId,
        /// Number of the call in its slot.
        sequence: u32,
        /// The slot.
        slot: u32,
        /// Highest slot that the client accepts.
        highest_slot: u32,
        /// Highest slot that the client prefers.
        target_highest_slot: u32,
    }
}

message! {
    /// Arguments of `CB_RECALL`.
    Recall<'a> {
        /// The delegation.
        state: super::data::StateId,
        /// The file is about to be truncated.
        truncate: bool,
        /// The file.
        handle: Opaque<'a, MAX_HANDLE_BYTES>,
    }
}

message! {
    /// Arguments of `CB_GETATTR`; its result is [`super::names::FileAttributes`].
    CallbackGetAttr<'a> {
        /// The file.
        handle: Opaque<'a, MAX_HANDLE_BYTES>,
        /// Wanted attributes.
        wanted: Bitmap,
    }
}

message! {
    /// Arguments of `CB_NOTIFY_LOCK`: a lock that was denied may be available.
    NotifyLock<'a> {
        /// The file.
        handle: Opaque<'a, MAX_HANDLE_BYTES>,
        /// Who waits for the lock.
        owner: StateOwner<'a>,
    }
}

message! {
    /// Arguments of `CB_RECALL_ANY`.
    RecallAny {
        /// Number of objects that the client may keep.
        keep: u32,
        /// Types of objects.
        types: Bitmap,
    }
}

message! {
    /// Arguments of `CB_RECALL_SLOT`.
    RecallSlot {
        /// Highest slot that the client shall use.
        target_highest_slot: u32,
    }
}

/// Arguments of `CB_OFFLOAD` (RFC 7862, 16.1): an asynchronous copy has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offloaded {
    /// The copy.
    pub state: StateId,
    /// Status of the copy.
    pub status: u32,
    /// Bytes that were copied.
    pub count: u64,
}

impl<'a> Item<'a> for Offloaded {
    fn get(reader: &mut Reader<'a>) -> Result<Self, XdrError> {
        let _file = reader.opaque("coa_fh", MAX_HANDLE_BYTES)?;
        let state = StateId::get(reader)?;
        let status = reader.u32()?;
        if status != OK {
            return Ok(Self { state, status, count: reader.u64()? });
        }
        let _callback = Option::<StateId>::get(reader)?;
        let count = reader.u64()?;
        let _committed = StableHow::get(reader)?;
        let _verifier = WriteVerifier::get(reader)?;
        Ok(Self { state, status, count })
    }

    fn put(&self, writer: &mut Writer) {
        Opaque::<MAX_HANDLE_BYTES>(b"").put(writer);
        self.state.put(writer);
        writer.u32(self.status);
        if self.status == OK {
            None::<StateId>.put(writer);
        }
        writer.u64(self.count);
        if self.status == OK {
            StableHow::Unstable.put(writer);
            WriteVerifier::default().put(writer);
        }
    }
}
