//! The protection of one call: its header is signed, its arguments and its reply as the service requires.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use sharebench_gss::{Protection, ProtectionError};

use crate::rpc::{ReplyVerifier, VerifiedReply};
use crate::rpcsec::{GSS_FLAVOR, GssCredential, GssProcedure, SecurityError, Service, open_body, put_body};
use crate::xdr::{Reader, Writer};

/// Bytes of the header of a successful reply with an empty verifier.
const PLAIN_HEADER: usize = 24;

/// A context that a server has accepted.
pub(crate) struct EstablishedContext {
    pub(crate) protection: Protection,
    /// The server's name of the context.
    pub(crate) handle: Vec<u8>,
    /// How many sequence numbers back a call may arrive.
    pub(crate) window: u32,
    /// When the server will reject it.
    pub(crate) lifetime: Duration,
}

/// What a call needs: its place in the header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallHead {
    pub(crate) xid: u32,
    pub(crate) program: u32,
    pub(crate) version: u32,
    pub(crate) procedure: u32,
}

/// A context and the sequence number of one call in it, which also opens the reply (RFC 2203 5.3).
#[derive(Clone)]
pub(crate) struct ProtectedCall {
    pub(crate) context: Arc<EstablishedContext>,
    pub(crate) service: Service,
    pub(crate) sequence: u32,
}

impl std::fmt::Debug for ProtectedCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ProtectedCall({}, number {})", self.service.name(), self.sequence)
    }
}

impl ProtectedCall {
    /// Encodes the call with its protected arguments. `mic` is memory for the signature.
    pub(crate) fn put(
        &self,
        writer: &mut Writer,
        head: CallHead,
        procedure: GssProcedure,
        mic: &mut Vec<u8>,
        arguments: impl FnOnce(&mut Writer),
    ) -> Result<(), ProtectionError> {
        let start = writer.len();
        writer.words(&[head.xid, 0, 2, head.program, head.version, head.procedure]);
        let Self { context, service, sequence } = self;
        GssCredential { procedure, sequence: *sequence, service: service.number(), handle: &context.handle }
            .put(writer);
        // The verifier signs the header from the xid to the end of the credential (RFC 2203 5.3.1).
        mic.clear();
        context.protection.mic(&[writer.as_slice().get(start..).unwrap_or_default()], mic);
        writer.u32(GSS_FLAVOR);
        writer.opaque(mic);
        put_body(writer, &context.protection, *service, *sequence, arguments)
    }

    /// Verifies and decrypts the reply in place. Afterwards the returned part of the record is the reply as a server
    /// without security would send it.
    pub(crate) fn open(&self, record: &mut [u8]) -> Result<Range<usize>, SecurityError> {
        let whole = 0..record.len();
        let mut reader = Reader::new(record);
        let VerifiedReply { xid, verifier, outcome } = VerifiedReply::get(&mut reader)?;
        // A reply that denies the call has no verifier.
        let Some(ReplyVerifier { flavor, body }) = verifier else { return Ok(whole) };
        if flavor != GSS_FLAVOR {
            return Err(SecurityError::Verifier { flavor });
        }
        let protection = &self.context.protection;
        protection.verify_mic(&[&self.sequence.to_be_bytes()], body)?;
        if outcome.is_err() {
            return Ok(whole);
        }
        let at = record.len() - reader.rest().len();
        let results = record.get_mut(at..).unwrap_or_default();
        let place = open_body(results, protection, self.service, self.sequence)?;
        // The results follow the verifier, which is longer than the rest of the plain header.
        let start = at + place.start - PLAIN_HEADER;
        if let Some(header) = record.get_mut(start..start + PLAIN_HEADER) {
            header.fill(0);
            header[..4].copy_from_slice(&xid.to_be_bytes());
            header[7] = 1;
        }
        Ok(start..at + place.end)
    }
}
