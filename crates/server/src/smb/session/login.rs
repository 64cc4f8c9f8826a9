//! `SESSION_SETUP`: logins with `NTLMv2`, as a guest and anonymously (MS-SMB2 3.3.5.5).

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use sharebench_smb::crypto::{PreauthHash, SealingKey, SessionKeys, SigningAlgorithm, SigningKey};
use sharebench_smb::wire::HEADER_LEN;
use sharebench_smb::wire::header::flags as header_flags;
use sharebench_smb::wire::session_setup::{BINDING, SessionSetupRequest, SessionSetupResponse, flags};
use sharebench_smb::{NtStatus, NtlmAcceptor, ReceivedLogin};

use crate::front_ends::login_throttle::LoginSource;
use crate::smb::options::Protection;
use crate::smb::session::call::CallResponse;
use crate::smb::session::channel::Channel;
use crate::smb::session::connection::{Connection, Login, SessionSlot};
use crate::smb::session::established::{Origin, Sealing, Session};
use crate::smb::session::negotiated::{Negotiated, SIGNING_REQUIRED};
use crate::smb::session::responses::Reply;
use crate::smb::status::{Outcome, malformed};
use crate::volume::name::fold_case;

/// Name of the server in challenges.
pub(crate) const NETBIOS_NAME: &str = "SHAREBENCH";
/// Maximum number of sessions of a connection, with those that are logging in.
const MAX_SESSIONS: usize = 1024;

/// Bytes of a login that has begun besides the login itself.
pub(crate) const LOGIN_BYTES: usize = 512;

/// A login that was accepted.
pub(crate) struct Accepted {
    pub(crate) account: String,
    pub(crate) flags: u16,
    /// None for guests and anonymous users.
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) token: Vec<u8>,
    /// Time until the session expires, if it does.
    pub(crate) lifetime: Option<Duration>,
}

impl Connection {
    /// One message of a login (MS-SMB2 3.3.5.5).
    pub(crate) fn log_in(
        self: &Arc<Self>,
        message: &mut [u8],
        reply: &mut Reply,
        body: &mut Vec<u8>,
    ) -> Outcome<CallResponse> {
        let Some(negotiated) = self.negotiated.get() else { return Ok(CallResponse::Disconnect) };
        let request = SessionSetupRequest::decode(message).map_err(malformed)?;
        let (id, mut login) = self.continued(message, &request, negotiated, reply)?;
        reply.header.session_id = id;
        body.resize(HEADER_LEN, 0);
        let ticket = self.accept_ticket(&request.token).inspect_err(|_| self.end_renewed(id, &login))?;
        if ticket.is_none() && !login.acceptor.has_challenged() {
            let token = login.acceptor.challenge(&request.token).map_err(|_| self.failed(id, &login))?;
            SessionSetupResponse { flags: 0, token }.encode(body);
            self.keep(id, login);
            return Ok(CallResponse::Complete(NtStatus::MORE_PROCESSING_REQUIRED));
        }
        let accepted = if let Some(accepted) = ticket {
            accepted
        } else {
            let received = login.acceptor.receive(&request.token).map_err(|_| self.failed(id, &login))?;
            if let Some(channel) = self.channel(id).ok().filter(|_| login.binding.is_none())
                && received.is_anonymous()
                && !channel.session.is_guest()
            {
                return self.renew_without_name(
                    channel,
                    received.accept_without_key(),
                    &request,
                    reply,
                    body,
                );
            }
            self.accept(&received).inspect_err(|_| self.end_renewed(id, &login))?
        };
        let renewed = self.channel(id).ok();
        let (channel, session_flags) = match (&login.binding, renewed) {
            (Some(session), _) => (Self::bound(session, &accepted, negotiated, &login.hash)?, 0),
            (None, Some(channel)) => (self.renewed(&channel, &accepted)?, accepted.flags),
            (None, None) => {
                let (session, flags) = self.session_of(id, &accepted, negotiated, &request, &login.hash)?;
                let session = Arc::new(session);
                (Channel::of_session(&session), flags)
            }
        };
        // A further connection does not prolong a session.
        if login.binding.is_none() {
            let end = accepted.lifetime.map(|lifetime| self.server.now() + lifetime);
            let requests = self.server.requests_per_login.load(Ordering::Relaxed);
            channel.session.expiry.set(end, requests);
            channel.session.anonymous.store(false, Ordering::Relaxed);
        }
        SessionSetupResponse { flags: session_flags, token: accepted.token.clone() }.encode(body);
        self.establish(channel, &request, reply)?;
        Ok(CallResponse::Complete(NtStatus::SUCCESS))
    }

