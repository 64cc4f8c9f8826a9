//! What the log-ons of a connection contribute to the keys of its sessions: dialect, cipher and the preauthentication hash.

use std::collections::HashMap;

use sharebench_smb::NtStatus;
use sharebench_smb::crypto::{Cipher, PreauthHash};
use sharebench_smb::wire::header::Header;
use sharebench_smb::wire::header::command::{NEGOTIATE, SESSION_SETUP};
use sharebench_smb::wire::negotiate::{ENCRYPTION, NegotiateResponse};
use sharebench_smb::wire::{Reader, WireError};

use crate::input::keys::Derivation;
use crate::input::message::{Message, Side};

/// Most log-ons of a connection at a time. Session keys of further ones cannot be used with SMB 3.1.1.
const MAX_LOG_ONS: usize = 1 << 10;
const DIALECT_3_0: u16 = 0x0300;
const DIALECT_3_0_2: u16 = 0x0302;
const DIALECT_3_1_1: u16 = 0x0311;
/// "Any of SMB 2": the answer to a negotiation in SMB 1, which another negotiation follows (2.2.4).
const DIALECT_ANY: u16 = 0x02FF;

/// The hash over the messages so far; none once one of them was not complete.
type Chain = Option<PreauthHash>;

/// The log-ons of one connection.
#[derive(Debug, Default)]
pub(super) struct LogOns {
    /// What every session of the connection has in common.
    negotiated: Derivation,
    /// Over the negotiation (3.2.5.2).
    connection: Chain,
    /// Over the log-on, by the request that waits for its reply (3.2.5.3).
    waiting: HashMap<u64, Chain>,
    /// By the session that has another round to go.
    unfinished: HashMap<u64, Chain>,
}

impl LogOns {
    /// What is known of a session whose log-on was not seen.
    pub(super) const fn derivation(&self) -> &Derivation {
        &self.negotiated
    }

    /// Takes a message that is not encrypted. The last one of a log-on gives its session, and how its keys are derived.
    pub(super) fn message(&mut self, message: &Message<'_>) -> Option<(u64, Derivation)> {
        let header = Header::decode(message.head).ok()?;
        let whole = (message.head.len() == message.len).then_some(message.head);
        match (header.command, message.side) {
            (NEGOTIATE, Side::Client) => {
                *self = Self::default();
                self.connection = extended(Some(PreauthHash::new()), whole);
            }
            (NEGOTIATE, Side::Server) if header.status == 0 => self.negotiated(message.head, whole),
            (SESSION_SETUP, Side::Client) => self.request(&header, whole),
            (SESSION_SETUP, Side::Server) if header.status != NtStatus::PENDING.0 => {
                return self.reply(&header, whole);
            }
            _ => {}
        }
        None
    }

    fn negotiated(&mut self, head: &[u8], whole: Option<&[u8]>) {
        self.negotiated.dialect = dialect_of(head).ok().filter(|dialect| *dialect != DIALECT_ANY);
        self.negotiated.cipher = match self.negotiated.dialect {
            Some(DIALECT_3_0 | DIALECT_3_0_2) => Some(Cipher::Aes128Ccm),
            Some(DIALECT_3_1_1) => NegotiateResponse::decode(head).ok().and_then(|reply| {
                let context = reply.contexts.into_iter().find(|context| context.kind == ENCRYPTION)?;
                Cipher::from_id(*context.ids().ok()?.first()?)
            }),
            _ => None,
        };
        self.connection = extended(self.connection.take(), whole);
    }

    fn request(&mut self, header: &Header, whole: Option<&[u8]>) {
        let before = match header.session_id {
            0 => Some(self.connection.clone()),
            // Neither another log-on of a session nor a further connection changes its keys for encryption.
            session => self.unfinished.remove(&session),
        };
        if let Some(chain) = before
            && self.waiting.len() < MAX_LOG_ONS
        {
            self.waiting.insert(header.message_id, extended(chain, whole));
        }
    }

    fn reply(&mut self, header: &Header, whole: Option<&[u8]>) -> Option<(u64, Derivation)> {
        let chain = self.waiting.remove(&header.message_id)?;
        match NtStatus(header.status) {
            NtStatus::MORE_PROCESSING_REQUIRED if self.unfinished.len() < MAX_LOG_ONS => {
                self.unfinished.insert(header.session_id, extended(chain, whole));
                None
            }
            // The last reply is not in the hash.
            NtStatus::SUCCESS => {
                let preauth = chain.map(|hash| hash.value());
                Some((header.session_id, Derivation { preauth, ..self.negotiated.clone() }))
            }
            _ => None,
        }
    }
}

/// The dialect of a NEGOTIATE response (2.2.4), of which no more may have been captured.
fn dialect_of(head: &[u8]) -> Result<u16, WireError> {
    let mut reader = Reader::body(head, 65, "NegotiateResponse")?;
    let _security_mode: u16 = reader.get()?;
    reader.get()
}

/// The hash with one more message; none if that is not complete.
fn extended(chain: Chain, message: Option<&[u8]>) -> Chain {
    let mut hash = chain?;
    hash.update(message?);
    Some(hash)
}
