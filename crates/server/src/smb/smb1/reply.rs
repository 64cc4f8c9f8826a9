//! Replies of SMB1: their header, and those that are sent later.

use std::sync::Arc;

use sharebench_smb::NtStatus;
use sharebench_smb::nt1::Header;
use sharebench_smb::nt1::file::LockResponse;
use sharebench_smb::nt1::message::{NO_ANDX, NoWords, REPLY, flags2, put_blocks};
use sharebench_smb::wire::frame::PREFIX_LEN;

use super::signatures::Signatures;
use crate::smb::transport::frames::finish_frame;

/// The reply to a request that waits: to `LOCKING_ANDX`, or an error.
pub(in crate::smb) struct Smb1Reply {
    header: Header,
    number: Option<u32>,
    signatures: Arc<Signatures>,
}

impl Smb1Reply {
    /// The reply to a request with this header and number.
    pub(super) fn new(header: Header, number: Option<u32>, signatures: &Arc<Signatures>) -> Self {
        Self { header, number, signatures: Arc::clone(signatures) }
    }

    /// The number of the request.
    pub(in crate::smb) fn number(&self) -> Option<u32> {
        self.number
    }

    /// The encoded frame with this status.
    pub(in crate::smb) fn frame(&self, status: NtStatus) -> Vec<u8> {
        let mut frame = vec![0; PREFIX_LEN];
        response_header(&self.header, status, self.number.is_some()).encode(&mut frame);
        if status == NtStatus::SUCCESS {
            put_blocks(&LockResponse { andx: NO_ANDX }, &mut frame, |_| {});
        } else {
            put_blocks(&NoWords {}, &mut frame, |_| {});
        }
        self.signatures.sign(frame.get_mut(PREFIX_LEN..).unwrap_or_default(), self.number);
        finish_frame(&mut frame);
        frame
    }
}

/// The header of a response to a request.
pub(super) fn response_header(request: &Header, status: NtStatus, signed: bool) -> Header {
    let mut set = request.flags2 & (flags2::UNICODE | flags2::EXTENDED_SECURITY) | flags2::LONG_NAMES;
    // The codes of OS/2 have no counterpart among the others: a client reads their bytes as class and code (MS-CIFS 2.2.2.4).
    if !matches!(status, NtStatus::OS2_CANCEL_VIOLATION | NtStatus::OS2_ATOMIC_LOCKS_NOT_SUPPORTED) {
        set |= flags2::NT_STATUS;
    }
    if signed {
        set |= flags2::SECURITY_SIGNATURE;
    }
    Header {
        status: status.0,
        flags: request.flags | REPLY,
        flags2: set,
        signature: [0; 8],
        reserved: 0,
        ..*request
    }
}
