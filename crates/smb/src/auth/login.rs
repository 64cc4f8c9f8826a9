//! One login, token by token (MS-NLMP 3.1.5.1).

use std::time::{SystemTime, UNIX_EPOCH};

use sharebench_target::Secret;

use super::AuthError;
use super::hash::{hmac_md5, rc4};
use super::message::{self, Authenticate, Challenge, flags};
use super::ntlmv2::{ChallengeResponse, Side, first_signature, password_key};
use super::spnego::{self, ACCEPT_COMPLETED, ACCEPT_INCOMPLETE, REQUEST_MIC, Response};
use super::target_info::TargetInfo;
use crate::wire::utf16;

/// 100 ns between 1601 and 1970.
pub(crate) const EPOCH_DIFFERENCE: u64 = 116_444_736_000_000_000;

/// A login, from the first token to the session key.
///
/// The steps are: [`Self::first_token`], [`Self::second_token`] with the server's challenge, [`Self::check_final`] with
/// its last token; a call out of order is an error. The password itself is not kept, only the key derived from it. Keys
/// are overwritten when the value is dropped.
pub(crate) struct NtlmLogin {
    /// None for an anonymous login.
    pub(super) identity: Option<Identity>,
    pub(super) workstation: Vec<u8>,
    pub(super) step: NtlmState,
}

pub(super) struct Identity {
    pub(super) user: Vec<u8>,
    pub(super) domain: Vec<u8>,
    pub(super) password_key: [u8; 16],
}

pub(super) enum NtlmState {
    Fresh,
    /// The NEGOTIATE message is sent.
    Negotiated(Vec<u8>),
    /// The AUTHENTICATE message is sent.
    Answered(Option<Exported>),
}

/// The session key, and the flags that determine how it signs.
pub(super) struct Exported {
    pub(super) key: [u8; 16],
    pub(super) flags: u32,
}

/// Values that must differ between logins.
pub(super) struct Fresh {
    pub(super) client_challenge: [u8; 8],
    pub(super) session_key: [u8; 16],
    /// 100 ns since 1601.
    pub(super) now: u64,
}

impl NtlmLogin {
    /// A login with a password. An empty domain lets the server choose.
    pub(crate) fn new(user: &str, domain: &str, password: &Secret, workstation: &str) -> Self {
        let identity = Identity {
            user: utf16(user),
            domain: utf16(domain),
            password_key: password_key(user, domain, &password.expose()),
        };
        Self { identity: Some(identity), workstation: utf16(workstation), step: NtlmState::Fresh }
    }

    /// A login without a user name, which has no session key.
    pub(crate) fn anonymous() -> Self {
        Self { identity: None, workstation: Vec::new(), step: NtlmState::Fresh }
    }

    /// The token of the first `SESSION_SETUP`. Calling it again restarts the login.
    pub(crate) fn first_token(&mut self) -> Vec<u8> {
        let negotiate = message::negotiate();
        let token = spnego::init(&spnego::mech_list(), &negotiate);
        self.step = NtlmState::Negotiated(negotiate);
        token
    }

    /// The token of the second `SESSION_SETUP`: the response to the server's challenge.
    ///
    /// A server that answers with plain NTLM instead of SPNEGO receives plain NTLM.
    pub(crate) fn second_token(&mut self, server_token: &[u8]) -> Result<Vec<u8>, AuthError> {
        let mut fresh = Fresh { client_challenge: [0; 8], session_key: [0; 16], now: now() };
        aws_lc_rs::rand::fill(&mut fresh.client_challenge).map_err(|_| AuthError::Random)?;
        aws_lc_rs::rand::fill(&mut fresh.session_key).map_err(|_| AuthError::Random)?;
        self.answer(server_token, &fresh)
    }

    pub(super) fn answer(&mut self, server_token: &[u8], fresh: &Fresh) -> Result<Vec<u8>, AuthError> {
        let NtlmState::Negotiated(negotiate) = &self.step else {
            return Err(AuthError::Order { step: "the second token" });
        };
        let bare = server_token.starts_with(&message::SIGNATURE);
        let challenge_bytes = if bare { server_token } else { incomplete(server_token)? };
        let challenge = Challenge::parse(challenge_bytes)?;
        let (authenticate, exported) = match &self.identity {
            None => (anonymous(&challenge), None),
            Some(identity) => {
                let to_come = Identified { identity, workstation: &self.workstation };
                let (message, key) = to_come.authenticate(&challenge, fresh, [negotiate, challenge_bytes])?;
                (message, Some(Exported { key, flags: challenge.flags }))
            }
        };
        let mic = exported.as_ref().and_then(|exported| exported.sign(Side::Client));
        self.step = NtlmState::Answered(exported);
        Ok(if bare {
            authenticate
        } else {
            spnego::response(Some(&authenticate), mic.as_ref().map(|mic| &mic[..]))
        })
    }