    /// Renews the login of a session without a name, which neither needs a proof nor prolongs the session.
    fn renew_without_name(
        &self,
        channel: Arc<Channel>,
        token: Vec<u8>,
        request: &SessionSetupRequest,
        reply: &mut Reply,
        body: &mut Vec<u8>,
    ) -> Outcome<CallResponse> {
        channel.session.anonymous.store(true, Ordering::Relaxed);
        SessionSetupResponse { flags: flags::IS_NULL, token }.encode(body);
        self.establish(channel, request, reply)?;
        Ok(CallResponse::Complete(NtStatus::SUCCESS))
    }

    /// Records the channel of a login that is complete; the reply is signed with its key.
    fn establish(
        &self,
        channel: Arc<Channel>,
        request: &SessionSetupRequest,
        reply: &mut Reply,
    ) -> Outcome<()> {
        let session = &channel.session;
        let known = SessionSlot::Established(Arc::clone(&channel), None);
        let before = self.sessions().insert(session.id, known);
        if !matches!(before, Some(SessionSlot::Established(..))) {
            session.add_channel(self.number, self.events.clone()).inspect_err(|_| {
                self.sessions().remove(&session.id);
            })?;
        }
        if let Some(replaced) = self.server.add_session(session, request.previous_session) {
            self.server.lose_session(&replaced);
        }
        self.admission.establish();
        reply.signer = Some(channel);
        Ok(())
    }

    /// The login that a message continues, or a new one, after the checks that concern its session. It is taken out of
    /// the table, so that only one message at a time continues it.
    fn continued(
        &self,
        message: &mut [u8],
        request: &SessionSetupRequest,
        negotiated: &Negotiated,
        reply: &mut Reply,
    ) -> Outcome<(u64, Box<Login>)> {
        let id = reply.header.session_id;
        let binds = request.flags & BINDING != 0;
        if id == 0 {
            if binds {
                return Err(NtStatus::INVALID_PARAMETER);
            }
            return Ok((self.server.new_session_id(), self.new_login(message, None)?));
        }
        let mut sessions = self.sessions();
        match sessions.remove(&id) {
            Some(SessionSlot::Login(mut login)) => {
                drop(sessions);
                login.hash.update(message);
                if let Some(session) = &login.binding {
                    verify(message, &Channel::of_session(session), reply)?;
                }
                Ok((id, login))
            }
            Some(SessionSlot::Established(channel, login)) => {
                let kept = SessionSlot::Established(Arc::clone(&channel), None);
                sessions.insert(id, kept);
                drop(sessions);
                verify(message, &channel, reply)?;
                if binds {
                    return Err(NtStatus::REQUEST_NOT_ACCEPTED);
                }
                let login = login.map_or_else(|| self.new_login(message, None), Ok)?;
                Ok((id, login))
            }
            None => {
                drop(sessions);
                let session = self.server.session(id).ok_or(NtStatus::USER_SESSION_DELETED)?;
                let login = self.new_login(message, Some(&session))?;
                let signed = reply.header.is(header_flags::SIGNED);
                if signed {
                    verify(message, &Channel::of_session(&session), reply)?;
                }
                if !binds {
                    return Err(NtStatus::USER_SESSION_DELETED);
                }
                check_binding(&session, negotiated, signed)?;
                Ok((id, login))
            }
        }
    }

