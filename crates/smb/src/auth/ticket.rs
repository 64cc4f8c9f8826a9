//! The server's side of a login with Kerberos: one token with a ticket, and the answer to it.

use sharebench_gss::{Acceptor, AcceptorKeys, ContextStep, GssError};

use super::AuthError;
use super::spnego::{self, KerberosInit};

/// A login with a valid ticket.
pub struct AcceptedTicket {
    /// The client's principal with its realm.
    pub principal: String,
    /// The key that both sides share.
    pub session_key: Vec<u8>,
    /// Time until the ticket ends, in seconds, with the difference of clocks that the library allows.
    pub lifetime_s: u32,
    /// The token of the last response, which authenticates the server.
    pub token: Vec<u8>,
}

/// Accepts the ticket in a client's first token. None if the token has no ticket, because its first mechanism is another
/// one.
pub fn accept_ticket(keys: &AcceptorKeys, token: &[u8]) -> Option<Result<AcceptedTicket, AuthError>> {
    let init = KerberosInit::parse(token)?;
    Some(accept(keys, &init))
}

fn accept(keys: &AcceptorKeys, init: &KerberosInit<'_>) -> Result<AcceptedTicket, AuthError> {
    let mut acceptor = Acceptor::new(keys.clone());
    let ContextStep::Done(answer) = acceptor.step(init.token)? else {
        return Err(GssError::Order { step: "a second token of the client" }.into());
    };
    let context = acceptor.into_context()?;
    Ok(AcceptedTicket {
        token: spnego::accept_kerberos(init.mechanism, &answer),
        session_key: context.session_key()?,
        lifetime_s: context.lifetime_s()?,
        principal: context.client().to_owned(),
    })
}

impl Drop for AcceptedTicket {
    fn drop(&mut self) {
        self.session_key.fill(0);
        // Keeps the compiler from removing the fill as a dead store.
        std::hint::black_box(&self.session_key);
    }
}

impl std::fmt::Debug for AcceptedTicket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AcceptedTicket({})", self.principal)
    }
}
