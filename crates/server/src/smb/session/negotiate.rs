//! NEGOTIATE: dialect, limits and algorithms (MS-SMB2 3.3.5.3, 3.3.5.4).

use std::sync::PoisonError;
use std::time::SystemTime;

use sharebench_smb::crypto::{Cipher, SigningAlgorithm, random};
use sharebench_smb::wire::HEADER_LEN;
use sharebench_smb::wire::header::{Header, command, flags};
use sharebench_smb::wire::negotiate::{
    Context, ENCRYPTION, NegotiateRequest, NegotiateResponse, PREAUTH_INTEGRITY, SIGNING,
};
use sharebench_smb::wire::smb1::{ANY_SMB2, offered_smb2};
use sharebench_smb::wire::validation::{ValidateNegotiateRequest, ValidateNegotiateResponse};
use sharebench_smb::{NtStatus, NtlmAcceptor};

use crate::smb::files::file_info::file_time;
use crate::smb::options::Protection;
use crate::smb::session::call::{CallResponse, DONE};
use crate::smb::session::connection::Connection;
use crate::smb::session::negotiated::{Negotiated, SIGNING_REQUIRED};
use crate::smb::session::responses::Reply;
use crate::smb::status::{Outcome, malformed};
use crate::smb::transport::frames::Broken;
use crate::smb::transport::replies::Replies;

/// Dialects, the oldest first.
const DIALECTS: [u16; 5] = [0x0202, 0x0210, 0x0300, 0x0302, 0x0311];
/// Capabilities (MS-SMB2 2.2.4): requests of several credits; encryption in dialects 3.0 and 3.0.2; leases; sessions of
/// several channels; leases of directories.
const LARGE_MTU: u32 = 0x04;
const CAN_ENCRYPT: u32 = 0x40;
const LEASING: u32 = 0x02;
const DIRECTORY_LEASING: u32 = 0x20;
const MULTI_CHANNEL: u32 = 0x08;
/// Security modes.
const SIGNING_ENABLED: u16 = 1;
/// SHA-512, the only hash that is defined, and the length of a salt.
const SHA_512: u16 = 1;
const SALT_BYTES: usize = 32;
/// Largest request of dialect 2.0.2, which has no multi-credit requests.
const MAX_SINGLE_CREDIT: u32 = 64 << 10;

/// The algorithms that a client lists in a context.
fn listed(contexts: &[Context], kind: u16) -> Outcome<Option<Vec<u16>>> {
    let mut found = contexts.iter().filter(|context| context.kind == kind);
    match (found.next(), found.next()) {
        (None, _) => Ok(None),
        (Some(context), None) => context.ids().map(Some).map_err(malformed),
        _ => Err(NtStatus::INVALID_PARAMETER),
    }
}

