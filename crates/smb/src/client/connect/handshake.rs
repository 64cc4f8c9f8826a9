//! The steps from a URL to a session: connect, negotiate, log in, connect to the share, find the directory.

use std::sync::Arc;

use sharebench_client_core::{DialError, resolve};
use sharebench_model::ErrorClass;
use sharebench_target::{LoginPhase, SessionSpec, UrlPart};

use crate::client::channels::channel::Channel;
use crate::client::channels::message_security::MessageEncryption;
use crate::client::channels::session_channels::Channels;
use crate::client::channels::session_counts::SessionCounts;
use crate::client::channels::slot_buffers::SlotBuffers;
use crate::client::connect::binding::bind_channels;
use crate::client::connect::dial::{blame, dial_first};
use crate::client::connect::login::{encrypt, login};
use crate::client::connect::negotiation::{negotiate, offer};
use crate::client::exchange::Exchange;
use crate::client::names::share_paths::SharePaths;
use crate::client::negotiated::Negotiated;
use crate::client::options::SmbOptions;
use crate::client::rights::lease_choice::LeaseChoice;
use crate::client::session::SmbSession;
use crate::crypto::PreauthHash;
use crate::status::NtStatus;
use crate::wire::FileId;
use crate::wire::header::{Header, command};
use crate::wire::ioctl::{IoctlRequest, VALIDATE_NEGOTIATE_INFO, output};
use crate::wire::simple::Empty;
use crate::wire::tree::{SHARE_ENCRYPT_DATA, TreeConnectRequest, TreeConnectResponse};
use crate::wire::validation::{ValidateNegotiateRequest, ValidateNegotiateResponse};

/// Share type of a disk.
const DISK: u8 = 1;
/// Maximum number of requests that are sent only to be granted more credits.
const MAX_ECHOES: u32 = 16;

/// Opens a session within the caller's deadline.
pub(crate) async fn open_session(
    options: &SmbOptions,
    spec: &SessionSpec,
    counts: &Arc<SessionCounts>,
    reached: &dyn Fn(LoginPhase),
) -> Result<SmbSession, DialError> {
    let options = &options.with_one_ticket();
    let addresses = resolve(&options.host).await?;
    reached(LoginPhase::NameResolved);
    let (stream, address) = dial_first(&addresses, options.port, &options.tcp).await?;
    reached(LoginPhase::Connected);
    let mut channel = Channel::new(stream, spec.slots as usize, spec.slot_bytes as usize);
    let mut hash = PreauthHash::new();
    // The preauthentication hash covers the requests of NEGOTIATE and SESSION_SETUP as they are on the wire.
    channel.exchange.keep_requests = true;
    let mut negotiated = negotiate(&mut channel, options, offer(options), &mut hash).await?;
    reached(LoginPhase::Negotiated);
    // Before the login: a record that cannot fit is a mistake in the plan, and no password has to be sent
    // to report it.
    if !spec.allow_split {
        check_limits(&negotiated, spec)?;
    }
    let keys = login(&mut channel, options, &mut negotiated, hash).await?;
    channel.exchange.keep_requests = false;
    reached(LoginPhase::LoggedIn);
    connect_tree(&mut channel, options, &mut negotiated, keys.encryption).await?;
    // After the login, because the request has to be signed, and that needs the session's key.
    validate(&mut channel, &negotiated).await?;
    // Without this the first cell would measure a connection with fewer credits than the later ones.
    gather_credits(&mut channel).await?;
    let buffers = SlotBuffers::new(spec.slots as usize, spec.slot_bytes as usize);
    let mut channels = Channels::new(channel, buffers, Arc::clone(counts));
    let grant =
        bind_channels(&mut channels, options, spec, &negotiated, keys.session.as_ref(), address).await;
    reached(LoginPhase::Attached);
    channels.renew_logins(options, &negotiated);
    let paths = SharePaths::new(&options.directory);
    let mut session = SmbSession::new(channels, paths, negotiated, options.tcp.clone());
    session.lease = options.lease;
    if options.lease != LeaseChoice::None {
        session.channels.hold_leases();
    }
    session.durable = options.durable;
    session.counts = Arc::clone(counts);
    if options.states_channels {
        session.channel_grant = Some((options.channels, grant));
    }
    // A missing directory is an error now, not at the first operation of a measurement.
    session.check_directory().await.map_err(blame(UrlPart::Path))?;
    reached(LoginPhase::Opened);
    Ok(session)
}

/// Checks that a record of the session's slots fits into one request, because records are never split.
fn check_limits(negotiated: &Negotiated, spec: &SessionSpec) -> Result<(), DialError> {
    for (limit, max) in [("MaxReadSize", negotiated.max_read), ("MaxWriteSize", negotiated.max_write)] {
        if spec.slot_bytes > max {
            let detail = format!(
                "a record of {} bytes exceeds the server's {limit} {max}; records are never split",
                spec.slot_bytes
            );
            return Err(DialError::new(UrlPart::Share, ErrorClass::Unsupported, detail));
        }
    }
    Ok(())
}

