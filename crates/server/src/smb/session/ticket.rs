//! Logins with Kerberos: who may log in with a ticket.

use std::time::Duration;

use sharebench_smb::{NtStatus, accept_ticket};

use crate::front_ends::login_throttle::LoginSource;
use crate::smb::session::connection::Connection;
use crate::smb::session::login::Accepted;
use crate::smb::status::Outcome;
use crate::volume::name::fold_case;

impl Connection {
    /// Decides on the ticket of a client's first token; none if the token has no ticket.
    ///
    /// With accounts, the principal without its realm must be one of them; without accounts, every valid ticket suffices.
    /// A ticket proves who the client is, so that no throttle limits attempts.
    pub(crate) fn accept_ticket(&self, token: &[u8]) -> Outcome<Option<Accepted>> {
        let options = &self.server.options;
        let Some(ticket) = options.keys.as_ref().and_then(|keys| accept_ticket(keys, token)) else {
            return Ok(None);
        };
        let source = LoginSource::Ip(self.remote);
        let ticket = ticket.map_err(|error| {
            options.log.write(&format!("smb: failed login with a ticket from {source}: {error}"));
            NtStatus::LOGON_FAILURE
        })?;
        let name = ticket.principal.split_once('@').map_or(&*ticket.principal, |(name, _)| name);
        let account = fold_case(name);
        let known = options.accounts.iter().any(|(known, _)| fold_case(known) == account);
        if !known && !options.accounts.is_empty() {
            let principal = &ticket.principal;
            options.log.write(&format!("smb: failed login of {principal:?} from {source}: no such account"));
            return Err(NtStatus::LOGON_FAILURE);
        }
        let key = Some(ticket.session_key.clone());
        let lifetime = Some(Duration::from_secs(ticket.lifetime_s.into()));
        Ok(Some(Accepted { account, flags: 0, key, token: ticket.token.clone(), lifetime }))
    }
}
