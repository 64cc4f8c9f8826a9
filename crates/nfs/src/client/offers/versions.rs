//! Which versions of NFS and MOUNT a server serves.

use std::net::SocketAddr;

use sharebench_model::OpError;
use tokio::time::{Instant, timeout_at};

use crate::client::options::{NfsOptions, Route};
use crate::client::rpc::dial::Service;
use crate::compound::{COMPOUND, NFS4_VERSION, offers_minor_version, put_root_selection};
use crate::protocol::{MOUNT_PROGRAM, NFS_PROGRAM};
use crate::rpc::Rejection;
use crate::xdr::Writer;

/// `NFSPROC_NULL` of every program and version (RFC 5531, 12.1).
const NULL: u32 = 0;
/// Minor versions of NFSv4.
const MINOR_VERSIONS: [u32; 3] = [0, 1, 2];

/// What a server answers to a call of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VersionAnswer {
    /// It serves the version.
    Offered,
    /// It rejects the call.
    Rejected(Rejection),
    /// It does not answer as an RPC server.
    NoAnswer(String),
}

impl VersionAnswer {
    pub(super) const fn is_offered(&self) -> bool {
        matches!(self, Self::Offered)
    }
}

/// The versions of one program, with the answer to each.
pub(super) type Versions = Vec<(u32, VersionAnswer)>;

/// The versions of a server's programs.
#[derive(Debug, Default)]
pub(super) struct VersionOffers {
    /// Versions 2 to 4 of NFS.
    pub(super) nfs: Versions,
    /// Minor versions of NFSv4.
    pub(super) minor: Vec<u32>,
    /// Versions 1 to 3 of MOUNT.
    pub(super) mount: Versions,
}

impl VersionOffers {
    /// True if the server serves this version of NFS.
    pub(super) fn serves_nfs(&self, version: u32) -> bool {
        self.nfs.iter().any(|(known, answer)| *known == version && answer.is_offered())
    }

    /// True if the server serves version 3 of MOUNT.
    pub(super) fn serves_mount(&self) -> bool {
        self.mount.iter().any(|(version, answer)| *version == 3 && answer.is_offered())
    }

    /// The versions of NFS that it serves, with words between them; none if it serves none.
    pub(super) fn names(&self) -> Option<String> {
        let offered = self.nfs.iter().filter(|(_, answer)| answer.is_offered());
        let names: Vec<String> = offered.map(|(version, _)| format!("NFSv{version}")).collect();
        (!names.is_empty()).then(|| names.join(" and "))
    }

    /// True if something at the NFS port answers RPC calls.
    pub(super) fn is_rpc(&self) -> bool {
        self.nfs.iter().any(|(_, answer)| !matches!(answer, VersionAnswer::NoAnswer(_)))
    }
}

/// Calls every version of the programs at their ports.
pub(super) async fn call_each(
    nfs: SocketAddr,
    mount: SocketAddr,
    options: &NfsOptions,
    deadline: Instant,
) -> VersionOffers {
    let route = &Route { datagrams: options.route.datagrams, ..Route::default() };
    let ((nfs, minor), mount) = tokio::join!(
        async {
            tokio::join!(
                call_versions(nfs, NFS_PROGRAM, [2, 3, NFS4_VERSION], route, deadline),
                minor_versions(nfs, options, deadline)
            )
        },
        call_versions(mount, MOUNT_PROGRAM, [1, 2, 3], route, deadline),
    );
    VersionOffers { nfs, minor, mount }
}

/// Calls NULL of some versions of a program, each on a connection of its own, because a server may close one after a version
/// that it does not serve.
async fn call_versions(
    address: SocketAddr,
    program: u32,
    versions: [u32; 3],
    route: &Route,
    deadline: Instant,
) -> Versions {
    let call =
        |version| async move { (version, call_null(address, program, version, route, deadline).await) };
    let [first, second, third] = versions.map(call);
    let answers = tokio::join!(first, second, third);
    vec![answers.0, answers.1, answers.2]
}

async fn call_null(
    address: SocketAddr,
    program: u32,
    version: u32,
    route: &Route,
    deadline: Instant,
) -> VersionAnswer {
    let calling = async {
        let mut service = Service::program(address, program, version, route)
            .await
            .map_err(|error| VersionAnswer::NoAnswer(error.detail))?;
        let called = service.try_call("NULL", NULL, |_| {}, |_| Ok(())).await;
        let no_answer = |error: OpError| VersionAnswer::NoAnswer(error.to_string());
        called.map_err(no_answer)?.map_err(VersionAnswer::Rejected)
    };
    match timeout_at(deadline, calling).await {
        Ok(Ok(())) => VersionAnswer::Offered,
        Ok(Err(answer)) => answer,
        Err(_) => VersionAnswer::NoAnswer("no answer within the time limit".to_owned()),
    }
}

/// The minor versions of NFSv4 that a server offers; empty if it rejects COMPOUND.
async fn minor_versions(address: SocketAddr, options: &NfsOptions, deadline: Instant) -> Vec<u32> {
    let mut offered = Vec::new();
    let calling = async {
        // Unlike NULL, COMPOUND needs TLS where the server requires it.
        let route = Route { tls: options.route.tls.clone(), ..Route::default() };
        let mut service = Service::program(address, NFS_PROGRAM, NFS4_VERSION, &route).await.ok()?;
        service.select(NFS_PROGRAM, NFS4_VERSION, Some(&options.auth));
        for minor in MINOR_VERSIONS {
            let put = |writer: &mut Writer| put_root_selection(writer, minor);
            let called = service.try_call("COMPOUND", COMPOUND, put, offers_minor_version).await.ok()?;
            if called.ok()? {
                offered.push(minor);
            }
        }
        Some(())
    };
    let _ = timeout_at(deadline, calling).await;
    offered
}
