//! `SESSION_SETUP`: the login and the keys that it derives (MS-SMB2 3.2.4.2.3, 3.2.5.3).

use std::sync::Arc;

use sharebench_client_core::DialError;
use sharebench_model::ErrorClass;
use sharebench_target::UrlPart;

use crate::auth::{AuthError, Mechanism};
use crate::client::channels::channel::Channel;
use crate::client::channels::message_security::MessageEncryption;
use crate::client::connect::dial::blame;
use crate::client::connect::login_method::{LoginMethod, dial_error};
use crate::client::exchange::Exchange;
use crate::client::negotiated::{Negotiated, SIGNING_REQUIRED};
use crate::client::options::{Protection, SmbOptions};
use crate::crypto::{PreauthHash, SealingKey, SessionKeys, SigningKey};
use crate::incompatibility::Incompatibility;
use crate::status::NtStatus;
use crate::wire::header::{Header, command, flags as header_flags};
use crate::wire::session_setup::{SessionSetupRequest, SessionSetupResponse, flags};

/// Most requests of a login: Kerberos needs at most two, NTLM two.
pub(crate) const MAX_ROUNDS: usize = 4;

/// What a login leaves to the steps after it.
#[derive(Debug, Default)]
pub(crate) struct LoginKeys {
    /// Keys of the session; none for a guest and for an anonymous session.
    pub(crate) session: Option<SessionKeys>,
    /// The keys of the encryption if nothing requires it yet, because the share may still require it.
    pub(crate) encryption: Option<Arc<MessageEncryption>>,
}

/// The end of an exchange of tokens that the server accepted.
pub(crate) struct Admitted {
    /// Header of the last response.
    pub(crate) header: Header,
    /// Flags of the session, of the last response.
    flags: u16,
    /// Key of the login; none for an anonymous one.
    pub(crate) key: Option<Vec<u8>>,
    mechanism: Mechanism,
}

/// Logs in; afterwards the channel signs or encrypts as negotiated.
pub(crate) async fn login(
    channel: &mut Channel,
    options: &SmbOptions,
    negotiated: &mut Negotiated,
    mut hash: PreauthHash,
) -> Result<LoginKeys, DialError> {
    let Admitted { header, flags: session_flags, key, mechanism } =
        exchange_tokens(channel, options, negotiated, &mut hash, 0).await?;
    negotiated.session_flags = session_flags;
    negotiated.mechanism = Some(mechanism);
    // The server may admit a user as guest; such a session, like an anonymous one, has no key.
    let Some(mut key) = key.filter(|_| session_flags & (flags::IS_GUEST | flags::IS_NULL) == 0) else {
        return reject_missing_key(options, negotiated).map(|()| LoginKeys::default());
    };
    let preauth = hash.value();
    let preauth = (negotiated.dialect == 0x0311).then_some(&preauth);
    let keys = SessionKeys::derive(negotiated.dialect, &key, preauth, negotiated.cipher);
    key.fill(0);
    // Keeps the compiler from removing the fill as a dead store.
    std::hint::black_box(&key);
    let signing =
        SigningKey::new(negotiated.signing, &keys.signing).map_err(DialError::protocol_violation)?;
    // Before the key is used for anything: a server that does not know the session key must not receive a
    // path or data.
    verify_last_response(channel, negotiated, &header, &signing)?;
    channel.security.signing = Some(signing);
    let encryption = protect(channel, options, negotiated, &keys)?;
    Ok(LoginKeys { session: Some(keys), encryption })
}

/// Exchanges tokens until the server accepts the login; `hash` covers every message but the last response.
/// `setup_flags` are those of the requests.
pub(crate) async fn exchange_tokens(
    channel: &mut Channel,
    options: &SmbOptions,
    negotiated: &Negotiated,
    hash: &mut PreauthHash,
    setup_flags: u8,
) -> Result<Admitted, DialError> {
    let mut method = LoginMethod::choose(options, negotiated).await?;
    let mechanism = method.mechanism();
    let mut token = method.first_token();
    for _ in 0..MAX_ROUNDS {
        let (header, response) = setup(channel, negotiated, setup_flags, token).await?;
        // The server assigns the session id with its first response; later requests must carry it.
        channel.session_id = header.session_id;
        hash.update(&channel.exchange.request);
        // The last response is not part of the hash: it is signed with a key derived from that hash.
        if NtStatus(header.status) == NtStatus::MORE_PROCESSING_REQUIRED {
            hash.update(&channel.exchange.reply);
        }
        let Some(next) = next_token(negotiated, &mut method, &header, &response)? else {
            let key = method.session_key().map_err(|error| token_error(negotiated, mechanism, &error))?;
            return Ok(Admitted { header, flags: response.flags, key, mechanism });
        };
        token = next;
    }
    Err(not_completed())
}

