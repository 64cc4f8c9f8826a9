//! One mounted session as a run opens it, and what it shows.

use std::net::SocketAddr;

use sharebench_client_core::{Connection, DialError, Protocol};
use sharebench_model::{MetaOp, MetaYield, Space, TargetFacts};
use sharebench_target::{Operations, SessionSpec};
use tokio::time::{Instant, timeout_at};

use super::squash::{self, RootSquash};
use crate::client::opening::{open_version_3, open_version_4};
use crate::client::options::{NfsOptions, Version};
use crate::client::v4::Nfs4Session;
use crate::results::FsInfo;

/// What a mounted session showed.
#[derive(Debug, Default)]
pub(super) struct SessionFindings {
    pub(super) limits: Option<FsInfo>,
    /// User and group that own the directory, and its mode.
    pub(super) owner: Option<(u32, u32, u32)>,
    pub(super) space: Option<Space>,
    pub(super) root_squash: Option<RootSquash>,
    /// Rights of the user to the directory, as ACCESS returns them.
    pub(super) rights: Option<u32>,
    /// The version that a run uses.
    pub(super) version: Option<Version>,
    /// What the session of version 4 negotiated.
    pub(super) facts: TargetFacts,
    /// Why no session could be opened, as a run would report it.
    pub(super) failure: Option<DialError>,
}

/// Mounts the export of the URL and examines it.
pub(super) async fn examine(options: &NfsOptions, nfs: SocketAddr, deadline: Instant) -> SessionFindings {
    let mut findings = SessionFindings::default();
    let spec = SessionSpec {
        slots: 1,
        slot_bytes: 4096,
        connect_timeout: deadline.saturating_duration_since(Instant::now()),
        allow_split: true,
    };
    match open_version_4(options, &spec).await {
        Ok(Some((minor, session))) => {
            findings.version = Some(Version::V4(minor));
            examine_version_4(session, deadline, &mut findings).await;
            return findings;
        }
        Ok(None) => {}
        Err(error) => {
            findings.failure = Some(error);
            return findings;
        }
    }
    let connect_timeout = deadline.saturating_duration_since(Instant::now());
    let spec = SessionSpec { connect_timeout, ..spec };
    let mut session = match open_version_3(options, &spec).await {
        Ok(session) => session,
        Err(error) => {
            findings.failure = Some(error);
            return findings;
        }
    };
    findings.version = Some(Version::V3);
    findings.limits = Some(session.limits);
    let examining = async {
        if let Ok(MetaYield::Space(space)) = session.perform_basic(&MetaOp::Space).await {
            findings.space = Some(space);
        }
        let root = session.directories.root();
        let attributes = session.attributes(root).await.ok()?;
        findings.owner = Some((attributes.uid, attributes.gid, attributes.mode));
        let (root_squash, rights) =
            squash::examine(nfs, root, &attributes, &options.auth, &options.route).await?;
        findings.root_squash = Some(root_squash);
        findings.rights = Some(rights);
        Some(())
    };
    let _ = timeout_at(deadline, examining).await;
    let _ = timeout_at(deadline, session.close()).await;
    findings
}

/// Examines a session of version 4.
async fn examine_version_4(mut session: Nfs4Session, deadline: Instant, findings: &mut SessionFindings) {
    findings.limits = Some(session.limits);
    findings.facts = session.facts();
    if let Ok(Ok(MetaYield::Space(space))) = timeout_at(deadline, session.perform_basic(&MetaOp::Space)).await
    {
        findings.space = Some(space);
    }
    if let Ok(Ok(rights)) = timeout_at(deadline, session.rights()).await {
        findings.rights = Some(rights);
    }
    let _ = timeout_at(deadline, session.close()).await;
}
