//! The server's side of a login (MS-NLMP 3.2.5): a challenge, and the check of the response to it.

use std::time::{SystemTime, UNIX_EPOCH};

use sharebench_target::Secret;

use super::AuthError;
use super::hash::{hmac_md5, rc4};
use super::login::{EPOCH_DIFFERENCE, Exported};
use super::message::{self, ReceivedAuthenticate, flags};
use super::ntlmv2::{Side, password_key};
use super::spnego::{self, ClientToken, ServerMechanisms};
use super::target_info::{announces_mic, server_pairs};
use crate::wire::from_utf16;

/// Bytes of the proof at the start of an `NTLMv2` response, and of the shortest response with a client challenge.
const PROOF_LEN: usize = 16;
const MIN_RESPONSE_LEN: usize = PROOF_LEN + 28;

/// A login as a server accepts or rejects it, from the client's first token to the session key.
///
/// The steps are: [`Self::challenge`] with the first token, [`Self::receive`] with the second one, which returns the name
/// that the client claims, and [`ReceivedLogin::verify`] with the password of that account. The server looks up the
/// account and limits attempts between the last two steps, so that the value holds neither a password nor a table of
/// accounts. A client that sends plain NTLM instead of SPNEGO receives plain NTLM. A client that lists Kerberos first receives
/// the choice of NTLM, unless the server accepts its ticket ([`accept_ticket`](super::accept_ticket)), and a second call of
/// [`Self::challenge`] answers its next token.
pub struct NtlmAcceptor {
    name: String,
    /// The client's list of mechanisms, as it signed it; none in plain NTLM.
    mechanisms: Option<Vec<u8>>,
    negotiate: Vec<u8>,
    challenge: Vec<u8>,
    nonce: [u8; 8],
    /// NTLM was not the client's first mechanism, so that both sides have to sign the list (RFC 4178 5).
    mic_required: bool,
}

/// The second token of a client: who it claims to be, and the proof that it knows the password.
pub struct ReceivedLogin<'a> {
    acceptor: &'a NtlmAcceptor,
    message: Vec<u8>,
    mic: Option<[u8; 16]>,
    user: String,
    domain: String,
}

/// A verified login.
pub struct AcceptedLogin {
    /// The exported session key.
    pub session_key: [u8; 16],
    /// The token of the last response; empty if the client speaks plain NTLM.
    pub token: Vec<u8>,
}

/// Rejects whatever is not a correct proof, without a difference between an unknown account and a wrong password.
const REJECTED: AuthError = AuthError::Rejected;

impl NtlmAcceptor {
    /// A login to a server with this `NetBIOS` name.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            mechanisms: None,
            negotiate: Vec::new(),
            challenge: Vec::new(),
            nonce: [0; 8],
            mic_required: false,
        }
    }

    /// The token of a NEGOTIATE response, which lists the server's mechanisms.
    pub fn hint(mechanisms: ServerMechanisms) -> Vec<u8> {
        spnego::hint(mechanisms)
    }

    /// Answers a token of the client until it contained NTLM's NEGOTIATE message: with the challenge, or with the choice
    /// of NTLM if the client began with another mechanism.
    pub fn challenge(&mut self, token: &[u8]) -> Result<Vec<u8>, AuthError> {
        let (negotiate, bare) = match ClientToken::parse(token)? {
            ClientToken::Bare(message) => (Some(message), true),
            ClientToken::Init { mechanisms, ntlm_first, token } => {
                self.mechanisms = Some(mechanisms.to_vec());
                self.mic_required = !ntlm_first;
                // An optimistic token belongs to the client's first mechanism.
                (token.filter(|_| ntlm_first), false)
            }
            ClientToken::Response { token, .. } => (token, false),
        };
        let Some(negotiate) = negotiate else {
            let state = if self.mic_required { spnego::REQUEST_MIC } else { spnego::ACCEPT_INCOMPLETE };
            return Ok(spnego::answer(state, None, None));
        };
        aws_lc_rs::rand::fill(&mut self.nonce).map_err(|_| AuthError::Random)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let pairs = server_pairs(&self.name, EPOCH_DIFFERENCE + (since.as_nanos() / 100) as u64);
        self.challenge = message::challenge(negotiate, self.nonce, &self.name, &pairs)?;
        self.negotiate = negotiate.to_vec();
        Ok(if bare {
            self.challenge.clone()
        } else {
            spnego::answer(spnego::ACCEPT_INCOMPLETE, Some(&self.challenge), None)
        })
    }

    /// True once a challenge was sent, so that the next token is for [`Self::receive`].
    pub fn has_challenged(&self) -> bool {
        !self.challenge.is_empty()
    }

    /// Decodes the client's response to the challenge.
    pub fn receive(&self, token: &[u8]) -> Result<ReceivedLogin<'_>, AuthError> {
        if !self.has_challenged() {
            return Err(AuthError::Order { step: "the client's second token" });
        }
        let (message, mic) = match ClientToken::parse(token)? {
            ClientToken::Bare(message) => (message, None),
            ClientToken::Response { token: Some(message), mic } => (message, mic),
            _ => return Err(AuthError::Malformed { what: "responseToken", len: token.len() }),
        };
        let received = ReceivedAuthenticate::parse(message)?;
        let mic = mic.map(|mic| mic.first_chunk().copied().filter(|_| mic.len() == 16).ok_or(REJECTED));
        let unicode = message::challenge_flags(&self.challenge) & flags::UNICODE != 0;
        let text =
            |bytes| if unicode { from_utf16(bytes) } else { String::from_utf8_lossy(bytes).into_owned() };
        Ok(ReceivedLogin {
            acceptor: self,
            user: text(received.user),
            domain: text(received.domain),
            mic: mic.transpose()?,
            message: message.to_vec(),
        })
    }
}