/// The error of a server that wants more tokens than a login has.
pub(crate) fn not_completed() -> DialError {
    DialError::protocol_violation("the server does not complete the login")
}

/// Checks a response of the server: the next token of the client, or none if the server has accepted the login.
pub(crate) fn next_token(
    negotiated: &Negotiated,
    method: &mut LoginMethod,
    header: &Header,
    response: &SessionSetupResponse,
) -> Result<Option<Vec<u8>>, DialError> {
    let mechanism = method.mechanism();
    let failed = |error: AuthError| token_error(negotiated, mechanism, &error);
    match NtStatus(header.status) {
        NtStatus::SUCCESS => {
            let is_guest = response.flags & (flags::IS_GUEST | flags::IS_NULL) != 0;
            // A guest of NTLM has no key, and so nothing that its token could prove. A ticket always has one.
            if !is_guest || mechanism == Mechanism::Kerberos {
                method.check_final(&response.token).map_err(failed)?;
            }
            Ok(None)
        }
        NtStatus::MORE_PROCESSING_REQUIRED => method.next_token(&response.token).map(Some).map_err(failed),
        _ => Err(login_error(negotiated, method, header)),
    }
}

async fn setup(
    channel: &mut Channel,
    negotiated: &Negotiated,
    setup_flags: u8,
    token: Vec<u8>,
) -> Result<(Header, SessionSetupResponse), DialError> {
    let request = setup_request(negotiated, setup_flags, token);
    let header = channel
        .exchange(command::SESSION_SETUP, |body| request.encode(body))
        .await
        .map_err(blame(UrlPart::Credentials))?;
    let response = setup_response(&header, &channel.exchange.reply)?;
    Ok((header, response))
}

/// The request that carries a token.
pub(crate) fn setup_request(negotiated: &Negotiated, setup_flags: u8, token: Vec<u8>) -> SessionSetupRequest {
    let security_mode = negotiated.offer.security_mode as u8;
    SessionSetupRequest { flags: setup_flags, security_mode, token, ..SessionSetupRequest::default() }
}

/// The body of a response; empty if the server rejects the login.
pub(crate) fn setup_response(header: &Header, reply: &[u8]) -> Result<SessionSetupResponse, DialError> {
    match NtStatus(header.status) {
        NtStatus::SUCCESS | NtStatus::MORE_PROCESSING_REQUIRED => {
            SessionSetupResponse::decode(reply).map_err(DialError::protocol_violation)
        }
        _ => Ok(SessionSetupResponse::default()),
    }
}

/// The error of a login that the server rejects with a status.
fn login_error(negotiated: &Negotiated, method: &LoginMethod, header: &Header) -> DialError {
    let status = NtStatus(header.status);
    if let LoginMethod::Kerberos(_) = method
        && negotiated.lists_no_kerberos()
    {
        let detail = format!(
            "the server offers {} only, and the URL requires Kerberos (SESSION_SETUP: {status})",
            negotiated.mechanism_names()
        );
        return DialError::new(UrlPart::Credentials, status.class(), detail);
    }
    if let LoginMethod::Kerberos(login) = method {
        let detail = format!(
            "the server rejects the Kerberos ticket for {}: it has no current key for this name, its clock differs, or it \
             does not know the user (SESSION_SETUP: {status})",
            login.service()
        );
        return DialError::new(UrlPart::Credentials, status.class(), detail);
    }
    if let Some(meaning) = without_ntlm(negotiated) {
        let mut error = DialError::from(meaning);
        error.detail = format!("{} (SESSION_SETUP: {status})", error.detail);
        return error;
    }
    DialError::new(UrlPart::Credentials, status.class(), format!("SESSION_SETUP: {}", status.explained()))
}

/// The error of a login whose token from the server is not the expected one.
fn token_error(negotiated: &Negotiated, mechanism: Mechanism, error: &AuthError) -> DialError {
    if let AuthError::Kerberos(error) = error {
        return dial_error(error);
    }
    match without_ntlm(negotiated).filter(|_| mechanism == Mechanism::Ntlm) {
        Some(meaning) => meaning.into(),
        None if *error == AuthError::Mechanism => Incompatibility::NtlmNotAccepted.into(),
        None => DialError::new(UrlPart::Credentials, ErrorClass::Protocol, error.to_string()),
    }
}

