//! The mechanism of a login: NTLM, or Kerberos if the user requests it or has a ticket.

use sharebench_client_core::{DialError, on_own_thread};
use sharebench_gss::{GssError, Service, TICKET_LIMIT};
use sharebench_target::UrlPart;

use crate::auth::{AuthError, KerberosLogin, Mechanism, NtlmLogin};
use crate::client::negotiated::Negotiated;
use crate::client::options::{AuthMethod, SmbOptions};

pub(crate) const WORKSTATION: &str = "SHAREBENCH";
/// The service name of SMB (MS-SMB2 3.2.4.2.3.1).
const SERVICE: &str = "cifs";

/// A login in progress.
#[derive(Debug)]
pub(crate) enum LoginMethod {
    Ntlm(NtlmLogin),
    Kerberos(KerberosLogin),
}

impl LoginMethod {
    /// Chooses the mechanism, and requests a ticket if it is Kerberos.
    ///
    /// `auto` means Kerberos if the server lists it, is named and not addressed by number, and the user has a ticket;
    /// anything else means NTLM.
    pub(crate) async fn choose(options: &SmbOptions, negotiated: &Negotiated) -> Result<Self, DialError> {
        match options.auth {
            AuthMethod::Kerberos => Self::kerberos(options).await.map_err(|error| dial_error(&error)),
            AuthMethod::Auto if may_use_tickets(options, negotiated) => match Self::kerberos(options).await {
                Ok(login) => Ok(login),
                // A user without a ticket for this server logs in with the password.
                Err(error) if error.is_missing_ticket() || !options.password.is_empty() => {
                    Ok(Self::ntlm(options))
                }
                Err(error) => Err(dial_error(&error)),
            },
            AuthMethod::Auto | AuthMethod::Ntlm => Ok(Self::ntlm(options)),
        }
    }

    fn ntlm(options: &SmbOptions) -> Self {
        Self::Ntlm(match &options.user {
            Some(user) => NtlmLogin::new(user, &options.domain, &options.password, WORKSTATION),
            None => NtlmLogin::anonymous(),
        })
    }

    async fn kerberos(options: &SmbOptions) -> Result<Self, GssError> {
        let service = match &options.spn {
            Some(name) => Service::principal(name),
            None => Service::on_host(SERVICE, &options.host),
        };
        let unfinished = GssError::Order { step: "the request for a ticket" };
        let tickets = options.tickets.next().ok_or(unfinished.clone())?;
        let begun = on_own_thread(move || KerberosLogin::begin(tickets.get()?, &service));
        let begun = tokio::time::timeout(TICKET_LIMIT, begun).await;
        let begun = begun.unwrap_or(Some(Err(GssError::KdcSilent { limit: TICKET_LIMIT })));
        begun.unwrap_or(Err(unfinished)).map(Self::Kerberos)
    }

    /// The token of the first `SESSION_SETUP`.
    pub(crate) fn first_token(&mut self) -> Vec<u8> {
        match self {
            Self::Ntlm(login) => login.first_token(),
            Self::Kerberos(login) => login.first_token(),
        }
    }

    /// The answer to a token of a server that has not completed the login.
    pub(crate) fn next_token(&mut self, server_token: &[u8]) -> Result<Vec<u8>, AuthError> {
        match self {
            Self::Ntlm(login) => login.second_token(server_token),
            Self::Kerberos(login) => login.next_token(server_token),
        }
    }

    /// Checks the token of the server's last response.
    pub(crate) fn check_final(&mut self, token: &[u8]) -> Result<(), AuthError> {
        match self {
            Self::Ntlm(login) => login.check_final(token),
            Self::Kerberos(login) => login.check_final(token),
        }
    }

    /// The session key after the last token; none for an anonymous login.
    pub(crate) fn session_key(&self) -> Result<Option<Vec<u8>>, AuthError> {
        match self {
            Self::Ntlm(login) => Ok(login.session_key().map(Vec::from)),
            Self::Kerberos(login) => login.session_key().map(Some),
        }
    }

    /// The mechanism.
    pub(crate) const fn mechanism(&self) -> Mechanism {
        match self {
            Self::Ntlm(_) => Mechanism::Ntlm,
            Self::Kerberos(_) => Mechanism::Kerberos,
        }
    }
}

/// True if a ticket can belong to this server, so that looking for one is worthwhile.
fn may_use_tickets(options: &SmbOptions, negotiated: &Negotiated) -> bool {
    options.names_server() && negotiated.mechanisms.contains(&Mechanism::Kerberos)
}

/// The error of a login that Kerberos fails.
pub(crate) fn dial_error(error: &GssError) -> DialError {
    DialError::new(UrlPart::Credentials, error.class(), error.to_string())
}
