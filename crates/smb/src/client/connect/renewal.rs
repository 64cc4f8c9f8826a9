//! The renewal of the login of a session that the server has let expire (MS-SMB2 3.2.5.1.6, 3.2.4.2.3.2).

use std::sync::Arc;
use std::task::{Context, Poll};

use sharebench_client_core::{DialError, connection_error};
use sharebench_model::OpError;
use sharebench_target::LocalBoxFuture;

use crate::auth::Mechanism;
use crate::client::channels::metadata_exchange::RenewalExchange;
use crate::client::connect::login::{MAX_ROUNDS, next_token, not_completed, setup_request, setup_response};
use crate::client::connect::login_method::LoginMethod;
use crate::client::negotiated::Negotiated;
use crate::client::options::{AuthMethod, SmbOptions};
use crate::status::NtStatus;
use crate::wire::header::Header;
use crate::wire::session_setup::flags;

/// What a renewal needs next.
pub(crate) enum Progress {
    /// The ticket or the reply of the server has not arrived.
    Waiting,
    /// A request is to be sent.
    Send,
    /// The server has accepted the login.
    Renewed,
    /// The session is lost.
    Failed(OpError),
}

/// A login on an existing session, with the account and the mechanism of the first one.
///
/// A server lets a session expire, with Kerberos at the end of the ticket. The client then repeats the login under the same
/// session id and sends the rejected requests again: open files, trees and the keys for signing and encryption stay (MS-SMB2
/// 3.3.5.5.3), so that the session key of the new login is not used. A new ticket comes from the user's cache, the keytab or
/// the password; a cache whose ticket is expired is the error of the session.
///
/// [`Channels`] drives it from its own poll, so that a renewal needs no task: [`Self::advance`] does what is possible
/// without waiting.
///
/// [`Channels`]: crate::client::channels::session_channels::Channels
pub(crate) struct Renewal {
    options: Arc<SmbOptions>,
    negotiated: Arc<Negotiated>,
    state: State,
}

enum State {
    /// No login is in progress.
    Idle,
    /// The mechanism begins; Kerberos requests a ticket.
    Preparing(LocalBoxFuture<'static, Result<LoginMethod, DialError>>),
    /// Tokens are exchanged; the number of requests that were sent.
    Exchanging(Box<LoginMethod>, usize),
}

impl Renewal {
    /// Renews logins as `options` state, with the mechanism that was negotiated.
    pub(crate) fn new(options: &SmbOptions, negotiated: &Negotiated) -> Self {
        // `auto` may have chosen either: another mechanism could be another account.
        let auth = match negotiated.mechanism {
            Some(Mechanism::Kerberos) => AuthMethod::Kerberos,
            _ => AuthMethod::Ntlm,
        };
        let options = Arc::new(SmbOptions { auth, ..options.clone() });
        Self { options, negotiated: Arc::new(negotiated.clone()), state: State::Idle }
    }

    /// True once a login is in progress.
    pub(crate) fn has_begun(&self) -> bool {
        !matches!(self.state, State::Idle)
    }

    /// Abandons a login in progress, because its channel is lost.
    pub(crate) fn begin_again(&mut self) {
        self.state = State::Idle;
    }

    /// Does what is possible without waiting. After [`Progress::Send`] the body of the next request is in `exchange`.
    pub(crate) fn advance(&mut self, cx: &mut Context<'_>, exchange: &mut RenewalExchange) -> Progress {
        let state = std::mem::replace(&mut self.state, State::Idle);
        let advanced = match state {
            State::Idle => {
                let options = Arc::clone(&self.options);
                let negotiated = Arc::clone(&self.negotiated);
                let begun = async move { LoginMethod::choose(&options, &negotiated).await };
                self.poll_method(cx, Box::pin(begun), exchange)
            }
            State::Preparing(method) => self.poll_method(cx, method, exchange),
            State::Exchanging(method, sent) => match exchange.reply.take() {
                None => {
                    self.state = State::Exchanging(method, sent);
                    Ok(Progress::Waiting)
                }
                Some(reply) => self.receive(method, sent, &reply, exchange),
            },
        };
        advanced.unwrap_or_else(|error| Progress::Failed(not_renewed(&error)))
    }

    fn poll_method(
        &mut self,
        cx: &mut Context<'_>,
        mut method: LocalBoxFuture<'static, Result<LoginMethod, DialError>>,
        exchange: &mut RenewalExchange,
    ) -> Result<Progress, DialError> {
        match method.as_mut().poll(cx) {
            Poll::Pending => {
                self.state = State::Preparing(method);
                Ok(Progress::Waiting)
            }
            Poll::Ready(method) => {
                let mut method = Box::new(method?);
                let token = method.first_token();
                self.send(method, 0, token, exchange)
            }
        }
    }

    fn receive(
        &mut self,
        mut method: Box<LoginMethod>,
        sent: usize,
        reply: &[u8],
        exchange: &mut RenewalExchange,
    ) -> Result<Progress, DialError> {
        let header = Header::decode(reply).map_err(DialError::protocol_violation)?;
        let response = setup_response(&header, reply)?;
        if let Some(token) = next_token(&self.negotiated, &mut method, &header, &response)? {
            return self.send(method, sent, token, exchange);
        }
        let guest = flags::IS_GUEST | flags::IS_NULL;
        if (response.flags ^ self.negotiated.session_flags) & guest != 0 {
            return Err(DialError::protocol_violation("the server renews it as another kind of user"));
        }
        Ok(Progress::Renewed)
    }

    fn send(
        &mut self,
        method: Box<LoginMethod>,
        sent: usize,
        token: Vec<u8>,
        exchange: &mut RenewalExchange,
    ) -> Result<Progress, DialError> {
        if sent == MAX_ROUNDS {
            return Err(not_completed());
        }
        exchange.reply = None;
        exchange.body.clear();
        setup_request(&self.negotiated, 0, token).encode(&mut exchange.body);
        self.state = State::Exchanging(method, sent + 1);
        Ok(Progress::Send)
    }
}

/// The error of a session whose login cannot be renewed.
#[cold]
fn not_renewed(error: &DialError) -> OpError {
    let status = NtStatus::NETWORK_SESSION_EXPIRED;
    connection_error::disconnected(format!(
        "the server states that the session is expired ({status}), and its login cannot be renewed: {}",
        error.detail
    ))
}

impl std::fmt::Debug for Renewal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.has_begun() { "Renewal(begun)" } else { "Renewal(idle)" })
    }
}
