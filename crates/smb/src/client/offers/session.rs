//! One session as a run opens it, step by step, with what each step shows.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sharebench_client_core::DialError;
use sharebench_model::{MetaOp, MetaYield, Space};
use sharebench_target::offers::ClockOffset;
use sharebench_target::{Operations, UrlPart};
use tokio::time::{Instant, timeout_at};

use super::shares;
use crate::auth::EPOCH_DIFFERENCE;
use crate::client::channels::channel::Channel;
use crate::client::channels::session_channels::Channels;
use crate::client::channels::slot_buffers::SlotBuffers;
use crate::client::connect::dial::{blame, dial};
use crate::client::connect::handshake::{connect_tree, gather_credits, validate};
use crate::client::connect::interfaces::query_interfaces;
use crate::client::connect::login::login;
use crate::client::connect::negotiation::{negotiate, offer};
use crate::client::exchange::Exchange;
use crate::client::names::share_paths::SharePaths;
use crate::client::negotiated::Negotiated;
use crate::client::options::SmbOptions;
use crate::client::session::SmbSession;
use crate::crypto::PreauthHash;
use crate::incompatibility::Incompatibility;
use crate::wire::header::command;
use crate::wire::network_interface::NetworkInterface;
use crate::wire::share_list::ListedShare;
use crate::wire::simple::Empty;

/// Credits that the probe requests, to find out how many the server grants.
const WANTED_CREDITS: u32 = 512;
/// Largest output of an IOCTL: what one credit pays for.
const MAX_OUTPUT: u32 = 64 << 10;

/// What a session showed. Fields of steps that were not reached are empty.
#[derive(Debug, Default)]
pub(super) struct SessionFindings {
    /// The TCP connection exists.
    pub(super) connected: bool,
    /// The negotiation; after the login, with its flags.
    pub(super) negotiated: Option<Negotiated>,
    pub(super) clock: Option<ClockOffset>,
    pub(super) logged_in: bool,
    /// Credits that the server grants.
    pub(super) credits: Option<u32>,
    pub(super) space: Option<Space>,
    /// Maximal access of the user to the share (MS-SMB2 2.2.10).
    pub(super) access: Option<u32>,
    /// Addresses for further channels, or why they are not known.
    pub(super) interfaces: Option<Result<Vec<NetworkInterface>, String>>,
    /// The shares, or why they are not known.
    pub(super) shares: Option<Result<Vec<ListedShare>, String>>,
    /// The step that failed, as a run would report it.
    pub(super) failure: Option<DialError>,
    /// True if the deadline passed before the session was open, as far as the URL allows it.
    pub(super) late: bool,
    /// What the server speaks instead of SMB.
    pub(super) incompatibility: Option<Incompatibility>,
}

/// Opens a session; with `logs_in` false, only negotiates.
pub(super) async fn examine(
    options: &SmbOptions,
    logs_in: bool,
    negotiated_by: Instant,
    deadline: Instant,
) -> SessionFindings {
    let mut findings = SessionFindings::default();
    let mut hash = PreauthHash::new();
    let opened = timeout_at(negotiated_by, open(options, &mut hash, &mut findings)).await;
    let (channel, negotiated) = match opened {
        Ok(Ok(opened)) => opened,
        Ok(Err(error)) => {
            findings.failure = Some(error);
            return findings;
        }
        Err(_) => {
            findings.late = true;
            return findings;
        }
    };
    if logs_in {
        let mut opened = false;
        let steps = log_in(channel, negotiated, options, hash, &mut findings, &mut opened);
        match timeout_at(deadline, steps).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                findings.failure.get_or_insert(error);
            }
            Err(_) => findings.late = !opened,
        }
    }
    findings
}

