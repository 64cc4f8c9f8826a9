//! `SESSION_SETUP`: logins with `NTLMv2`, as a guest and anonymously (MS-SMB2 3.3.5.5).

use std::sync::{Arc, PoisonError};

use sharebench_ncp::server::LoginSource;
use sharebench_smb::crypto::{PreauthHash, SealingKey, SessionKeys, SigningKey};
use sharebench_smb::wire::HEADER_LEN;
use sharebench_smb::wire::header::Header;
use sharebench_smb::wire::session_setup::{BINDING, SessionSetupRequest, SessionSetupResponse, flags};
use sharebench_smb::{NtStatus, NtlmAcceptor, ReceivedLogin};

use crate::name::fold_case;
use crate::smb::connection::{Answer, Connection, Reply, SessionSlot};
use crate::smb::negotiate::{Negotiated, SIGNING_REQUIRED};
use crate::smb::options::Protection;
use crate::smb::session::{Sealing, Session};
use crate::smb::status::{Outcome, malformed};

/// Name of the server in challenges.
const NETBIOS_NAME: &str = "SHAREBENCH";
/// Maximum number of sessions of a connection, with those that are logging in.
const MAX_SESSIONS: usize = 1024;

/// A login between its first and its last message.
pub(super) struct Login {
    acceptor: NtlmAcceptor,
    hash: PreauthHash,
}

/// A login that was accepted.
pub(super) struct Accepted {
    pub(super) account: String,
    pub(super) flags: u16,
    /// None for guests and anonymous users.
    pub(super) key: Option<Vec<u8>>,
    pub(super) token: Vec<u8>,
}

impl Connection {
    /// One message of a login.
    pub(super) fn log_in(
        &self,
        message: &[u8],
        header: &Header,
        reply: &mut Reply,
        body: &mut Vec<u8>,
    ) -> Outcome<Answer> {
        let Some(negotiated) = self.negotiated.get() else { return Ok(Answer::Never) };
        let request = SessionSetupRequest::decode(message).map_err(malformed)?;
        if request.flags & BINDING != 0 {
            return Err(NtStatus::REQUEST_NOT_ACCEPTED);
        }
        let (id, mut login) = self.login(header.session_id)?;
        reply.header.session_id = id;
        login.hash.update(message);
        body.resize(HEADER_LEN, 0);
        let ticket = self.accept_ticket(&request.token)?;
        if ticket.is_none() && !login.acceptor.has_challenged() {
            let token = login.acceptor.challenge(&request.token).map_err(|_| NtStatus::LOGON_FAILURE)?;
            SessionSetupResponse { flags: 0, token }.encode(body);
            self.sessions().insert(id, SessionSlot::Login(login));
            return Ok(Answer::Now(NtStatus::MORE_PROCESSING_REQUIRED));
        }
        let accepted = if let Some(accepted) = ticket {
            accepted
        } else {
            let received = login.acceptor.receive(&request.token).map_err(|_| NtStatus::LOGON_FAILURE)?;
            self.accept(&received)?
        };
        let (session, session_flags) = self.session_of(id, &accepted, negotiated, &request, &login.hash)?;
        let session = Arc::new(session);
        SessionSetupResponse { flags: session_flags, token: accepted.token.clone() }.encode(body);
        self.sessions().insert(id, SessionSlot::Established(Arc::clone(&session)));
        if let Some(replaced) = self.server.add_session(&session, request.previous_session) {
            self.server.close_session(&replaced);
        }
        self.admission.establish();
        reply.signer = Some(session);
        Ok(Answer::Now(NtStatus::SUCCESS))
    }

    /// The login that a message continues, or a new one. It is taken out of the table, so that only one message at a time
    /// continues it.
    fn login(&self, id: u64) -> Outcome<(u64, Box<Login>)> {
        let mut sessions = self.sessions();
        if id == 0 {
            if sessions.len() >= MAX_SESSIONS {
                return Err(NtStatus::INSUFFICIENT_RESOURCES);
            }
            let hash = self.preauth.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let login = Login { acceptor: NtlmAcceptor::new(NETBIOS_NAME), hash };
            return Ok((self.server.new_id(), Box::new(login)));
        }
        match sessions.remove(&id) {
            Some(SessionSlot::Login(login)) => Ok((id, login)),
            Some(established) => {
                sessions.insert(id, established);
                Err(NtStatus::REQUEST_NOT_ACCEPTED)
            }
            None => Err(NtStatus::USER_SESSION_DELETED),
        }
    }

    /// Adds the challenge to the hash of its login.
    pub(super) fn hash_challenge(&self, id: u64, response: &[u8]) {
        if let Some(SessionSlot::Login(login)) = self.sessions().get_mut(&id) {
            login.hash.update(response);
        }
    }

    /// Decides on a login, and logs a failure.
    fn accept(&self, received: &ReceivedLogin<'_>) -> Outcome<Accepted> {
        let options = &self.server.options;
        if !options.has_accounts() {
            // Everybody may log in: there is no password to check, and no key.
            let flags = if received.is_anonymous() { flags::IS_NULL } else { flags::IS_GUEST };
            let token = received.accept_without_key();
            return Ok(Accepted { account: String::new(), flags, key: None, token });
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
        Ok(Accepted { account: folded, flags: 0, key: Some(accepted.session_key.to_vec()), token })
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
        let mut session = Session::new(id, accepted.account.clone());
        let Some(key) = &accepted.key else { return Ok((session, accepted.flags)) };
        let protection = self.server.options.protection;
        let preauth = hash.value();
        let preauth = (negotiated.dialect == 0x0311).then_some(&preauth);
        let keys = SessionKeys::derive(negotiated.dialect, key, preauth, negotiated.cipher);
        let internal = |_| NtStatus::UNSUCCESSFUL;
        session.signing = Some(SigningKey::new(negotiated.signing, &keys.signing).map_err(internal)?);
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