impl ReceivedLogin<'_> {
    /// The name that the client claims; empty for an anonymous login.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The domain that the client claims.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// True for a login without a name and without a proof (MS-NLMP 3.2.5.1.2).
    pub fn is_anonymous(&self) -> bool {
        let received = ReceivedAuthenticate::parse(&self.message);
        self.user.is_empty() && received.is_ok_and(|received| received.nt.is_empty())
    }

    /// The last token of a login that needs no proof: of a guest or an anonymous user. Such a session has no key.
    pub fn accept_without_key(&self) -> Vec<u8> {
        match self.acceptor.mechanisms {
            Some(_) => spnego::answer(spnego::ACCEPT_COMPLETED, None, None),
            None => Vec::new(),
        }
    }

    /// Checks the proof, the MIC over all messages, and the signature over the list of mechanisms.
    pub fn verify(&self, password: &Secret) -> Result<AcceptedLogin, AuthError> {
        let received = ReceivedAuthenticate::parse(&self.message)?;
        if received.nt.len() < MIN_RESPONSE_LEN {
            return Err(REJECTED);
        }
        let (proof, blob) = received.nt.split_at(PROOF_LEN);
        let mut key = password_key(&self.user, &self.domain, &password.expose());
        let expected = hmac_md5(&key, &[&self.acceptor.nonce, blob]);
        equal(&expected, proof)?;
        let mut session_key = hmac_md5(&key, &[proof]);
        key.fill(0);
        std::hint::black_box(&key);
        let sent = received.flags & message::challenge_flags(&self.acceptor.challenge);
        if sent & flags::KEY_EXCHANGE != 0 {
            let mut sealed: [u8; 16] = received.session_key.try_into().map_err(|_| REJECTED)?;
            rc4(&session_key, &mut sealed);
            session_key = sealed;
        }
        if announces_mic(&blob[28..]) {
            self.verify_mic(&session_key)?;
        }
        let token = self.completed(&Exported { key: session_key, flags: sent })?;
        Ok(AcceptedLogin { session_key, token })
    }

    /// The MIC covers all three messages, which detects a change of the NTLM flags (MS-NLMP 3.2.5.1.2).
    fn verify_mic(&self, session_key: &[u8; 16]) -> Result<(), AuthError> {
        let mut message = self.message.clone();
        let received = message::take_mic(&mut message).ok_or(REJECTED)?;
        let pieces = [&self.acceptor.negotiate[..], &self.acceptor.challenge, &message];
        equal(&hmac_md5(session_key, &pieces), &received)
    }

    /// The last token, with the server's signature if the client sent one.
    fn completed(&self, exported: &Exported) -> Result<Vec<u8>, AuthError> {
        let Some(mechanisms) = &self.acceptor.mechanisms else { return Ok(Vec::new()) };
        let Some(received) = self.mic else {
            if self.acceptor.mic_required {
                return Err(AuthError::MechListMic);
            }
            return Ok(spnego::answer(spnego::ACCEPT_COMPLETED, None, None));
        };
        let expected = exported.sign_list(Side::Client, mechanisms).ok_or(AuthError::MechListMic)?;
        equal(&expected, &received).map_err(|_| AuthError::MechListMic)?;
        let mic = exported.sign_list(Side::Server, mechanisms);
        Ok(spnego::answer(spnego::ACCEPT_COMPLETED, None, mic.as_ref().map(|mic| &mic[..])))
    }
}

fn equal(expected: &[u8], received: &[u8]) -> Result<(), AuthError> {
    aws_lc_rs::constant_time::verify_slices_are_equal(expected, received).map_err(|_| REJECTED)
}

impl Drop for AcceptedLogin {
    fn drop(&mut self) {
        self.session_key.fill(0);
        // Keeps the compiler from removing the fill as a dead store.
        std::hint::black_box(&self.session_key);
    }
}
