//! Arbitrary bytes as SPNEGO tokens in each role, for tests with hostile input.

use super::spnego::{ClientToken, KerberosInit, Response, init, kerberos_list, listed_mechanisms, response};

/// A role in which bytes are a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenRole {
    /// The list of a server, in a NEGOTIATE response.
    List,
    /// The answer of a server.
    Response,
    /// A token of a client, as a server with NTLM receives it.
    Client,
    /// The first token of a client that prefers Kerberos.
    Ticket,
}

/// Decodes bytes in each role, as a login does, and returns those in which they are a token. None if what one side encodes
/// around the bytes comes out changed at the other.
pub fn decode_in_each_role(bytes: &[u8]) -> Option<Vec<TokenRole>> {
    let sent = response(Some(bytes), Some(bytes));
    let received = Response::parse(&sent).ok()?;
    let sent = init(&kerberos_list(), bytes);
    let ticket = KerberosInit::parse(&sent)?.token;
    if received.token != Some(bytes) || received.mic != Some(bytes) || ticket != bytes {
        return None;
    }
    let decoded = [
        (TokenRole::List, listed_mechanisms(bytes).is_ok()),
        (TokenRole::Response, Response::parse(bytes).is_ok()),
        (TokenRole::Client, ClientToken::parse(bytes).is_ok()),
        (TokenRole::Ticket, KerberosInit::parse(bytes).is_some()),
    ];
    Some(decoded.into_iter().filter(|(_, decoded)| *decoded).map(|(role, _)| role).collect())
}
