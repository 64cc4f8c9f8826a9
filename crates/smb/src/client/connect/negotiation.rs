//! NEGOTIATE: dialect, limits and algorithms (MS-SMB2 3.2.4.2.2, 3.2.5.2).

use sharebench_client_core::DialError;
use sharebench_model::ErrorClass;
use sharebench_target::UrlPart;

use crate::client::channels::channel::Channel;
use crate::client::connect::dial::blame;
use crate::client::exchange::Exchange;
use crate::client::negotiated::{
    DIRECTORY_LEASING, ENCRYPTION, LARGE_MTU, LEASING, MULTI_CHANNEL, Negotiated, Offer, SIGNING_ENABLED,
    SIGNING_REQUIRED,
};
use crate::client::options::{Protection, SmbOptions};
use crate::client::rights::lease_choice::LeaseChoice;
use crate::crypto::{Cipher, PreauthHash, SigningAlgorithm, random};
use crate::status::NtStatus;
use crate::wire::header::command;
use crate::wire::negotiate::{self as context, Context, NegotiateRequest, NegotiateResponse};
use crate::wire::{Field, WireError};

/// `HashAlgorithms`: SHA-512, the only one that is defined (MS-SMB2 2.2.3.1.1).
const SHA_512: u16 = 1;
const SALT_LEN: usize = 32;

/// Negotiates dialect, limits and algorithms; both messages are added to `hash`.
pub(crate) async fn negotiate(
    channel: &mut Channel,
    options: &SmbOptions,
    offer: Offer,
    hash: &mut PreauthHash,
) -> Result<Negotiated, DialError> {
    let request = NegotiateRequest {
        security_mode: offer.security_mode,
        capabilities: offer.capabilities,
        client_guid: offer.guid,
        dialects: offer.dialects.clone(),
        // Contexts replace fields that older dialects define otherwise, so they are sent only with 3.1.1 (MS-
        // SMB2 2.2.3).
        contexts: if offer.dialects.contains(&0x0311) {
            contexts(&offer.signing, &offer.ciphers)
        } else {
            Vec::new()
        },
    };
    let header = channel
        .exchange(command::NEGOTIATE, |body| request.encode(body))
        .await
        .map_err(|error| blame(UrlPart::Port)(error).before_first_reply())?;
    hash.update(&channel.exchange.request);
    hash.update(&channel.exchange.reply);
    match NtStatus(header.status) {
        NtStatus::SUCCESS => {}
        status @ NtStatus::NOT_SUPPORTED => {
            return Err(DialError::new(
                UrlPart::Option("dialect"),
                ErrorClass::Unsupported,
                status.to_string(),
            ));
        }
        status => return Err(blame(UrlPart::Port)(status.failure("NEGOTIATE"))),
    }
    let response =
        NegotiateResponse::decode(&channel.exchange.reply).map_err(DialError::protocol_violation)?;
    let mut negotiated = Negotiated::new(offer, &response);
    // A dialect that was not offered would measure something other than the user selected.
    if !negotiated.offer.dialects.contains(&response.dialect) {
        let detail = format!("the server answers with dialect {}", negotiated.dialect_name());
        return Err(DialError::new(UrlPart::Option("dialect"), ErrorClass::Protocol, detail));
    }
    if response.dialect == 0x0311 {
        apply_contexts(&response.contexts, &mut negotiated).map_err(DialError::protocol_violation)?;
    }
    check(options, &negotiated)?;
    // From here on: NEGOTIATE itself always costs one credit.
    channel.credits.by_size = negotiated.multi_credit();
    Ok(negotiated)
}

/// Rejects parameters that contradict the user's options, before a password is used.
fn check(options: &SmbOptions, negotiated: &Negotiated) -> Result<(), DialError> {
    let required = negotiated.security_mode & SIGNING_REQUIRED != 0;
    if options.sign == Protection::Off && required {
        let detail = "the server requires signing";
        return Err(DialError::new(UrlPart::Option("sign"), ErrorClass::Refused, detail));
    }
    if options.sign == Protection::Required
        && negotiated.security_mode & (SIGNING_ENABLED | SIGNING_REQUIRED) == 0
    {
        let detail = "the server cannot sign";
        return Err(DialError::new(UrlPart::Option("sign"), ErrorClass::Unsupported, detail));
    }
    // A server that knows none of the offered algorithms signs as in earlier dialects.
    if negotiated.dialect == 0x0311 && !options.signing.contains(&negotiated.signing) {
        let detail = format!("the server signs with {}", negotiated.signing.name());
        return Err(DialError::new(UrlPart::Option("signing"), ErrorClass::Unsupported, detail));
    }
    if options.encrypt == Protection::Required && negotiated.cipher.is_none() {
        let detail = format!("the server negotiated no cipher in dialect {}", negotiated.dialect_name());
        return Err(DialError::new(UrlPart::Option("encrypt"), ErrorClass::Unsupported, detail));
    }
    Ok(())
}