/// Connects to the share of the URL; returns the maximal access of this user (MS-SMB2 2.2.10).
pub(crate) async fn connect_tree(
    channel: &mut Channel,
    options: &SmbOptions,
    negotiated: &mut Negotiated,
    encryption: Option<Arc<MessageEncryption>>,
) -> Result<u32, DialError> {
    let request = TreeConnectRequest { path: format!("\\\\{}\\{}", options.host, options.share) };
    // In dialect 3.1.1 this signature protects the negotiation (MS-SMB2 3.2.4.1.1).
    channel.exchange.always_sign = negotiated.dialect == 0x0311;
    let header = channel.exchange(command::TREE_CONNECT, |body| request.encode(body)).await;
    channel.exchange.always_sign = false;
    let header = header.map_err(blame(UrlPart::Share))?;
    let status = NtStatus(header.status);
    if status != NtStatus::SUCCESS {
        return Err(blame(UrlPart::Share)(status.failure("TREE_CONNECT")));
    }
    let response =
        TreeConnectResponse::decode(&channel.exchange.reply).map_err(DialError::protocol_violation)?;
    if response.share_type != DISK {
        let detail = format!("'{}' is not a disk share (type {})", options.share, response.share_type);
        return Err(DialError::new(UrlPart::Share, ErrorClass::Unsupported, detail));
    }
    channel.tree_id = header.tree_id;
    if response.flags & SHARE_ENCRYPT_DATA != 0 && !negotiated.encrypted {
        encrypt(channel, options, negotiated, encryption)?;
    }
    Ok(response.maximal_access)
}

/// Verifies that the negotiation was not changed on its way. Dialects below 3.1.1 have no other protection (MS-SMB2
/// 3.2.5.5).
pub(crate) async fn validate(channel: &mut Channel, negotiated: &Negotiated) -> Result<(), DialError> {
    let offered_more = negotiated.offer.dialects.iter().any(|dialect| *dialect >= 0x0300);
    if negotiated.dialect == 0x0311 || !offered_more || channel.security.signing.is_none() {
        return Ok(());
    }
    let offer = &negotiated.offer;
    let mut input = Vec::new();
    ValidateNegotiateRequest {
        capabilities: offer.capabilities,
        client_guid: offer.guid,
        security_mode: offer.security_mode,
        dialects: offer.dialects.clone(),
    }
    .encode(&mut input);
    let max_output = ValidateNegotiateResponse::LEN;
    let request = IoctlRequest { code: VALIDATE_NEGOTIATE_INFO, file: FileId::PREVIOUS, input, max_output };
    channel.exchange.always_sign = true;
    let header = channel.exchange(command::IOCTL, |body| request.encode(body)).await;
    channel.exchange.always_sign = false;
    let header = header.map_err(blame(UrlPart::Port))?;
    check_validation(negotiated, &header, &channel.exchange.reply)
}

fn check_validation(negotiated: &Negotiated, header: &Header, reply: &[u8]) -> Result<(), DialError> {
    let changed = |detail: &str| {
        DialError::new(UrlPart::Option("dialect"), ErrorClass::Protocol, format!("downgrade: {detail}"))
    };
    match NtStatus(header.status) {
        NtStatus::SUCCESS => {}
        NtStatus::ACCESS_DENIED => return Err(changed("the server rejects the negotiation")),
        // A server that does not implement the request returns an error, which is signed or encrypted and
        // therefore genuine (MS-SMB2 3.2.5.14.12).
        _ => return Ok(()),
    }
    let validated =
        output(reply).and_then(ValidateNegotiateResponse::decode).map_err(DialError::protocol_violation)?;
    let received = ValidateNegotiateResponse {
        capabilities: negotiated.capabilities,
        server_guid: negotiated.server_guid,
        security_mode: negotiated.security_mode,
        dialect: negotiated.dialect,
    };
    if validated == received { Ok(()) } else { Err(changed("the server negotiated other parameters")) }
}

/// Sends ECHO requests until the credits suffice for every slot, or until the server grants no more.
pub(crate) async fn gather_credits(channel: &mut Channel) -> Result<(), DialError> {
    for _ in 0..MAX_ECHOES {
        let before = channel.credits.available();
        if !channel.credits.below_target() {
            break;
        }
        let echo = Empty::default();
        channel.request(command::ECHO, |body| echo.encode(body)).await.map_err(blame(UrlPart::Share))?;
        // A server that does not grow the balance has reached its own limit; further requests would only take
        // time.
        if channel.credits.available() <= before {
            break;
        }
    }
    Ok(())
}