    fn new_login(&self, message: &[u8], binding: Option<&Arc<Session>>) -> Outcome<Box<Login>> {
        if self.sessions().len() >= MAX_SESSIONS {
            return Err(NtStatus::INSUFFICIENT_RESOURCES);
        }
        let bytes = size_of::<Login>() + LOGIN_BYTES;
        let charge = self.budget.charge(bytes).ok_or(NtStatus::INSUFFICIENT_RESOURCES)?;
        let mut hash = self.preauth.lock().unwrap_or_else(PoisonError::into_inner).clone();
        hash.update(message);
        Ok(Box::new(Login {
            acceptor: NtlmAcceptor::new(NETBIOS_NAME),
            hash,
            binding: binding.cloned(),
            _charge: charge,
        }))
    }

    /// Keeps a login until its next message. A session stays usable while it is renewed.
    fn keep(&self, id: u64, login: Box<Login>) {
        let mut sessions = self.sessions();
        let slot = match sessions.remove(&id) {
            Some(SessionSlot::Established(channel, _)) => SessionSlot::Established(channel, Some(login)),
            _ => SessionSlot::Login(login),
        };
        sessions.insert(id, slot);
    }

    /// The status of a login whose message is malformed. A session that it would have renewed ends (MS-SMB2 3.3.5.5.3).
    fn failed(&self, id: u64, login: &Login) -> NtStatus {
        self.end_renewed(id, login);
        NtStatus::INVALID_PARAMETER
    }

    fn end_renewed(&self, id: u64, login: &Login) {
        if login.binding.is_none()
            && let Ok(channel) = self.channel(id)
        {
            self.log_off(&channel.session);
        }
    }

    /// The channel of a login that adds this connection to a session.
    fn bound(
        session: &Arc<Session>,
        accepted: &Accepted,
        negotiated: &Negotiated,
        hash: &PreauthHash,
    ) -> Outcome<Arc<Channel>> {
        if accepted.account != session.account {
            return Err(NtStatus::ACCESS_DENIED);
        }
        let key = accepted.key.as_ref().ok_or(NtStatus::NOT_SUPPORTED)?;
        let preauth = hash.value();
        let preauth = (negotiated.dialect == 0x0311).then_some(&preauth);
        let keys = SessionKeys::derive(negotiated.dialect, key, preauth, negotiated.cipher);
        let signing =
            SigningKey::new(negotiated.signing, &keys.signing).map_err(|_| NtStatus::UNSUCCESSFUL)?;
        Ok(Arc::new(Channel::new(Arc::clone(session), Some(Arc::new(signing)))))
    }

    /// The channel of a login that renews its session, whose keys stay. Another account would own what the first one has
    /// opened.
    fn renewed(&self, channel: &Arc<Channel>, accepted: &Accepted) -> Outcome<Arc<Channel>> {
        if accepted.account != channel.session.account {
            self.log_off(&channel.session);
            return Err(NtStatus::ACCESS_DENIED);
        }
        Ok(Arc::clone(channel))
    }

    /// Adds the challenge to the hash of its login.
    pub(crate) fn hash_challenge(&self, id: u64, response: &[u8]) {
        if let Some(SessionSlot::Login(login)) = self.sessions().get_mut(&id) {
            login.hash.update(response);
        }
    }

    /// Decides on a login, and logs a failure.
    pub(crate) fn accept(&self, received: &ReceivedLogin<'_>) -> Outcome<Accepted> {
        let options = &self.server.options;
        if !options.has_accounts() {
            // Everybody may log in: there is no password to check, and no key.
            let flags = if received.is_anonymous() { flags::IS_NULL } else { flags::IS_GUEST };
            let token = received.accept_without_key();
            return Ok(Accepted { account: String::new(), flags, key: None, token, lifetime: None });
        }
        let name = received.user();
        let source = LoginSource::Ip(self.remote);
        let now = self.server.now();
        let throttle = &self.server.throttle;
        if throttle.is_delayed(source, name.as_bytes(), now) {
            // Once per delay, so that a client that does not stop fills no log.
            if throttle.note_rejection(source, name.as_bytes(), now) {
                options.log.write(&format!(
                    "smb: rejected login of {name:?} from {source}: too many failed logins before it"
                ));
            }
            return Err(NtStatus::ACCOUNT_LOCKED_OUT);
        }
        let folded = fold_case(name);
        let account = options.accounts.iter().find(|(account, _)| fold_case(account) == folded);
        let verified = account.and_then(|(_, password)| received.verify(password).ok());
        let Some(accepted) = verified else {
            throttle.note_failure(source, name.as_bytes(), now);
            options.log.write(&format!("smb: failed login of {name:?} from {source}"));
            return Err(NtStatus::LOGON_FAILURE);
        };
        throttle.note_success(source, name.as_bytes());
        let token = accepted.token.clone();
        let key = Some(accepted.session_key.to_vec());
        Ok(Accepted { account: folded, flags: 0, key, token, lifetime: None })
    }