/// Connects and negotiates.
async fn open(
    options: &SmbOptions,
    hash: &mut PreauthHash,
    findings: &mut SessionFindings,
) -> Result<(Channel, Negotiated), DialError> {
    let stream = dial(&options.host, options.port, &options.far).await?;
    findings.connected = true;
    let mut channel = Channel::new(stream, 1, MAX_OUTPUT as usize);
    channel.exchange.keep_requests = true;
    let sent = SystemTime::now();
    let negotiated = negotiate(&mut channel, options, offer(options), hash).await?;
    findings.clock = clock_offset(negotiated.system_time, sent, SystemTime::now());
    findings.negotiated = Some(negotiated.clone());
    Ok((channel, negotiated))
}

/// The offset of the server's clock, whose time is in units of 100 ns since 1601.
fn clock_offset(system_time: u64, sent: SystemTime, received: SystemTime) -> Option<ClockOffset> {
    let since_1970 = system_time.checked_sub(EPOCH_DIFFERENCE)?;
    let server = Duration::new(since_1970 / 10_000_000, (since_1970 % 10_000_000) as u32 * 100);
    Some(ClockOffset::of(server, sent, received))
}

/// Logs in, and examines what a session can see. `opened` becomes true where the first operation of a run would follow.
async fn log_in(
    mut channel: Channel,
    mut negotiated: Negotiated,
    options: &SmbOptions,
    hash: PreauthHash,
    findings: &mut SessionFindings,
    opened: &mut bool,
) -> Result<(), DialError> {
    let keys = login(&mut channel, options, &mut negotiated, hash).await?;
    channel.exchange.keep_requests = false;
    findings.logged_in = true;
    findings.negotiated = Some(negotiated.clone());
    channel.credits.raise_target(WANTED_CREDITS);
    if options.share.is_empty() {
        gather_credits(&mut channel).await?;
        findings.credits = Some(channel.credits.available());
        *opened = true;
    } else {
        match connect_tree(&mut channel, options, &mut negotiated, keys.encryption).await {
            Ok(access) => {
                findings.access = Some(access);
                findings.negotiated = Some(negotiated.clone());
                channel = examine_share(channel, &negotiated, options, findings, opened).await?;
            }
            // A wrong share is reported with the list of the right ones, which may be late.
            Err(error) if error.part == UrlPart::Share => findings.failure = Some(error),
            Err(error) => return Err(error),
        }
    }
    // From here on a failure concerns only what is listed, not a run.
    let connected = shares::connect_pipes(&mut channel, &options.host).await;
    findings.interfaces = Some(query_interfaces(&mut channel, &negotiated).await);
    findings.shares = Some(match connected {
        Ok(()) => shares::list(&mut channel, &options.host).await,
        Err(reason) => Err(reason),
    });
    let _ = channel.request(command::LOGOFF, |body| Empty::default().encode(body)).await;
    Ok(())
}

/// Examines the directory of the URL, on a channel that is connected to the share.
async fn examine_share(
    mut channel: Channel,
    negotiated: &Negotiated,
    options: &SmbOptions,
    findings: &mut SessionFindings,
    opened: &mut bool,
) -> Result<Channel, DialError> {
    validate(&mut channel, negotiated).await?;
    gather_credits(&mut channel).await?;
    findings.credits = Some(channel.credits.available());
    let paths = SharePaths::new(&options.directory);
    let channels = Channels::new(channel, SlotBuffers::new(1, MAX_OUTPUT as usize), Arc::default());
    let mut session = SmbSession::new(channels, paths, negotiated.clone(), options.far.clone());
    session.check_directory().await.map_err(blame(UrlPart::Path))?;
    *opened = true;
    if let Ok(MetaYield::Space(space)) = session.perform_basic(&MetaOp::Space).await {
        findings.space = Some(space);
    }
    Ok(session.into_channels().into_first())
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn the_time_of_a_server_counts_from_1601() {
        let sent = UNIX_EPOCH + Duration::from_secs(1_000);
        let offset = clock_offset(EPOCH_DIFFERENCE + 10_025_000_000, sent, sent).unwrap();
        assert_eq!(offset.to_string(), "+2.500 s (+- 0.000 s)");
        assert_eq!(clock_offset(0, sent, sent), None);
    }
}
