//! One mounted session as a run opens it, and what it shows.

use std::net::SocketAddr;

use sharebench_model::{MetaOp, MetaYield, Space, TargetFacts};
use sharebench_stream_client::DialError;
use sharebench_target::{Session, SessionSpec};
use tokio::time::{Instant, timeout_at};

use super::squash::{self, RootSquash};
use crate::client::opening::{open_version_3, open_version_4};
use crate::client::options::{NfsOptions, Version};
use crate::results::FsInfo;

/// What a mounted session showed.
#[derive(Debug, Default)]
pub(super) struct SessionFindings {
    pub(super) limits: Option<FsInfo>,
    /// User and group that own the directory, and its mode.
    pub(super) owner: Option<(u32, u32, u32)>,
    pub(super) space: Option<Space>,
    pub(super) root_squash: Option<RootSquash>,
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
    if let Version::V4(minor) = options.version {
        examine_version_4(options, minor, &spec, deadline, &mut findings).await;
        return findings;
    }
    let mut session = match open_version_3(options, &spec).await {
        Ok(session) => session,
        Err(error) => {
            findings.failure = Some(error);
            return findings;
        }
    };
    findings.limits = Some(session.limits);
    let examining = async {
        if let Ok(MetaYield::Space(space)) = session.perform(&MetaOp::Space).await {
            findings.space = Some(space);
        }
        let root = session.directories.root();
        let attributes = session.attributes(root).await.ok()?;
        findings.owner = Some((attributes.uid, attributes.gid, attributes.mode));
        findings.root_squash = squash::examine(nfs, root, &attributes, &options.auth, &options.route).await;
        Some(())
    };
    let _ = timeout_at(deadline, examining).await;
    let closing: Box<dyn Session> = Box::new(session);
    let _ = timeout_at(deadline, closing.close()).await;
    findings
}

/// Opens a session of version 4 and examines it.
async fn examine_version_4(
    options: &NfsOptions,
    minor: u32,
    spec: &SessionSpec,
    deadline: Instant,
    findings: &mut SessionFindings,
) {
    let mut session = match open_version_4(options, minor, spec).await {
        Ok(session) => session,
        Err(error) => {
            findings.failure = Some(error);
            return;
        }
    };
    findings.limits = Some(session.limits);
    findings.facts = session.facts();
    if let Ok(Ok(MetaYield::Space(space))) = timeout_at(deadline, session.perform(&MetaOp::Space)).await {
        findings.space = Some(space);
    }
    let closing: Box<dyn Session> = Box::new(session);
    let _ = timeout_at(deadline, closing.close()).await;
}