    /// The session of an accepted login, and its flags.
    fn session_of(
        &self,
        id: u64,
        accepted: &Accepted,
        negotiated: &Negotiated,
        request: &SessionSetupRequest,
        hash: &PreauthHash,
    ) -> Outcome<(Session, u16)> {
        let origin =
            Origin { dialect: negotiated.dialect, signing: negotiated.signing, cipher: negotiated.cipher };
        let mut session = Session::new(id, accepted.account.clone(), origin, &self.budget)?;
        let Some(key) = &accepted.key else { return Ok((session, accepted.flags)) };
        let protection = self.server.options.protection;
        let preauth = hash.value();
        let preauth = (negotiated.dialect == 0x0311).then_some(&preauth);
        let keys = SessionKeys::derive(negotiated.dialect, key, preauth, negotiated.cipher);
        let internal = |_| NtStatus::UNSUCCESSFUL;
        let signing = SigningKey::new(negotiated.signing, &keys.signing).map_err(internal)?;
        session.signing = Some(Arc::new(signing));
        session.requires_signing = protection == Protection::Signed
            || u16::from(request.security_mode) & SIGNING_REQUIRED != 0
            || negotiated.client_requires_signing();
        if let Some(cipher) = negotiated.cipher {
            session.sealing = Some(Sealing {
                to_server: SealingKey::new(cipher, &keys.to_server).map_err(internal)?,
                to_client: SealingKey::new(cipher, &keys.to_client).map_err(internal)?,
            });
        }
        session.requires_sealing = protection == Protection::Encrypted;
        if session.requires_sealing && session.sealing.is_none() {
            return Err(NtStatus::ACCESS_DENIED);
        }
        let flags = if session.requires_sealing { flags::ENCRYPT_DATA } else { 0 };
        Ok((session, flags))
    }
}

impl Drop for Accepted {
    fn drop(&mut self) {
        if let Some(key) = &mut self.key {
            key.fill(0);
            // Keeps the compiler from removing the fill as a dead store.
            std::hint::black_box(&*key);
        }
    }
}

/// Verifies the signature of a message of a login that concerns an established session, whose reply is signed as well.
fn verify(message: &mut [u8], channel: &Arc<Channel>, reply: &mut Reply) -> Outcome<()> {
    let signed = reply.header.is(header_flags::SIGNED);
    if signed {
        reply.signer = Some(Arc::clone(channel));
    }
    let protected = match channel.can_sign() {
        true if signed => channel.verify(message),
        true => !channel.session.requires_signing,
        false => true,
    };
    if protected { Ok(()) } else { Err(NtStatus::ACCESS_DENIED) }
}

/// Checks that a connection may be added to a session (MS-SMB2 3.3.5.5). The order is that of Windows.
fn check_binding(session: &Session, negotiated: &Negotiated, signed: bool) -> Outcome<()> {
    let origin = session.origin;
    let gmac = SigningAlgorithm::AesGmac;
    if origin.signing == gmac && negotiated.signing != gmac {
        return Err(NtStatus::REQUEST_OUT_OF_SEQUENCE);
    }
    if negotiated.signing == gmac && origin.signing != gmac {
        return Err(NtStatus::NOT_SUPPORTED);
    }
    if negotiated.dialect < 0x0300 {
        return Err(NtStatus::REQUEST_NOT_ACCEPTED);
    }
    if !signed || origin.dialect != negotiated.dialect || origin.cipher != negotiated.cipher {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    if session.is_guest() {
        return Err(NtStatus::NOT_SUPPORTED);
    }
    Ok(())
}
