//! One login with Kerberos, token by token (RFC 4178, RFC 4121 4.1).

use std::sync::Arc;

use sharebench_gss::{ContextStep, Credential, GssError, Initiator, SecurityContext, Service};

use super::AuthError;
use super::spnego::{self, ACCEPT_COMPLETED, ACCEPT_INCOMPLETE, Mechanism, REJECT, REQUEST_MIC, Response};

/// A login from the first token to the session key.
///
/// The client lists Kerberos only, so that nobody on the way can make the server choose another mechanism unnoticed. The
/// steps are: [`Self::begin`], then [`Self::next_token`] for each token that the server wants answered, and
/// [`Self::check_final`] with its last one. The server authenticates itself with its answer to the ticket.
pub(crate) struct KerberosLogin {
    state: State,
    first_token: Vec<u8>,
    service: String,
}

enum State {
    /// The ticket is sent.
    Initiated(Initiator),
    /// The server has answered the ticket.
    Established(SecurityContext),
    /// The server's token was rejected.
    Failed,
}

impl KerberosLogin {
    /// Requests the ticket of the service. Blocks until the KDC answers.
    pub(crate) fn begin(credential: Arc<Credential>, service: &Service) -> Result<Self, GssError> {
        let mut initiator = Initiator::new(credential, service);
        match initiator.step(&[])? {
            ContextStep::Continue(token) => Ok(Self {
                first_token: spnego::init(&spnego::kerberos_list(), &token),
                state: State::Initiated(initiator),
                service: service.to_string(),
            }),
            ContextStep::Done(_) => Err(GssError::NotMutual),
        }
    }

    /// The token of the first `SESSION_SETUP`.
    pub(crate) fn first_token(&self) -> Vec<u8> {
        self.first_token.clone()
    }

    /// The service that the ticket is for.
    pub(crate) fn service(&self) -> &str {
        &self.service
    }

    /// The answer to a token of a server that has not completed the login: the signature over the list of mechanisms.
    pub(crate) fn next_token(&mut self, server_token: &[u8]) -> Result<Vec<u8>, AuthError> {
        let response = Response::parse(server_token)?;
        reject_downgrade(&response)?;
        let answer = self.receive(&response)?;
        if answer.is_empty() && !matches!(response.state, None | Some(ACCEPT_INCOMPLETE | REQUEST_MIC)) {
            let state = response.state.unwrap_or(REJECT);
            return Err(AuthError::State { state, expected: ACCEPT_INCOMPLETE });
        }
        let mic = match &self.state {
            State::Established(context) => Some(context.mic(&spnego::kerberos_list())?),
            _ => None,
        };
        if answer.is_empty() && mic.is_none() {
            return Err(AuthError::Malformed { what: "responseToken", len: server_token.len() });
        }
        Ok(spnego::response(Some(&answer[..]).filter(|answer| !answer.is_empty()), mic.as_deref()))
    }

    /// Checks the token of the server's last response. Unlike with NTLM it may not be missing, because it authenticates the
    /// server.
    pub(crate) fn check_final(&mut self, token: &[u8]) -> Result<(), AuthError> {
        if !token.is_empty() || !matches!(self.state, State::Established(_)) {
            let response = Response::parse(token)?;
            reject_downgrade(&response)?;
            if let Some(state) = response.state.filter(|state| *state != ACCEPT_COMPLETED) {
                return Err(AuthError::State { state, expected: ACCEPT_COMPLETED });
            }
            self.receive(&response)?;
        }
        match self.state {
            State::Established(_) => Ok(()),
            _ => Err(AuthError::Malformed { what: "responseToken", len: token.len() }),
        }
    }

    /// Passes the server's answer to the library, and verifies its signature over the list of mechanisms. Returns what the
    /// library sends next, which is nothing for Kerberos.
    fn receive(&mut self, response: &Response<'_>) -> Result<Vec<u8>, AuthError> {
        let mut answer = Vec::new();
        if let Some(token) = response.token {
            self.state = match std::mem::replace(&mut self.state, State::Failed) {
                State::Initiated(mut initiator) => match initiator.step(token)? {
                    ContextStep::Continue(next) => {
                        answer = next;
                        State::Initiated(initiator)
                    }
                    ContextStep::Done(next) => {
                        answer = next;
                        State::Established(initiator.into_context()?)
                    }
                },
                // A second token after the last one has no meaning.
                _ => return Err(AuthError::Order { step: "the server's token" }),
            };
        }
        if let (State::Established(context), Some(mic)) = (&self.state, response.mic) {
            context.verify_mic(&spnego::kerberos_list(), mic).map_err(|_| AuthError::MechListMic)?;
        }
        Ok(answer)
    }

    /// The session key after the login.
    pub(crate) fn session_key(&self) -> Result<Vec<u8>, AuthError> {
        match &self.state {
            State::Established(context) => Ok(context.session_key()?),
            _ => Err(AuthError::Order { step: "the session key" }),
        }
    }
}

/// Rejects a server that chooses another mechanism than the requested one.
fn reject_downgrade(response: &Response<'_>) -> Result<(), AuthError> {
    match response.mechanism {
        None | Some(Mechanism::Kerberos) => Ok(()),
        Some(chosen) => Err(AuthError::Downgrade { chosen: chosen.name() }),
    }
}

impl std::fmt::Debug for KerberosLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KerberosLogin({})", self.service)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_chooses_another_mechanism_is_a_downgrade() {
        let chosen = |mechanism| reject_downgrade(&Response { mechanism, ..Response::default() });
        assert_eq!(chosen(None), Ok(()));
        assert_eq!(chosen(Some(Mechanism::Kerberos)), Ok(()));
        let error = chosen(Some(Mechanism::Ntlm)).unwrap_err();
        assert_eq!(error, AuthError::Downgrade { chosen: "NTLM" });
        assert!(error.to_string().contains("requires Kerberos"), "{error}");
    }
}
