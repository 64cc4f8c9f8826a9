//! `SESSION_SETUP`: the log-in and the keys that come of it (MS-SMB2 3.2.4.2.3, 3.2.5.3).

use sharebench_model::ErrorClass;
use sharebench_target::UrlPart;

use crate::auth::NtlmLogin;
use crate::client::agreement::{Agreement, SIGNING_REQUIRED};
use crate::client::channel::Channel;
use crate::client::dial::DialError;
use crate::client::guard::Seal;
use crate::client::options::{SmbOptions, Wish};
use crate::crypto::{PreauthHash, SealingKey, SessionKeys, SigningKey};
use crate::status::NtStatus;
use crate::wire::header::{Header, command, flags as header_flags};
use crate::wire::session_setup::{SessionSetupRequest, SessionSetupResponse, flags};

const WORKSTATION: &str = "SHAREBENCH";

/// Logs in; afterwards the channel signs or encrypts as agreed. Gives the encryption keys when the
/// share may still demand encryption.
pub(crate) async fn login(
    channel: &mut Channel,
    options: &SmbOptions,
    agreement: &mut Agreement,
    mut hash: PreauthHash,
) -> Result<Option<Seal>, DialError> {
    let mut ntlm = match &options.user {
        Some(user) => NtlmLogin::new(user, &options.domain, &options.password, WORKSTATION),
        None => NtlmLogin::anonymous(),
    };
    let refused = |error: crate::auth::AuthError| {
        DialError::new(UrlPart::Credentials, ErrorClass::Protocol, error.to_string())
    };
    let (header, first) = setup(channel, agreement, ntlm.first_token()).await?;
    if NtStatus(header.status) != NtStatus::MORE_PROCESSING_REQUIRED {
        return Err(refuse_login(&header));
    }
    channel.session_id = header.session_id;
    hash.update(&channel.exchange.request);
    hash.update(&channel.exchange.reply);
    let answer = ntlm.second_token(&first.token).map_err(refused)?;
    let (header, last) = setup(channel, agreement, answer).await?;
    if NtStatus(header.status) != NtStatus::SUCCESS {
        return Err(refuse_login(&header));
    }
    hash.update(&channel.exchange.request);
    agreement.session_flags = last.flags;
    let Some(key) = ntlm.session_key().filter(|_| last.flags & (flags::IS_GUEST | flags::IS_NULL) == 0)
    else {
        return refuse_protection(options, agreement).map(|()| None);
    };
    let preauth = hash.value();
    let preauth = (agreement.dialect == 0x0311).then_some(&preauth);
    let keys = SessionKeys::derive(agreement.dialect, &key, preauth, agreement.cipher);
    let signing = SigningKey::new(agreement.signing, &keys.signing).map_err(DialError::broken)?;
    verify_end(channel, agreement, &header, &signing)?;
    ntlm.check_final(&last.token).map_err(refused)?;
    channel.guard.signing = Some(signing);
    protect(channel, options, agreement, &keys)
}

async fn setup(
    channel: &mut Channel,
    agreement: &Agreement,
    token: Vec<u8>,
) -> Result<(Header, SessionSetupResponse), DialError> {
    let security_mode = agreement.offer.security_mode as u8;
    let request = SessionSetupRequest { security_mode, capabilities: 0, token };
    let header = channel
        .exchange(command::SESSION_SETUP, |body| request.encode(body))
        .await
        .map_err(DialError::blame(UrlPart::Credentials))?;
    let response = match NtStatus(header.status) {
        NtStatus::SUCCESS | NtStatus::MORE_PROCESSING_REQUIRED => {
            SessionSetupResponse::decode(&channel.exchange.reply).map_err(DialError::broken)?
        }
        _ => SessionSetupResponse::default(),
    };
    Ok((header, response))
}

fn refuse_login(header: &Header) -> DialError {
    let status = NtStatus(header.status);
    DialError::new(UrlPart::Credentials, status.class(), format!("SESSION_SETUP: {status}"))
}

/// A session without a key can neither sign nor encrypt.
fn refuse_protection(options: &SmbOptions, agreement: &Agreement) -> Result<(), DialError> {
    let demands_signing = agreement.security_mode & SIGNING_REQUIRED != 0;
    let demands_encryption = agreement.session_flags & flags::ENCRYPT_DATA != 0;
    let option = if options.sign == Wish::Required || demands_signing {
        "sign"
    } else if options.encrypt == Wish::Required || demands_encryption {
        "encrypt"
    } else {
        return Ok(());
    };
    let detail = "a guest or anonymous session has no key to sign or encrypt with";
    Err(DialError::new(UrlPart::Option(option), ErrorClass::Unsupported, detail))
}

/// The last response proves that the server knows the key, and on 3.1.1 that nobody changed the
/// negotiation (MS-SMB2 3.2.5.3.1).
fn verify_end(
    channel: &mut Channel,
    agreement: &Agreement,
    header: &Header,
    key: &SigningKey,
) -> Result<(), DialError> {
    let signed = header.is(header_flags::SIGNED);
    let must = agreement.dialect == 0x0311 || agreement.security_mode & SIGNING_REQUIRED != 0;
    if !signed && !must {
        return Ok(());
    }
    if signed && key.verify(&mut channel.exchange.reply) {
        return Ok(());
    }
    Err(DialError::broken("the last response of the log-in is not signed rightly"))
}

/// Decides on signing and encryption.
fn protect(
    channel: &mut Channel,
    options: &SmbOptions,
    agreement: &mut Agreement,
    keys: &SessionKeys,
) -> Result<Option<Seal>, DialError> {
    agreement.signed = options.sign == Wish::Required || agreement.security_mode & SIGNING_REQUIRED != 0;
    channel.guard.sign_all = agreement.signed;
    let seal = agreement
        .cipher
        .map(|cipher| {
            Ok(Seal {
                session_id: channel.session_id,
                to_server: SealingKey::new(cipher, &keys.encryption)?,
                to_client: SealingKey::new(cipher, &keys.decryption)?,
            })
        })
        .transpose()
        .map_err(|error: crate::crypto::CryptoError| DialError::broken(error))?;
    let demanded = agreement.session_flags & flags::ENCRYPT_DATA != 0;
    if demanded || options.encrypt == Wish::Required {
        return encrypt(channel, options, agreement, seal).map(|()| None);
    }
    Ok(seal)
}

/// Encrypts everything from now on.
pub(crate) fn encrypt(
    channel: &mut Channel,
    options: &SmbOptions,
    agreement: &mut Agreement,
    seal: Option<Seal>,
) -> Result<(), DialError> {
    let refuse = |class, detail: &str| Err(DialError::new(UrlPart::Option("encrypt"), class, detail));
    if options.encrypt == Wish::Off {
        return refuse(ErrorClass::Refused, "the server requires encryption");
    }
    let Some(seal) = seal else {
        return refuse(ErrorClass::Unsupported, "the server requires encryption, but agreed on no cipher");
    };
    channel.guard.seal = Some(seal);
    agreement.sealed = true;
    // The cipher authenticates as well.
    agreement.signed = false;
    Ok(())
}
