//! From a URL to a session: dial, negotiate, log in, connect to the share, find the directory.

use sharebench_model::ErrorClass;
use sharebench_target::{SessionSpec, UrlPart};

use crate::client::agreement::Agreement;
use crate::client::channel::Channel;
use crate::client::dial::{DialError, dial};
use crate::client::guard::Seal;
use crate::client::login::{encrypt, login};
use crate::client::names::Names;
use crate::client::negotiation::negotiate;
use crate::client::options::SmbOptions;
use crate::client::session::SmbSession;
use crate::crypto::PreauthHash;
use crate::status::NtStatus;
use crate::wire::header::{Header, command};
use crate::wire::ioctl::{IoctlRequest, VALIDATE_NEGOTIATE_INFO, output};
use crate::wire::simple::Empty;
use crate::wire::tree::{SHARE_ENCRYPT_DATA, TreeConnectRequest, TreeConnectResponse};
use crate::wire::{Field, Reader, WireError};

/// Share type of a disk.
const DISK: u8 = 1;
/// Most requests made only to be granted more credits.
const MAX_ECHOES: u32 = 16;

/// Opens a session within the caller's deadline.
pub(crate) async fn open_session(options: &SmbOptions, spec: &SessionSpec) -> Result<SmbSession, DialError> {
    let stream = dial(&options.host, options.port).await?;
    let mut channel = Channel::new(stream, spec.slots as usize, spec.slot_bytes as usize);
    let mut hash = PreauthHash::new();
    channel.exchange.keep = true;
    let mut agreement = negotiate(&mut channel, options, &mut hash).await?;
    if !spec.allow_split {
        check_limits(&agreement, spec)?;
    }
    let seal = login(&mut channel, options, &mut agreement, hash).await?;
    channel.exchange.keep = false;
    connect_tree(&mut channel, options, &mut agreement, seal).await?;
    validate(&mut channel, &agreement).await?;
    gather_credits(&mut channel).await?;
    let names = Names::new(&options.directory);
    let mut session = SmbSession::new(channel, names, agreement);
    session.check_directory().await.map_err(DialError::blame(UrlPart::Path))?;
    Ok(session)
}

/// Records are never split, so that each must fit into one request.
fn check_limits(agreement: &Agreement, spec: &SessionSpec) -> Result<(), DialError> {
    for (name, most) in [("MaxReadSize", agreement.max_read), ("MaxWriteSize", agreement.max_write)] {
        if spec.slot_bytes > most {
            let detail = format!(
                "a record of {} bytes is beyond the server's {name} {most}; records are never split",
                spec.slot_bytes
            );
            return Err(DialError::new(UrlPart::Share, ErrorClass::Unsupported, detail));
        }
    }
    Ok(())
}

async fn connect_tree(
    channel: &mut Channel,
    options: &SmbOptions,
    agreement: &mut Agreement,
    seal: Option<Seal>,
) -> Result<(), DialError> {
    let request = TreeConnectRequest { path: format!("\\\\{}\\{}", options.host, options.share) };
    // Protects the negotiation on 3.1.1 (MS-SMB2 3.2.4.1.1).
    channel.exchange.always_sign = agreement.dialect == 0x0311;
    let header = channel.exchange(command::TREE_CONNECT, |body| request.encode(body)).await;
    channel.exchange.always_sign = false;
    let header = header.map_err(DialError::blame(UrlPart::Share))?;
    let status = NtStatus(header.status);
    if status != NtStatus::SUCCESS {
        return Err(DialError::blame(UrlPart::Share)(status.failure("TREE_CONNECT")));
    }
    let response = TreeConnectResponse::decode(&channel.exchange.reply).map_err(DialError::broken)?;
    if response.share_type != DISK {
        let detail = format!("'{}' is no disk share (type {})", options.share, response.share_type);
        return Err(DialError::new(UrlPart::Share, ErrorClass::Unsupported, detail));
    }
    channel.tree_id = header.tree_id;
    if response.flags & SHARE_ENCRYPT_DATA != 0 && !agreement.sealed {
        encrypt(channel, options, agreement, seal)?;
    }
    Ok(())
}

/// Makes sure that nobody changed the negotiation below 3.1.1, which knows no other protection
/// (MS-SMB2 3.2.5.5).
async fn validate(channel: &mut Channel, agreement: &Agreement) -> Result<(), DialError> {
    let offered_more = agreement.offer.dialects.iter().any(|dialect| *dialect >= 0x0300);
    if agreement.dialect == 0x0311 || !offered_more || channel.guard.signing.is_none() {
        return Ok(());
    }
    let offer = &agreement.offer;
    let mut input = Vec::new();
    offer.capabilities.put(&mut input);
    offer.guid.put(&mut input);
    offer.security_mode.put(&mut input);
    (offer.dialects.len() as u16).put(&mut input);
    offer.dialects.iter().for_each(|dialect| dialect.put(&mut input));
    let request = IoctlRequest { code: VALIDATE_NEGOTIATE_INFO, input, max_output: 24 };
    channel.exchange.always_sign = true;
    let header = channel.exchange(command::IOCTL, |body| request.encode(body)).await;
    channel.exchange.always_sign = false;
    let header = header.map_err(DialError::blame(UrlPart::Port))?;
    check_validation(agreement, &header, &channel.exchange.reply)
}

fn check_validation(agreement: &Agreement, header: &Header, reply: &[u8]) -> Result<(), DialError> {
    let changed = |detail: &str| {
        DialError::new(UrlPart::Option("dialect"), ErrorClass::Protocol, format!("downgrade: {detail}"))
    };
    match NtStatus(header.status) {
        NtStatus::SUCCESS => {}
        NtStatus::ACCESS_DENIED => return Err(changed("the server denies the negotiation")),
        // A server that knows no such request says so, signed or sealed (MS-SMB2 3.2.5.14.12).
        _ => return Ok(()),
    }
    let read = || -> Result<_, WireError> {
        let mut reader = Reader::new(output(reply)?, "VALIDATE_NEGOTIATE_INFO");
        Ok((reader.get::<u32>()?, reader.get::<[u8; 16]>()?, reader.get::<u16>()?, reader.get::<u16>()?))
    };
    let said = read().map_err(DialError::broken)?;
    let seen = (agreement.capabilities, agreement.server_guid, agreement.security_mode, agreement.dialect);
    if said == seen { Ok(()) } else { Err(changed("the server negotiated something else")) }
}

/// Asks for credits until they suffice for every slot or the server grants no more.
async fn gather_credits(channel: &mut Channel) -> Result<(), DialError> {
    for _ in 0..MAX_ECHOES {
        let before = channel.credits.available();
        if !channel.credits.short() {
            break;
        }
        let echo = Empty::default();
        channel
            .ask(command::ECHO, |body| echo.encode(body))
            .await
            .map_err(DialError::blame(UrlPart::Share))?;
        if channel.credits.available() <= before {
            break;
        }
    }
    Ok(())
}

/// Ends the session; errors are of no interest.
pub(crate) async fn log_off(channel: &mut Channel) {
    let _ = channel.ask(command::LOGOFF, |body| Empty::default().encode(body)).await;
}