    /// Checks the token of the server's last response, which may be empty.
    pub(crate) fn check_final(&mut self, token: &[u8]) -> Result<(), AuthError> {
        let NtlmState::Answered(exported) = &self.step else {
            return Err(AuthError::Order { step: "the server's last token" });
        };
        // Some servers send no token with their last response; SMB's own signature protects it.
        if token.is_empty() {
            return Ok(());
        }
        let response = Response::for_ntlm(token)?;
        expect_state(response.state, ACCEPT_COMPLETED)?;
        let expected = exported.as_ref().and_then(|exported| exported.sign(Side::Server));
        match (response.mic, expected) {
            (Some(mic), Some(expected)) => aws_lc_rs::constant_time::verify_slices_are_equal(mic, &expected)
                .map_err(|_| AuthError::MechListMic),
            _ => Ok(()),
        }
    }

    /// The exported session key after the second token; none for an anonymous login.
    pub(crate) fn session_key(&self) -> Option<[u8; 16]> {
        match &self.step {
            NtlmState::Answered(Some(exported)) => Some(exported.key),
            _ => None,
        }
    }
}

/// The identity that responds to a challenge.
struct Identified<'a> {
    identity: &'a Identity,
    workstation: &'a [u8],
}

impl Identified<'_> {
    /// The AUTHENTICATE message (MS-NLMP 3.1.5.1.2) and the session key; `before` are the messages so far.
    fn authenticate(
        &self,
        challenge: &Challenge,
        fresh: &Fresh,
        before: [&[u8]; 2],
    ) -> Result<(Vec<u8>, [u8; 16]), AuthError> {
        let info = TargetInfo::parse(&challenge.target_info)?;
        let answer = ChallengeResponse::new(
            &self.identity.password_key,
            challenge.nonce,
            fresh.client_challenge,
            // The server's own time, if it sends one (MS-NLMP 3.1.5.1.2), because the clocks of client and
            // server need not agree.
            info.time.unwrap_or(fresh.now),
            &info.bytes,
        );
        // With key exchange the client chooses the session key and sends it encrypted.
        let exchange = challenge.flags & flags::KEY_EXCHANGE != 0;
        let mut sealed = fresh.session_key;
        rc4(&answer.session_key, &mut sealed);
        let mut message = Authenticate {
            flags: challenge.flags,
            // A server that sends its time must not receive the weaker LM response (MS-NLMP 3.1.5.1.2).
            lm: if info.time.is_some() { &[0; 24] } else { &answer.lm },
            nt: &answer.nt,
            domain: &self.identity.domain,
            user: &self.identity.user,
            workstation: self.workstation,
            session_key: if exchange { &sealed } else { &[] },
        }
        .encode();
        let key = if exchange { fresh.session_key } else { answer.session_key };
        // The MIC covers all three messages, which detects a downgrade of the NTLM flags.
        if info.time.is_some() {
            let mic = hmac_md5(&key, &[before[0], before[1], &message]);
            message::set_mic(&mut message, &mic);
        }
        Ok((message, key))
    }
}

impl Exported {
    /// The signature over the mechanism list, if signing was negotiated.
    fn sign(&self, side: Side) -> Option<[u8; 16]> {
        self.sign_list(side, &spnego::mech_list())
    }

    /// As [`Self::sign`], over the list of another client.
    pub(super) fn sign_list(&self, side: Side, list: &[u8]) -> Option<[u8; 16]> {
        let signs = self.flags & flags::SIGN != 0;
        signs.then(|| first_signature(&self.key, self.flags, side, list))
    }
}

/// The AUTHENTICATE message of an anonymous login (MS-NLMP 3.2.5.1.2).
fn anonymous(challenge: &Challenge) -> Vec<u8> {
    let unused = flags::KEY_EXCHANGE | flags::SIGN | flags::ALWAYS_SIGN;
    let flags = challenge.flags & !unused | flags::ANONYMOUS;
    Authenticate { flags, lm: &[0], ..Authenticate::default() }.encode()
}

/// The NTLM challenge within a token that leaves the negotiation incomplete.
fn incomplete(token: &[u8]) -> Result<&[u8], AuthError> {
    let response = Response::for_ntlm(token)?;
    // A server that prefers another mechanism accepts NTLM in this state. Both sides then have to sign the list of
    // mechanisms, which this client does in any case.
    if response.state != Some(REQUEST_MIC) {
        expect_state(response.state, ACCEPT_INCOMPLETE)?;
    }
    response.token.ok_or(AuthError::Malformed { what: "responseToken", len: token.len() })
}

/// The state is optional in every token but the first (RFC 4178 4.2.2).
fn expect_state(state: Option<u8>, expected: u8) -> Result<(), AuthError> {
    match state {
        Some(state) if state != expected => Err(AuthError::State { state, expected }),
        _ => Ok(()),
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    EPOCH_DIFFERENCE + (since.as_nanos() / 100) as u64
}

impl Drop for Identity {
    fn drop(&mut self) {
        self.password_key.fill(0);
        // Keeps the compiler from removing the fill as a dead store.
        std::hint::black_box(&self.password_key);
    }
}

impl Drop for Exported {
    fn drop(&mut self) {
        self.key.fill(0);
        std::hint::black_box(&self.key);
    }
}

impl std::fmt::Debug for NtlmLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NtlmLogin(..)")
    }
}