/// The explanation if the server lists mechanisms without NTLM. The list alone is no reason not to try, because a server
/// may accept more than it lists.
fn without_ntlm(negotiated: &Negotiated) -> Option<Incompatibility> {
    let mechanisms = negotiated.mechanism_names();
    negotiated.lists_no_ntlm().then_some(Incompatibility::NoNtlm { mechanisms })
}

/// Rejects a session without a key if the user or the server requires signing or encryption.
fn reject_missing_key(options: &SmbOptions, negotiated: &Negotiated) -> Result<(), DialError> {
    let requires_signing = negotiated.security_mode & SIGNING_REQUIRED != 0;
    let requires_encryption = negotiated.session_flags & flags::ENCRYPT_DATA != 0;
    let option = if options.sign == Protection::Required || requires_signing {
        "sign"
    } else if options.encrypt == Protection::Required || requires_encryption {
        "encrypt"
    } else {
        return Ok(());
    };
    Err(missing_key(option, options.user.as_deref(), "sign or encrypt"))
}

/// A session that must sign or encrypt has no key: without a user in the URL, and where the server admits the user as a guest.
pub(crate) fn missing_key(option: &'static str, user: Option<&str>, purpose: &str) -> DialError {
    match user {
        None => {
            let detail = format!(
                "the URL names no user, and a guest or anonymous session has no key to {purpose} with; write \
                 smb://USER@HOST/SHARE"
            );
            DialError::new(UrlPart::Credentials, ErrorClass::Unsupported, detail)
        }
        Some(user) => {
            let detail = format!(
                "the server admits {user} as a guest only, and a guest or anonymous session has no key to {purpose} \
                 with; check the name of the user"
            );
            DialError::new(UrlPart::Option(option), ErrorClass::Unsupported, detail)
        }
    }
}

/// Verifies the last response. Its signature proves that the server knows the session key, and in dialect 3.1.1 that
/// the negotiation was not changed (MS-SMB2 3.2.5.3.1).
fn verify_last_response(
    channel: &mut Channel,
    negotiated: &Negotiated,
    header: &Header,
    key: &SigningKey,
) -> Result<(), DialError> {
    let signed = header.is(header_flags::SIGNED);
    let required = negotiated.dialect == 0x0311 || negotiated.security_mode & SIGNING_REQUIRED != 0;
    if !signed && !required {
        return Ok(());
    }
    // A signature that is present is verified even where it is optional: a wrong one shows a changed
    // message or a wrong key.
    if signed && key.verify(&mut channel.exchange.reply) {
        return Ok(());
    }
    Err(DialError::protocol_violation("the last response of the login has no valid signature"))
}

/// Decides on signing and encryption, and applies the decision to the channel.
fn protect(
    channel: &mut Channel,
    options: &SmbOptions,
    negotiated: &mut Negotiated,
    keys: &SessionKeys,
) -> Result<Option<Arc<MessageEncryption>>, DialError> {
    negotiated.signed =
        options.sign == Protection::Required || negotiated.security_mode & SIGNING_REQUIRED != 0;
    channel.security.sign_all = negotiated.signed;
    let encryption = negotiated
        .cipher
        .map(|cipher| {
            Ok(Arc::new(MessageEncryption {
                session_id: channel.session_id,
                to_server: SealingKey::new(cipher, &keys.to_server)?,
                to_client: SealingKey::new(cipher, &keys.to_client)?,
            }))
        })
        .transpose()
        .map_err(|error: crate::crypto::CryptoError| DialError::protocol_violation(error))?;
    let required = negotiated.session_flags & flags::ENCRYPT_DATA != 0;
    if required || options.encrypt == Protection::Required {
        return encrypt(channel, options, negotiated, encryption).map(|()| None);
    }
    // Not needed yet. The share may still require encryption (MS-SMB2 2.2.10), so the keys are kept for
    // TREE_CONNECT.
    Ok(encryption)
}

/// Encrypts every message from now on.
pub(crate) fn encrypt(
    channel: &mut Channel,
    options: &SmbOptions,
    negotiated: &mut Negotiated,
    encryption: Option<Arc<MessageEncryption>>,
) -> Result<(), DialError> {
    let reject = |class, detail: &str| Err(DialError::new(UrlPart::Option("encrypt"), class, detail));
    if options.encrypt == Protection::Off {
        return reject(ErrorClass::Refused, "the server requires encryption");
    }
    let Some(encryption) = encryption else {
        return reject(ErrorClass::Unsupported, "the server requires encryption, but negotiated no cipher");
    };
    channel.security.encryption = Some(encryption);
    negotiated.encrypted = true;
    // The ciphers authenticate as well, so that nothing is signed.
    negotiated.signed = false;
    Ok(())
}
