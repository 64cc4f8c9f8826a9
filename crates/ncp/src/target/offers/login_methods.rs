//! Which login methods a server answers: the bindery, directory services (NDS), and NMAS.

use crate::client::{Client, ClientError, Transport};
use crate::wire::login::{GetLoginKey, GetObjectId, USER};
use crate::wire::{Completion, Function, Pstr, Request};

/// Ping of directory services; a server without them answers FB (docs/protocols/ncp.md 2.4).
const NDS_PING: Function = Function::sub(0x68, 0x01);
/// Data of the ping, as the client of the Linux kernel sends it.
const NDS_PING_DATA: [u8; 3] = [0; 3];
/// Ping of NMAS: function 0x5E with the verb 1 and the version 0.
const NMAS: Function = Function::plain(0x5E);
const NMAS_PING_DATA: [u8; 5] = [1, 0, 0, 0, 0];

/// What a server answers to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MethodReply {
    /// It performs the call.
    Answered,
    /// It rejects the call.
    Refused(Completion),
}

/// The answers to the first call of each login method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LoginMethods {
    /// The key of a bindery login.
    pub(super) bindery: MethodReply,
    /// The bindery object of the account.
    pub(super) account: MethodReply,
    pub(super) nds: MethodReply,
    pub(super) nmas: MethodReply,
}

impl LoginMethods {
    /// True if the account can log in to directory services only.
    pub(super) fn is_nds_only(self) -> bool {
        let bindery = self.bindery == MethodReply::Answered && self.account == MethodReply::Answered;
        self.nds == MethodReply::Answered && !bindery
    }
}

/// Makes the first call of each login method for the account `user`.
pub(super) async fn examine<C: Transport>(
    client: &mut Client<C>,
    user: &str,
) -> Result<LoginMethods, ClientError> {
    let bindery = answer(client, "login key", &GetLoginKey {}.into()).await?;
    let name = user.to_ascii_uppercase();
    let account = match Pstr::new(name.as_bytes()) {
        Ok(name) => answer(client, "object id", &GetObjectId { kind: USER, name }.into()).await?,
        Err(_) => MethodReply::Refused(Completion::InvalidName),
    };
    let nds = answer(client, "NDS ping", &Request::Unknown(NDS_PING, &NDS_PING_DATA)).await?;
    let nmas = answer(client, "NMAS ping", &Request::Unknown(NMAS, &NMAS_PING_DATA)).await?;
    Ok(LoginMethods { bindery, account, nds, nmas })
}

async fn answer<C: Transport>(
    client: &mut Client<C>,
    step: &'static str,
    request: &Request<'_>,
) -> Result<MethodReply, ClientError> {
    match client.call(step, request).await {
        Ok(_) => Ok(MethodReply::Answered),
        Err(ClientError::Refused { completion, .. }) => Ok(MethodReply::Refused(completion)),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_that_only_directory_services_know_has_no_bindery_login() {
        let refused = MethodReply::Refused(Completion::NoSuchObject);
        let answered = MethodReply::Answered;
        let only =
            |bindery, account, nds| LoginMethods { bindery, account, nds, nmas: refused }.is_nds_only();
        assert!(only(answered, refused, answered) && only(refused, refused, answered));
        assert!(!only(answered, answered, answered), "a bindery context has the account");
        assert!(!only(answered, refused, refused), "a bindery server without the account");
    }
}
