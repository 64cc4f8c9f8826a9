//! Arbitrary bytes as SPNEGO tokens in each role, for tests with hostile input.

use super::spnego::{ClientToken, KerberosInit, Response, init, listed_mechanisms, response};

/// The roles in which bytes are a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecodedRoles {
    /// The list of a server, in a NEGOTIATE response.
    pub list: bool,
    /// The answer of a server.
    pub response: bool,
    /// A token of a client, as a server with NTLM receives it.
    pub client: bool,
    /// The first token of a client that prefers Kerberos.
    pub ticket: bool,
}

/// Decodes bytes in each role, as a login does, and what both sides encode around them: the bytes come out unchanged.
/// Returns none if they do not.
pub fn decode_in_each_role(bytes: &[u8]) -> Option<DecodedRoles> {
    let sent = response(Some(bytes), Some(bytes));
    let received = Response::parse(&sent).ok()?;
    if received.token != Some(bytes) || received.mic != Some(bytes) {
        return None;
    }
    let sent = init(&super::spnego::kerberos_list(), bytes);
    if KerberosInit::parse(&sent).is_none_or(|found| found.token != bytes) {
        return None;
    }
    Some(DecodedRoles {
        list: listed_mechanisms(bytes).is_ok(),
        response: Response::parse(bytes).is_ok(),
        client: ClientToken::parse(bytes).is_ok(),
        ticket: KerberosInit::parse(bytes).is_some(),
    })
}
