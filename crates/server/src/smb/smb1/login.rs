//! `SESSION_SETUP_ANDX` and `LOGOFF_ANDX` (MS-SMB 3.3.5.3, MS-CIFS 3.3.5.44): the same logins as with SMB2.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sharebench_smb::crypto::SigningAlgorithm;
use sharebench_smb::nt1::message::{NO_ANDX, flags2, put_blocks, put_text};
use sharebench_smb::nt1::session::{GUEST, Logoff, SessionSetupRequest, SessionSetupResponse};
use sharebench_smb::{NtStatus, NtlmAcceptor};

use super::call::Smb1Call;
use super::state::{PendingLogin, User, close_files};
use crate::smb::options::Protection;
use crate::smb::session::call::CallResponse;
use crate::smb::session::established::{Origin, Session};
use crate::smb::session::login::{Accepted, LOGIN_BYTES, NETBIOS_NAME};
use crate::smb::status::Outcome;

/// What a session of SMB1 has instead of a dialect of SMB2. No connection of SMB2 has it, so that none can be added to the session.
const ORIGIN: Origin = Origin { dialect: 0, signing: SigningAlgorithm::HmacSha256, cipher: None };
/// Words of a request without extended security, which this server does not accept.
const WORDS: usize = 24;

impl Smb1Call<'_> {
    /// One message of a login.
    pub(super) fn log_in(&mut self, body: &mut Vec<u8>) -> Outcome<CallResponse> {
        if self.block.words.len() != WORDS {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let words: SessionSetupRequest = self.words()?;
        let token = self.block.bytes.get(..usize::from(words.token_len));
        let token = token.ok_or(NtStatus::INVALID_PARAMETER)?;
        self.state.note_client(words.max_buffer, words.capabilities);
        let (uid, renewed, mut acceptor) = self.continued()?;
        self.header.uid = uid;
        let end = |status| {
            self.forget(uid);
            status
        };
        let ticket = self.connection.accept_ticket(token).map_err(end)?;
        if ticket.is_none() && !acceptor.acceptor.has_challenged() {
            let challenge =
                acceptor.acceptor.challenge(token).map_err(|_| end(NtStatus::INVALID_PARAMETER))?;
            self.put_setup(0, &challenge, body);
            let user = match renewed {
                Some(session) => User::Session(session, Some(acceptor)),
                None => User::Login(acceptor),
            };
            self.state.table().users.set(uid, user);
            return Ok(CallResponse::Complete(NtStatus::MORE_PROCESSING_REQUIRED));
        }
        let accepted = if let Some(accepted) = ticket {
            accepted
        } else {
            let received = acceptor.acceptor.receive(token).map_err(|_| end(NtStatus::INVALID_PARAMETER))?;
            self.connection.accept(&received).map_err(end)?
        };
        let session = match renewed {
            // Another account would own what the first one has opened.
            Some(session) if session.account != accepted.account => return Err(end(NtStatus::ACCESS_DENIED)),
            Some(session) => session,
            None => {
                let id = self.server.new_session_id();
                let session = Session::new(id, accepted.account.clone(), ORIGIN, &self.connection.budget)?;
                // For breaks of oplocks.
                session.add_channel(self.connection.number, self.connection.events.clone())?;
                Arc::new(session)
            }
        };
        let activates_signing = self.activate_signing(&accepted).map_err(end)?;
        let lifetime = accepted.lifetime.map(|lifetime| self.server.now() + lifetime);
        session.expiry.set(lifetime, self.server.requests_per_login.load(Ordering::Relaxed));
        self.state.table().users.set(uid, User::Session(session, None));
        self.activates_signing = activates_signing;
        self.connection.admission.establish();
        let action = if accepted.key.is_none() { GUEST } else { 0 };
        self.put_setup(action, &accepted.token, body);
        Ok(CallResponse::Complete(NtStatus::SUCCESS))
    }

    /// The user that a message continues to log in, with its session if the login renews it, or a new one.
    fn continued(&self) -> Outcome<(u16, Option<Arc<Session>>, Box<PendingLogin>)> {
        let new = || {
            let bytes = size_of::<PendingLogin>() + LOGIN_BYTES;
            let charge = self.connection.budget.charge(bytes);
            let charge = charge.ok_or(NtStatus::INSUFFICIENT_RESOURCES)?;
            Outcome::Ok(Box::new(PendingLogin { acceptor: NtlmAcceptor::new(NETBIOS_NAME), _charge: charge }))
        };
        let mut table = self.state.table();
        let uid = self.header.uid;
        match table.users.remove(uid) {
            Some(User::Login(acceptor)) => {
                // The number stays taken while the login is being checked.
                table.users.set(uid, User::Login(new()?));
                Ok((uid, None, acceptor))
            }
            Some(User::Session(session, acceptor)) => {
                table.users.set(uid, User::Session(Arc::clone(&session), None));
                Ok((uid, Some(session), acceptor.map_or_else(new, Ok)?))
            }
            None => Ok((table.add_user(User::Login(new()?))?, None, new()?)),
        }
    }

    /// Ends a login that failed, and the session that it would have renewed.
    fn forget(&self, uid: u16) {
        let files = self.state.table().remove_user(uid);
        close_files(self.server, files);
    }

    /// Signs everything from this login on if the client or the server wants it; true if this login is the first that does.
    fn activate_signing(&self, accepted: &Accepted) -> Outcome<bool> {
        let protection = self.server.options.protection;
        if protection == Protection::Encrypted {
            return Err(NtStatus::ACCESS_DENIED);
        }
        let wanted = self.header.flags2 & (flags2::SECURITY_SIGNATURE | flags2::SIGNATURE_REQUIRED) != 0;
        if let Some(key) = &accepted.key
            && (wanted || protection == Protection::Signed)
        {
            return Ok(self.state.signatures.sign_with(key));
        }
        Ok(false)
    }

    fn put_setup(&self, action: u16, token: &[u8], body: &mut Vec<u8>) {
        let words = SessionSetupResponse { andx: NO_ANDX, action, token_len: token.len() as u16 };
        let unicode = self.is_unicode();
        put_blocks(&words, body, |bytes| {
            bytes.extend_from_slice(token);
            for text in ["Unix", "sharebench"] {
                // The block starts at a multiple of four bytes, so that its start decides on padding as the message's does.
                put_reply_text(text, unicode, bytes);
            }
        });
    }

    /// `LOGOFF_ANDX`, which closes the files of the user.
    pub(super) fn log_off(&self, body: &mut Vec<u8>) {
        self.forget(self.header.uid);
        put_blocks(&Logoff { andx: NO_ANDX }, body, |_| {});
    }
}

/// Appends text that ends with NUL. `block` starts with the block of a command, at an even offset of its message.
pub(super) fn put_reply_text(text: &str, unicode: bool, block: &mut Vec<u8>) {
    if unicode {
        put_text(text, 0, block);
    } else {
        block.extend_from_slice(text.as_bytes());
        block.push(0);
    }
}
