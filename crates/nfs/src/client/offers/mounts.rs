//! The lists of a server: registrations at the port mapper, and exports of MOUNT with their security flavors.

use std::net::{IpAddr, SocketAddr};

use sharebench_model::ErrorClass;
use tokio::time::{Instant, timeout_at};

use crate::client::options::{NfsOptions, Route};
use crate::client::rpc::dial::Service;
use crate::exports::{Export, get_exports};
use crate::mount::{EXPORT, MNT, UMNT, candidates, get_mounted, put_path};
use crate::port_mapper::{DUMP, Registration, get_registrations};
use crate::protocol::MAX_PATH_BYTES;

/// The registrations at the port mapper of a host; none if it does not answer.
pub(super) async fn registrations(
    host: IpAddr,
    route: &Route,
    deadline: Instant,
) -> Option<Vec<Registration>> {
    let listing = async {
        let mut portmap = Service::portmap(host, route).await.ok()?;
        portmap.accept_lists();
        portmap.call("DUMP", DUMP, |_| {}, get_registrations).await.ok()
    };
    timeout_at(deadline, listing).await.ok().flatten()
}

/// The exports of a server, and the security flavors of the one in the URL.
#[derive(Debug, Default)]
pub(super) struct MountFindings {
    /// The exports, or why they are not known.
    pub(super) exports: Option<Result<Vec<Export>, String>>,
    /// The export of the URL and its flavors.
    pub(super) flavors: Option<(String, Vec<u32>)>,
}

/// Lists the exports, and mounts and unmounts the one of the URL.
pub(super) async fn examine(service: SocketAddr, options: &NfsOptions, deadline: Instant) -> MountFindings {
    let mut findings = MountFindings::default();
    let listing = async {
        let is_nfs_server = options.port.is_none_or(|port| port == service.port());
        let route = options.mount_route(is_nfs_server);
        let mounting = Service::mount(service, &options.auth, &route).await;
        let mut mounting = match mounting {
            Ok(mounting) => mounting,
            Err(error) => {
                findings.exports = Some(Err(error.detail));
                return;
            }
        };
        mounting.accept_lists();
        let exports = mounting.call("EXPORT", EXPORT, |_| {}, get_exports).await;
        // A peer that breaks the protocol would not answer further calls.
        let broken = exports
            .as_ref()
            .is_err_and(|error| error.class.ends_connection() || error.class == ErrorClass::Protocol);
        findings.exports = Some(exports.map_err(|error| error.to_string()));
        if !broken && options.path.len() <= MAX_PATH_BYTES {
            findings.flavors = flavors(&mut mounting, &options.path).await;
        }
    };
    let _ = timeout_at(deadline, listing).await;
    findings
}

/// Mounts the longest prefix of a path that is an export, and unmounts it.
async fn flavors(mounting: &mut Service, path: &str) -> Option<(String, Vec<u32>)> {
    for (export, _) in candidates(path) {
        let mounted =
            mounting.call("MNT", MNT, |writer| put_path(writer, &export), get_mounted).await.ok()?;
        if let Ok(mounted) = mounted {
            // The server lists who has mounted what; an entry of a probe would stay there.
            let _ = mounting.call("UMNT", UMNT, |writer| put_path(writer, &export), |_| Ok(())).await;
            return Some((export, mounted.flavors));
        }
    }
    None
}
