//! Calls of a server that requires Kerberos.

use std::sync::Arc;

use sharebench_nfs::protocol::NFS_PROGRAM;
use sharebench_nfs::record::{begin_record, end_record};
use sharebench_nfs::rpc::Rejection;
use sharebench_nfs::rpcsec::{GssServer, OpenedCall};
use sharebench_nfs::xdr::{Reader, Writer, XdrError};

use crate::nfs::state::ServerState;
use crate::nfs::v4::Peer;

/// `AUTH_TOOWEAK` (RFC 5531, 9).
pub(super) const TOO_WEAK: u32 = 5;

impl ServerState {
    /// As [`ServerState::answer`] for a server with keys: opens the call, and seals its reply. A call of NFS without Kerberos
    /// is denied, except the NULL procedure; MOUNT needs none, because a handle alone gives no access.
    pub(super) fn answer_secured(
        &self,
        gss: &GssServer,
        peer: &Arc<Peer>,
        record: &[u8],
        out: &mut Writer,
    ) -> Result<(), XdrError> {
        let mut bytes = record.to_vec();
        let at = begin_record(out);
        match gss.open(&mut bytes)? {
            None => {
                let Some(xid) = unprotected_call(record)? else {
                    out.truncate(at);
                    return self.answer_plain(peer, record, out);
                };
                Rejection::Auth(TOO_WEAK).put(out, xid);
            }
            Some(OpenedCall::Answer(reply)) => out.raw(reply.as_slice()),
            Some(OpenedCall::Drop) => {
                out.truncate(at);
                return Ok(());
            }
            Some(OpenedCall::Perform(place, seal)) => {
                let mut plain = Writer::default();
                self.answer_plain(peer, bytes.get(place).unwrap_or_default(), &mut plain)?;
                // The plain reply has a fragment header, which the sealed one gets below.
                if !seal.seal(plain.as_slice().get(4..).unwrap_or_default(), out) {
                    out.truncate(at);
                    return Ok(());
                }
            }
        }
        end_record(out, at, 0);
        Ok(())
    }
}

/// The first words of a call: its number, its type, the version of RPC, program, version, and procedure.
pub(super) fn call_words(record: &[u8]) -> Result<[u32; 6], XdrError> {
    let mut reader = Reader::new(record);
    let mut words = [0; 6];
    for word in &mut words {
        *word = reader.u32()?;
    }
    Ok(words)
}

/// The xid of a call that needs a context.
fn unprotected_call(record: &[u8]) -> Result<Option<u32>, XdrError> {
    let [xid, _, _, program, _, procedure] = call_words(record)?;
    Ok((program == NFS_PROGRAM && procedure != 0).then_some(xid))
}