/// What the user's options allow, for the first channel of a session.
pub(crate) fn offer(options: &SmbOptions) -> Offer {
    let newest = options.dialects.iter().max().copied().unwrap_or_default();
    let mut capabilities = if newest > 0x0202 { LARGE_MTU } else { 0 };
    // With `encrypt=off` the capability is withheld, so that a server which would encrypt on its own
    // reports it as an error instead.
    if newest >= 0x0300 && options.encrypt != Protection::Off {
        capabilities |= ENCRYPTION;
    }
    if options.lease != LeaseChoice::None && newest >= 0x0300 {
        capabilities |= LEASING | DIRECTORY_LEASING;
    }
    if newest >= 0x0300 && options.channels > 1 {
        capabilities |= MULTI_CHANNEL;
    }
    if newest >= 0x0300 {
        capabilities |= options.further_capabilities;
    }
    let signing_required = if options.sign == Protection::Required { SIGNING_REQUIRED } else { 0 };
    Offer {
        guid: random(),
        capabilities,
        security_mode: SIGNING_ENABLED | signing_required,
        dialects: options.dialects.clone(),
        signing: options.signing.clone(),
        ciphers: if options.encrypt == Protection::Off { Vec::new() } else { options.ciphers.clone() },
    }
}

/// The contexts of an offer with these algorithms (MS-SMB2 2.2.3.1).
pub(crate) fn contexts(signing: &[SigningAlgorithm], ciphers: &[Cipher]) -> Vec<Context> {
    let mut preauth = Vec::new();
    1u16.put(&mut preauth);
    (SALT_LEN as u16).put(&mut preauth);
    SHA_512.put(&mut preauth);
    random::<SALT_LEN>().put(&mut preauth);
    let mut contexts = vec![
        Context { kind: context::PREAUTH_INTEGRITY, data: preauth },
        Context { kind: context::SIGNING, data: list(signing.iter().map(|algorithm| algorithm.id())) },
    ];
    if !ciphers.is_empty() {
        contexts.push(Context {
            kind: context::ENCRYPTION,
            data: list(ciphers.iter().map(|cipher| cipher.id())),
        });
    }
    contexts
}

/// A count and the ids.
fn list(ids: impl ExactSizeIterator<Item = u16>) -> Vec<u8> {
    let mut data = Vec::new();
    (ids.len() as u16).put(&mut data);
    ids.for_each(|id| id.put(&mut data));
    data
}

/// Applies the server's choices. Each context may occur once.
pub(crate) fn apply_contexts(contexts: &[Context], negotiated: &mut Negotiated) -> Result<(), WireError> {
    let bad = |field, value: u64| WireError::Field { what: "negotiate contexts", field, value };
    let one = |kind: u16| {
        let mut found = contexts.iter().filter(|context| context.kind == kind);
        match (found.next(), found.next()) {
            (context, None) => Ok(context.map(|context| context.data.as_slice())),
            _ => Err(bad("ContextType", u64::from(kind))),
        }
    };
    let word = |data: &[u8], at: usize| {
        let bytes = data.get(at..at + 2).and_then(|bytes| bytes.first_chunk().copied());
        bytes.map(u16::from_le_bytes).ok_or(WireError::Short { what: "negotiate context", len: data.len() })
    };
    match one(context::PREAUTH_INTEGRITY)? {
        Some(data) if word(data, 0)? == 1 && word(data, 4)? == SHA_512 => {}
        _ => return Err(bad("HashAlgorithm", 0)),
    }
    if let Some(data) = one(context::SIGNING)? {
        let id = word(data, 2)?;
        negotiated.signing = SigningAlgorithm::from_id(id).ok_or(bad("SigningAlgorithm", u64::from(id)))?;
    }
    negotiated.cipher = match one(context::ENCRYPTION)? {
        None => None,
        // 0: the server supports none of the offered ciphers.
        Some(data) => match word(data, 2)? {
            0 => None,
            id => Some(Cipher::from_id(id).ok_or(bad("Cipher", u64::from(id)))?),
        },
    };
    Ok(())
}
