//! One session as a run opens it, step by step, with what each step shows.

use std::time::SystemTime;

use sharebench_model::TargetFacts;
use sharebench_stream_client::DialError;
use sharebench_target::SessionSpec;
use tokio::time::{Instant, timeout_at};

use super::login_methods::{self, LoginMethods};
use crate::client::{Client, ClientError};
use crate::target::options::NcpOptions;
use crate::target::setup::{attach, connection_error, inspect_target, log_in};
use crate::target::transport::SocketTransport;
use crate::wire::name_space::{GetNameSpaces, NameSpaces, space};
use crate::wire::server_info::{DateAndTime, GetDateAndTime, ServerInfo};
use crate::wire::volume::{GetVolumeName, GetVolumeUsage, VolumeName, VolumeUsage};
use crate::wire::{Codec, Completion, WireError};

/// Numbers of volumes that are tried.
const MAX_VOLUMES: u8 = 64;
/// Unused numbers after which no further volume is expected.
const MAX_GAP: u8 = 8;

/// One volume of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Volume {
    pub(super) name: String,
    /// Ids of its name spaces.
    pub(super) spaces: Vec<u8>,
    /// Total and free bytes.
    pub(super) space: Option<(u64, u64)>,
}

/// What a session showed. Fields of steps that were not reached are empty.
#[derive(Debug, Default)]
pub(super) struct SessionFindings {
    pub(super) info: Option<ServerInfo>,
    pub(super) buffer: Option<usize>,
    pub(super) signs: bool,
    pub(super) clock: Option<(DateAndTime, SystemTime)>,
    pub(super) methods: Option<LoginMethods>,
    pub(super) logged_in: bool,
    pub(super) volumes: Vec<Volume>,
    /// Facts of the volume of the URL.
    pub(super) facts: TargetFacts,
    /// The step that failed, as a run would report it.
    pub(super) failure: Option<DialError>,
    /// True if the deadline passed before the session was open, as far as URL and password allow it.
    pub(super) late: bool,
}

/// Connects, and examines the server; with `logs_in`, after a login.
pub(super) async fn examine(
    options: &NcpOptions,
    logs_in: bool,
    attached_by: Instant,
    deadline: Instant,
) -> SessionFindings {
    let mut findings = SessionFindings::default();
    let spec = SessionSpec {
        connect_timeout: attached_by.saturating_duration_since(Instant::now()),
        ..SessionSpec::default()
    };
    let client = match timeout_at(attached_by, attach(options, &spec, None, &drop)).await {
        Ok(Ok(client)) => client,
        Ok(Err(error)) => {
            findings.failure = Some(error);
            return findings;
        }
        Err(_) => {
            findings.late = true;
            return findings;
        }
    };
    let mut opened = false;
    match timeout_at(deadline, steps(client, options, logs_in, &mut findings, &mut opened)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => findings.failure = Some(error),
        Err(_) => findings.late = !opened,
    }
    findings
}

async fn steps(
    mut client: Client<SocketTransport>,
    options: &NcpOptions,
    logs_in: bool,
    findings: &mut SessionFindings,
    opened: &mut bool,
) -> Result<(), DialError> {
    let failed = |error: ClientError| connection_error(&error);
    findings.buffer = Some(client.buffer());
    findings.signs = client.signs();
    findings.info = Some(client.server_info().await.map_err(failed)?);
    *opened = !logs_in;
    findings.clock = clock(&mut client).await.map_err(failed)?;
    findings.methods = Some(login_methods::examine(&mut client, &options.user).await.map_err(failed)?);
    if logs_in {
        log_in(&mut client, options).await?;
        findings.logged_in = true;
        *opened = options.volume.is_empty();
        findings.signs = client.signs();
    }
    findings.volumes = volumes(&mut client).await.map_err(failed)?;
    if logs_in && !options.volume.is_empty() {
        inspect_target(options, &mut client, &mut findings.facts).await?;
        *opened = true;
    }
    // The connection would occupy a slot of the server until its watchdog removes it.
    let _ = client.disconnect().await;
    Ok(())
}

/// The server's clock and the time of this machine; none if the server rejects the call.
async fn clock(
    client: &mut Client<SocketTransport>,
) -> Result<Option<(DateAndTime, SystemTime)>, ClientError> {
    let reply = accepted(client.call("date and time", &GetDateAndTime {}.into()).await)?;
    let now = SystemTime::now();
    Ok(reply.and_then(|data| DateAndTime::decode(data).ok()).map(|time| (time, now)))
}

/// The volumes, by number. Numbers need not be consecutive.
async fn volumes(client: &mut Client<SocketTransport>) -> Result<Vec<Volume>, ClientError> {
    let mut found = Vec::new();
    let mut gap = 0;
    for number in 0..MAX_VOLUMES {
        if gap == MAX_GAP {
            break;
        }
        let reply = accepted(client.call("volume name", &GetVolumeName { volume: number }.into()).await)?;
        let name = reply.map(VolumeName::decode).transpose().map_err(malformed)?;
        let name = name.map(|reply| String::from_utf8_lossy(reply.name.bytes()).into_owned());
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            gap += 1;
            continue;
        };
        gap = 0;
        let reply = accepted(client.call("name spaces", &GetNameSpaces { volume: number }.into()).await)?;
        // A server without the call knows DOS names only.
        let spaces = match reply.map(NameSpaces::decode).transpose().map_err(malformed)? {
            Some(spaces) => spaces.ids.to_vec(),
            None => vec![space::DOS],
        };
        let reply = accepted(client.call("volume usage", &GetVolumeUsage { volume: number }.into()).await)?;
        let usage = reply.map(VolumeUsage::decode).transpose().map_err(malformed)?;
        let space = usage.map(|usage| (usage.bytes(usage.total_blocks), usage.bytes(usage.free_blocks)));
        found.push(Volume { name, spaces, space });
    }
    Ok(found)
}

fn malformed(source: WireError) -> ClientError {
    ClientError::Wire { step: "volumes", source }
}

/// The data of a reply; none if the server rejects the call.
fn accepted(reply: Result<&[u8], ClientError>) -> Result<Option<&[u8]>, ClientError> {
    match reply {
        Ok(data) => Ok(Some(data)),
        Err(ClientError::Refused { completion, .. }) if completion != Completion::NoConnectionSlot => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
