//! Explains a failed connection by what the server offers instead.

use std::net::SocketAddr;
use std::time::Duration;

use sharebench_client_core::resolve;
use sharebench_model::ErrorClass;
use sharebench_target::offers::identify_peer;
use sharebench_target::{ConnectError, UrlPart};
use tokio::time::{Instant, timeout_at};

use super::mounts;
use super::versions::{VersionOffers, call_each};
use crate::client::options::{NfsOptions, Route, Version};
use crate::client::rpc::port_lookup::{Ports, find_ports};
use crate::incompatibility::Incompatibility;

/// Returns the error with the incompatibility in words if the server shows one within `limit`, and the same error
/// otherwise.
pub(crate) async fn explain(options: &NfsOptions, error: ConnectError, limit: Duration) -> ConnectError {
    if error.is_of_share() {
        let names = exports(options, Instant::now() + limit).await;
        return error.with_names("exports", &names);
    }
    let of_server =
        matches!(error.part, UrlPart::Host | UrlPart::Port | UrlPart::Option("mountport") | UrlPart::Share);
    let of_protocol = matches!(
        error.class,
        ErrorClass::Disconnected | ErrorClass::Protocol | ErrorClass::Timeout | ErrorClass::Unsupported
    );
    if !of_server || !of_protocol {
        return error;
    }
    match tokio::time::timeout(limit, find(options, limit)).await.ok().flatten() {
        None => error,
        Some(found) => error.incompatible(found.part(), found.to_string()),
    }
}

/// The exports of the server; none if they cannot be listed.
async fn exports(options: &NfsOptions, deadline: Instant) -> Vec<String> {
    let listing = async {
        let host = *resolve(&options.host).await.ok()?.first()?;
        let mount = SocketAddr::new(host, find_ports(host, options).await.mount);
        mounts::examine(mount, options, deadline).await.exports?.ok()
    };
    let exports = timeout_at(deadline, listing).await.ok().flatten().unwrap_or_default();
    exports.into_iter().map(|export| export.path).collect()
}

async fn find(options: &NfsOptions, limit: Duration) -> Option<Incompatibility> {
    let deadline = Instant::now() + limit;
    let host = *resolve(&options.host).await.ok()?.first()?;
    let ports = find_ports(host, options).await;
    let nfs = SocketAddr::new(host, ports.nfs);
    let mount = SocketAddr::new(host, ports.mount);
    // A silent server leaves half of the time to find out what it speaks.
    let versions = call_each(nfs, mount, options, deadline - limit / 2).await;
    if versions.is_rpc() {
        return incompatibility(&versions, ports, options);
    }
    if options.route.datagrams.is_some() {
        let over_tcp = NfsOptions { route: Route::default(), ..options.clone() };
        let versions = call_each(nfs, mount, &over_tcp, deadline - limit / 4).await;
        if versions.is_rpc() {
            return Some(Incompatibility::NoUdp(ports.nfs));
        }
    }
    let rest = deadline.saturating_duration_since(Instant::now());
    identify_peer(nfs, rest).await.and_then(Incompatibility::of_peer)
}

/// What the versions of a server mean for this client; none if it serves what a run needs, or does not answer.
pub(super) fn incompatibility(
    versions: &VersionOffers,
    ports: Ports,
    options: &NfsOptions,
) -> Option<Incompatibility> {
    if !versions.is_rpc() {
        return None;
    }
    let requested = match options.version {
        Version::V4(_) => 4,
        Version::Auto if versions.serves_nfs(4) => 4,
        Version::V3 | Version::Auto => 3,
    };
    if !versions.serves_nfs(requested) {
        return Some(match versions.names() {
            Some(offered) => Incompatibility::OtherVersions { offered, requested },
            None => Incompatibility::NoNfs(ports.nfs),
        });
    }
    (requested == 3 && !versions.serves_mount()).then_some(Incompatibility::NoMount(ports.mount))
}
