//! Explains a failed connection by what the server offers instead.

use std::time::Duration;

use sharebench_model::ErrorClass;
use sharebench_target::offers::identify_peer;
use sharebench_target::{ConnectError, SessionSpec, UrlPart};
use tokio::time::Instant;

use super::login_methods;
use super::session::examine;
use crate::target::incompatibility::Incompatibility;
use crate::target::options::NcpOptions;
use crate::target::setup::{attach, resolve};
use crate::wire::TransportKind;

/// Returns the error with the incompatibility in words if the server shows one within `limit`, and the same error
/// otherwise.
pub(crate) async fn explain(options: &NcpOptions, error: ConnectError, limit: Duration) -> ConnectError {
    if error.is_of_share() {
        let deadline = Instant::now() + limit;
        let volumes = examine(options, true, deadline, deadline).await.volumes;
        let names: Vec<String> = volumes.into_iter().map(|volume| volume.name).collect();
        return error.with_names("volumes", &names);
    }
    let found = match (error.part, error.class) {
        (UrlPart::Credentials, ErrorClass::Refused) => {
            tokio::time::timeout(limit, find_login(options, limit)).await.ok().flatten()
        }
        (
            UrlPart::Port | UrlPart::Host,
            ErrorClass::Disconnected | ErrorClass::Protocol | ErrorClass::Timeout,
        ) if options.ether.is_none() => find_protocol(options, limit).await,
        _ => None,
    };
    match found {
        None => error,
        Some(found) => error.incompatible(found.part(), found.to_string()),
    }
}

/// What the server speaks at its TCP port.
async fn find_protocol(options: &NcpOptions, limit: Duration) -> Option<Incompatibility> {
    let servers = resolve(options).await.ok()?;
    let peer = identify_peer(*servers.first()?, limit).await?;
    Incompatibility::of_peer(peer, options.transport == TransportKind::Tcp)
}

/// Whether the rejected account can log in to directory services only.
async fn find_login(options: &NcpOptions, limit: Duration) -> Option<Incompatibility> {
    let spec = SessionSpec { connect_timeout: limit, ..SessionSpec::default() };
    let mut client = attach(options, &spec, None, &drop).await.ok()?;
    let methods = login_methods::examine(&mut client, &options.user).await.ok()?;
    let _ = client.disconnect().await;
    methods.is_nds_only().then_some(Incompatibility::NdsLoginOnly)
}
