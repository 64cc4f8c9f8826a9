//! Further channels of a session: connections that are bound to it (MS-SMB2 3.2.4.1.3, 3.2.5.3.3, 3.3.5.5.2).

use std::net::IpAddr;
use std::time::Duration;

use sharebench_client_core::DialError;
use sharebench_model::ErrorClass;
use sharebench_target::{SessionSpec, UrlPart};
use tokio::time::Instant;

use crate::client::channels::channel::Channel;
use crate::client::channels::message_security::MessageSecurity;
use crate::client::channels::session_channels::{ChannelGrant, Channels};
use crate::client::connect::dial::dial_first;
use crate::client::connect::handshake::gather_credits;
use crate::client::connect::interfaces::{channel_addresses, query_interfaces};
use crate::client::connect::login::exchange_tokens;
use crate::client::connect::negotiation::negotiate;
use crate::client::negotiated::Negotiated;
use crate::client::options::SmbOptions;
use crate::crypto::{PreauthHash, SessionKeys, SigningKey};
use crate::wire::header::{Header, flags};
use crate::wire::session_setup::BINDING;

const OPTION: UrlPart = UrlPart::Option("channels");
/// Longest time for one further channel, after which the address counts as unreachable: a server may name addresses of networks
/// that this machine is not part of.
const CHANNEL_TIMEOUT: Duration = Duration::from_secs(3);

/// What the first channel of a session gives to the others.
struct Session<'a> {
    options: &'a SmbOptions,
    spec: &'a SessionSpec,
    negotiated: &'a Negotiated,
    keys: &'a SessionKeys,
}

/// Adds channels until the session has as many as the URL requests. Channels that the server does not grant are missing
/// without an error; the run reports it.
///
/// The channels are spread over the addresses in turn. An address without a connection is left out from then on.
pub(crate) async fn bind_channels(
    channels: &mut Channels,
    options: &SmbOptions,
    spec: &SessionSpec,
    negotiated: &Negotiated,
    keys: Option<&SessionKeys>,
    first: IpAddr,
) -> ChannelGrant {
    let mut grant = ChannelGrant { addresses: vec![(first, 1)], missing: None };
    if options.channels == 1 {
        return grant;
    }
    let Some(keys) = keys else {
        grant.missing = Some("a guest session has no key to bind channels with".to_owned());
        return grant;
    };
    if !negotiated.offers_channels() {
        grant.missing = Some("the server announces no multichannel".to_owned());
        return grant;
    }
    // A server that does not list its interfaces may still accept several connections to one address.
    let listed = query_interfaces(channels.primary(), negotiated).await.unwrap_or_default();
    let mut addresses = channel_addresses(first, &listed);
    let session = Session { options, spec, negotiated, keys };
    // The first channel has the first address already.
    let mut next = 1;
    // Half of the time to connect: a slow address must not cost the session.
    let deadline = Instant::now() + spec.connect_timeout / 2;
    while channels.count() < options.channels as usize && !addresses.is_empty() {
        let address = addresses[next % addresses.len()];
        let limit = CHANNEL_TIMEOUT.min(deadline.saturating_duration_since(Instant::now()));
        let bound = tokio::time::timeout(limit, bind(&session, channels.primary(), address)).await;
        let late = || {
            let detail = format!("no channel to {address} within {limit:?}");
            Err(DialError::new(OPTION, ErrorClass::Timeout, detail))
        };
        match bound.unwrap_or_else(|_| late()) {
            Ok(channel) => {
                channels.add(channel);
                next += 1;
                match grant.addresses.iter_mut().find(|(used, _)| *used == address) {
                    Some((_, count)) => *count += 1,
                    None => grant.addresses.push((address, 1)),
                }
            }
            Err(error) => {
                addresses.retain(|other| *other != address);
                grant.missing.get_or_insert(error.detail);
            }
        }
    }
    if channels.count() == options.channels as usize {
        grant.missing = None;
    }
    grant
}

/// Connects to `address` and binds the connection to the session of `first`.
async fn bind(session: &Session<'_>, first: &Channel, address: IpAddr) -> Result<Channel, DialError> {
    let Session { options, spec, negotiated, keys } = *session;
    let (stream, _) = dial_first(&[address], options.port, &options.tcp).await?;
    let mut channel = Channel::new(stream, spec.slots as usize, spec.slot_bytes as usize);
    let mut hash = PreauthHash::new();
    channel.exchange.keep_requests = true;
    let offer = negotiated.offer_of_channel();
    let further = negotiate(&mut channel, options, offer, &mut hash).await?;
    // Another server at this address would not know the session (MS-SMB2 3.2.5.2).
    if further.server_guid != negotiated.server_guid {
        let detail = format!("{address} is another server");
        return Err(DialError::new(OPTION, ErrorClass::Unsupported, detail));
    }
    // The requests that bind are signed with the key of the session (MS-SMB2 3.2.4.2.3.1).
    let session_key =
        SigningKey::new(negotiated.signing, &keys.signing).map_err(DialError::protocol_violation)?;
    channel.session_id = first.session_id;
    channel.security = MessageSecurity { signing: Some(session_key), binding: true, ..Default::default() };
    channel.exchange.always_sign = true;
    let admitted = exchange_tokens(&mut channel, options, &further, &mut hash, BINDING).await?;
    channel.exchange.always_sign = false;
    channel.exchange.keep_requests = false;
    let key = channel_key(&mut channel, &further, &hash, admitted.key, &admitted.header)?;
    channel.security = MessageSecurity { signing: Some(key), ..first.security.without_signing() };
    channel.tree_id = first.tree_id;
    channel.sequence = first.sequence;
    gather_credits(&mut channel).await?;
    Ok(channel)
}

/// The channel's own signing key, which the last response proves that the server knows (MS-SMB2 3.2.5.3.3).
fn channel_key(
    channel: &mut Channel,
    further: &Negotiated,
    hash: &PreauthHash,
    key: Option<Vec<u8>>,
    header: &Header,
) -> Result<SigningKey, DialError> {
    let Some(key) = key else {
        return Err(DialError::new(OPTION, ErrorClass::Unsupported, "the channel's login has no key"));
    };
    let preauth = hash.value();
    let preauth = (further.dialect == 0x0311).then_some(&preauth);
    let keys = SessionKeys::derive(further.dialect, &key, preauth, None);
    let signing = SigningKey::new(further.signing, &keys.signing).map_err(DialError::protocol_violation)?;
    if !header.is(flags::SIGNED) || !signing.verify(&mut channel.exchange.reply) {
        return Err(DialError::protocol_violation("the last response of the binding has no valid signature"));
    }
    Ok(signing)
}
