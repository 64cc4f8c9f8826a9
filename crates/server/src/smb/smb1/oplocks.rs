//! Oplocks of SMB1 (MS-CIFS 3.3.4.2, 3.3.5.30): their breaks are `LOCKING_ANDX` requests of the server.
//!
//! What is granted and when it is broken is decided where those of SMB2 are, so that clients of both break each other's caches.

use std::sync::{Mutex, MutexGuard, PoisonError};

use sharebench_smb::nt1::file::{
    KEEP_LEVEL_II, LockRequest, OPLOCK_RELEASE, REQUEST_BATCH_OPLOCK, REQUEST_OPLOCK, UNSOLICITED,
};
use sharebench_smb::nt1::message::{NO_ANDX, flags2, put_blocks};
use sharebench_smb::nt1::{Header, command};
use sharebench_smb::wire::frame::PREFIX_LEN;
use sharebench_smb::wire::oplock;

use crate::smb::caching::cache_request::CacheRequest;
use crate::smb::transport::frames::finish_frame;

/// Process of a message that no process of a client has caused.
const NO_PROCESS: u16 = 0xFFFF;

/// What an open over SMB1 requests by its flags. A batch oplock needs both.
pub(super) fn wanted_oplock(flags: u32) -> CacheRequest {
    match (flags & REQUEST_OPLOCK != 0, flags & REQUEST_BATCH_OPLOCK != 0) {
        (true, true) => CacheRequest::Oplock(oplock::BATCH),
        (true, false) => CacheRequest::Oplock(oplock::EXCLUSIVE),
        _ => CacheRequest::Nothing,
    }
}

/// The number of an open.
enum Number {
    /// It has none yet. The level of a break that was necessary meanwhile.
    Pending(Option<u8>),
    Known(u16),
}

/// How the client of an open over SMB1 learns of the break of its oplock.
///
/// An oplock is granted before the open has its number. A break in between is sent once there is one.
pub(in crate::smb) struct Smb1Holder {
    tid: u16,
    /// The client knows oplocks of level II (MS-CIFS 2.2.4.53.1).
    pub(in crate::smb) level_2: bool,
    number: Mutex<Number>,
}

impl Smb1Holder {
    pub(super) fn new(tid: u16, level_2: bool) -> Self {
        Self { tid, level_2, number: Mutex::new(Number::Pending(None)) }
    }

    fn number(&self) -> MutexGuard<'_, Number> {
        self.number.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The open has this number from now on. The message of a break that was necessary meanwhile, with its prefix.
    pub(super) fn set_number(&self, fid: u16) -> Option<Vec<u8>> {
        match std::mem::replace(&mut *self.number(), Number::Known(fid)) {
            Number::Pending(level) => level.map(|level| self.frame(fid, level)),
            Number::Known(_) => None,
        }
    }

    /// The message of the break to a level, with its prefix; none if it follows once the open has its number.
    pub(in crate::smb) fn break_message(&self, level: u8) -> Option<Vec<u8>> {
        match &mut *self.number() {
            Number::Known(fid) => Some(self.frame(*fid, level)),
            Number::Pending(pending) => {
                *pending = Some(level);
                None
            }
        }
    }

    /// The message of a break, with its prefix. It is not signed: it has no number.
    fn frame(&self, fid: u16, level: u8) -> Vec<u8> {
        let header = Header {
            command: command::LOCKING_ANDX,
            flags2: flags2::UNICODE | flags2::NT_STATUS,
            tid: self.tid,
            pid_low: NO_PROCESS,
            mid: UNSOLICITED,
            ..Header::default()
        };
        let words = LockRequest {
            andx: NO_ANDX,
            fid,
            kind: OPLOCK_RELEASE,
            oplock: if level == oplock::LEVEL_II { KEEP_LEVEL_II } else { 0 },
            ..LockRequest::default()
        };
        let mut frame = vec![0; PREFIX_LEN];
        header.encode(&mut frame);
        put_blocks(&words, &mut frame, |_| {});
        finish_frame(&mut frame);
        frame
    }
}