/// The contexts of the response in dialect 3.1.1, and the chosen algorithms. The client's order decides.
fn choose(contexts: &[Context]) -> Outcome<(Vec<Context>, SigningAlgorithm, Option<Cipher>)> {
    if !listed(contexts, PREAUTH_INTEGRITY)?.is_some_and(|hashes| hashes.contains(&SHA_512)) {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    let mut preauth = vec![1, 0, SALT_BYTES as u8, 0, SHA_512 as u8, 0];
    preauth.extend_from_slice(&random::<SALT_BYTES>());
    let mut answer = vec![Context { kind: PREAUTH_INTEGRITY, data: preauth }];
    let ciphers = listed(contexts, ENCRYPTION)?;
    let cipher = ciphers.iter().flatten().find_map(|id| Cipher::from_id(*id));
    if ciphers.is_some() {
        answer.push(Context::of_ids(ENCRYPTION, &[cipher.map_or(0, Cipher::id)]));
    }
    let algorithms = listed(contexts, SIGNING)?;
    let chosen = algorithms.iter().flatten().find_map(|id| SigningAlgorithm::from_id(*id));
    if let Some(chosen) = chosen {
        answer.push(Context::of_ids(SIGNING, &[chosen.id()]));
    }
    Ok((answer, chosen.unwrap_or(SigningAlgorithm::AesCmac), cipher))
}

impl Connection {
    fn security_mode(&self) -> u16 {
        let signed = self.server.options.protection == Protection::Signed;
        SIGNING_ENABLED | if signed { SIGNING_REQUIRED } else { 0 }
    }

    fn response(&self, dialect: u16, capabilities: u32) -> NegotiateResponse {
        let single = dialect == 0x0202;
        let max = self.server.options.max_transfer;
        let max = if single { max.min(MAX_SINGLE_CREDIT) } else { max };
        NegotiateResponse {
            security_mode: self.security_mode(),
            dialect,
            server_guid: self.server.guid,
            capabilities,
            max_transact: max,
            max_read: max,
            max_write: max,
            system_time: file_time(SystemTime::now()),
            token: NtlmAcceptor::hint(self.server.options.mechanisms()),
            contexts: Vec::new(),
        }
    }

    /// NEGOTIATE. A second one ends the connection (MS-SMB2 3.3.5.3).
    pub(crate) fn negotiate(&self, message: &[u8], body: &mut Vec<u8>) -> Outcome<CallResponse> {
        if self.negotiated.get().is_some() {
            return Ok(CallResponse::Disconnect);
        }
        let request = NegotiateRequest::decode(message).map_err(malformed)?;
        if request.dialects.is_empty() {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let offered = DIALECTS.iter().rev().find(|dialect| request.dialects.contains(dialect));
        let dialect = *offered.ok_or(NtStatus::NOT_SUPPORTED)?;
        let mut capabilities = if dialect == 0x0202 { 0 } else { LARGE_MTU };
        // Dialect 2.0.2 has no leases.
        let leases = self.server.options.leases && dialect != 0x0202;
        if leases {
            capabilities |= LEASING;
        }
        // Only a client that announces it knows breaks of directories (MS-SMB2 3.3.5.4).
        let directory_leases = leases && dialect >= 0x0300 && request.capabilities & DIRECTORY_LEASING != 0;
        if directory_leases {
            capabilities |= DIRECTORY_LEASING;
        }
        if dialect >= 0x0300 && request.capabilities & MULTI_CHANNEL != 0 {
            capabilities |= MULTI_CHANNEL;
        }
        let mut contexts = Vec::new();
        let mut signing =
            if dialect < 0x0300 { SigningAlgorithm::HmacSha256 } else { SigningAlgorithm::AesCmac };
        let mut cipher = None;
        if dialect == 0x0311 {
            (contexts, signing, cipher) = choose(&request.contexts)?;
        } else if dialect >= 0x0300 && request.capabilities & CAN_ENCRYPT != 0 {
            capabilities |= CAN_ENCRYPT;
            cipher = Some(Cipher::Aes128Ccm);
        }
        let response = NegotiateResponse { contexts, ..self.response(dialect, capabilities) };
        let negotiated = Negotiated {
            dialect,
            signing,
            cipher,
            max_transfer: response.max_read,
            leases,
            directory_leases,
            offer: ValidateNegotiateRequest {
                capabilities: request.capabilities,
                client_guid: request.client_guid,
                security_mode: request.security_mode,
                dialects: request.dialects,
            },
            answer: ValidateNegotiateResponse {
                capabilities,
                server_guid: self.server.guid,
                security_mode: self.security_mode(),
                dialect,
            },
        };
        let client = negotiated.client_guid();
        if self.negotiated.set(negotiated).is_err() {
            return Ok(CallResponse::Disconnect);
        }
        // Nobody else sets it.
        let _ = self.client.set(self.server.add_connection(client, self.number, &self.events));
        body.resize(HEADER_LEN, 0);
        response.encode(body);
        DONE
    }

    /// A client that also knows SMB1 begins with its NEGOTIATE, and receives a response of SMB2 (MS-SMB2 3.3.5.3.1).
    pub(crate) fn negotiate_from_smb1(&self, message: &[u8], out: &mut Replies) -> Result<(), Broken> {
        if self.negotiated.get().is_some() {
            return Err(Broken);
        }
        let Some(dialect) = offered_smb2(message).map_err(|_| Broken)? else {
            // Nothing newer than SMB1.
            return if self.server.options.smb1 { self.negotiate_smb1(message, out) } else { Err(Broken) };
        };
        let credits = {
            let mut credits = self.credits.lock().unwrap_or_else(PoisonError::into_inner);
            if !credits.use_ids(0, 1) {
                return Err(Broken);
            }
            credits.grant(1)
        };
        let capabilities = if dialect == ANY_SMB2 { LARGE_MTU } else { 0 };
        let response = self.response(dialect, capabilities);
        if dialect != ANY_SMB2 {
            let negotiated = Negotiated {
                dialect,
                signing: SigningAlgorithm::HmacSha256,
                cipher: None,
                max_transfer: response.max_read,
                leases: false,
                directory_leases: false,
                offer: ValidateNegotiateRequest::default(),
                answer: ValidateNegotiateResponse::default(),
            };
            self.negotiated.set(negotiated).map_err(|_| Broken)?;
        }
        let header =
            Header { command: command::NEGOTIATE, credits, flags: flags::RESPONSE, ..Header::default() };
        let mut encoded = Vec::new();
        header.encode(&mut encoded);
        response.encode(&mut encoded);
        out.put_frame(&encoded);
        Ok(())
    }

    /// Adds the messages of a negotiation or login to the hash that protects them (MS-SMB2 3.3.5.4, 3.3.5.5).
    pub(crate) fn hash_reply(&self, reply: &Reply, status: NtStatus, request: &[u8], response: &[u8]) {
        if reply.header.command == command::SESSION_SETUP {
            self.hash_challenge(reply.header.session_id, response);
        } else if status == NtStatus::SUCCESS {
            let mut preauth = self.preauth.lock().unwrap_or_else(PoisonError::into_inner);
            preauth.update(request);
            preauth.update(response);
        }
    }
}
