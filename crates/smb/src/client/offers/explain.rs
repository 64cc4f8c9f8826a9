//! Explains a failed connection by what the server offers instead.

use std::net::SocketAddr;
use std::time::Duration;

use sharebench_client_core::resolve;
use sharebench_model::ErrorClass;
use sharebench_target::offers::identify_peer;
use sharebench_target::{ConnectError, UrlPart};
use tokio::time::Instant;

use super::dialects::negotiate_each;
use super::session::examine;
use crate::client::options::SmbOptions;
use crate::incompatibility::Incompatibility;
use crate::wire::share_list::ListedShare;

/// Returns the error with the incompatibility in words if the server shows one within `limit`, and the same error
/// otherwise.
pub(crate) async fn explain(options: &SmbOptions, error: ConnectError, limit: Duration) -> ConnectError {
    if error.is_of_share() {
        let names = disk_shares(options, Instant::now() + limit).await;
        return error.with_names("shares", &names);
    }
    let Ok(addresses) = resolve(&options.host).await else { return error };
    let Some(host) = addresses.first() else { return error };
    let server = SocketAddr::new(*host, options.port);
    let found = match (error.part, error.class) {
        (UrlPart::Option("dialect"), ErrorClass::Unsupported) => {
            let offers = negotiate_each(server, Instant::now() + limit).await;
            missing_dialect(options, &offers.names())
        }
        (
            UrlPart::Port | UrlPart::Host,
            ErrorClass::Disconnected | ErrorClass::Protocol | ErrorClass::Timeout,
        ) => identify_peer(server, limit).await.and_then(Incompatibility::of_peer),
        _ => None,
    };
    match found {
        None => error,
        Some(found) => error.incompatible(found.part(), found.to_string()),
    }
}

/// The shares with files, as the account of the URL sees them; none if they cannot be listed.
async fn disk_shares(options: &SmbOptions, deadline: Instant) -> Vec<String> {
    let without_share = SmbOptions { share: String::new(), ..options.clone() };
    let listed = examine(&without_share, true, deadline, deadline).await.shares;
    let shares = listed.and_then(Result::ok).unwrap_or_default();
    shares.into_iter().filter(ListedShare::is_disk).map(|share| share.name).collect()
}

/// The dialects that the server offers instead of the one in the URL.
pub(super) fn missing_dialect(options: &SmbOptions, offered: &[String]) -> Option<Incompatibility> {
    let [selected] = options.dialects[..] else { return None };
    let selected = crate::client::options::dialect_name(selected);
    let known = !offered.is_empty() && !offered.contains(&selected);
    known.then(|| Incompatibility::DialectNotOffered {
        offered: format!("SMB {}", offered.join(", ")),
        selected,
    })
}
