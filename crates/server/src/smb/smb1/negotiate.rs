//! NEGOTIATE of SMB1 (MS-CIFS 3.3.5.42, MS-SMB 3.3.5.2), for a client that offers nothing newer.

use std::time::SystemTime;

use sharebench_smb::NtStatus;
use sharebench_smb::NtlmAcceptor;
use sharebench_smb::nt1::Header;
use sharebench_smb::nt1::message::{REPLY, flags2, put_blocks};
use sharebench_smb::nt1::session::{
    NegotiateResponse, NoDialect, SIGNING_ENABLED, SIGNING_REQUIRED, USER_CHALLENGES, capability,
};
use sharebench_smb::wire::smb1::{NT_LM, offered_index};

use super::reply::response_header;
use super::responses::new_state;
use crate::smb::files::file_info::file_time;
use crate::smb::options::Protection;
use crate::smb::session::connection::Connection;
use crate::smb::transport::frames::Broken;
use crate::smb::transport::replies::Replies;

/// Most requests in flight (`MaxMpxCount`), as at smbd.
const MAX_REQUESTS: u16 = 50;
/// Largest message without large reads and writes, in bytes, as at smbd.
const MAX_BUFFER: u32 = 16_644;
/// Largest raw transfer, which no client may use without its capability.
const MAX_RAW: u32 = 64 << 10;
const CAPABILITIES: u32 = capability::UNICODE
    | capability::LARGE_FILES
    | capability::NT_SMBS
    | capability::NT_STATUS
    | capability::LEVEL_II_OPLOCKS
    | capability::LOCK_AND_READ
    | capability::NT_FIND
    | capability::PASSTHROUGH_LEVELS
    | capability::LARGE_READX
    | capability::LARGE_WRITEX
    | capability::EXTENDED_SECURITY;

impl Connection {
    /// Answers the first message of a client that offers no SMB2. Without NT LM 0.12 and extended security, no dialect is accepted.
    pub(in crate::smb) fn negotiate_smb1(&self, message: &[u8], out: &mut Replies) -> Result<(), Broken> {
        let request = Header::decode(message).map_err(|_| Broken)?;
        if request.flags & REPLY != 0 {
            return Err(Broken);
        }
        let dialect = offered_index(message, NT_LM).map_err(|_| Broken)?;
        let dialect = dialect.filter(|_| request.flags2 & flags2::EXTENDED_SECURITY != 0);
        let mut encoded = Vec::new();
        response_header(&request, NtStatus::SUCCESS, false).encode(&mut encoded);
        match dialect {
            Some(dialect) => {
                self.smb1.set(new_state()).map_err(|_| Broken)?;
                let required = self.server.options.protection != Protection::Optional;
                let signing = SIGNING_ENABLED | if required { SIGNING_REQUIRED } else { 0 };
                let words = NegotiateResponse {
                    dialect,
                    security_mode: USER_CHALLENGES | signing,
                    max_mpx: MAX_REQUESTS,
                    max_vcs: 1,
                    max_buffer: MAX_BUFFER,
                    max_raw: MAX_RAW,
                    // A number that the client repeats, and nothing depends on.
                    session_key: self.number as u32,
                    capabilities: CAPABILITIES,
                    system_time: file_time(SystemTime::now()),
                    time_zone: 0,
                    challenge_len: 0,
                };
                let token = NtlmAcceptor::hint(self.server.options.mechanisms());
                put_blocks(&words, &mut encoded, |bytes| {
                    bytes.extend_from_slice(&self.server.guid);
                    bytes.extend_from_slice(&token);
                });
            }
            None => put_blocks(&NoDialect { dialect: u16::MAX }, &mut encoded, |_| {}),
        }
        out.put_frame(&encoded);
        Ok(())
    }
}
