//! From a URL to a session of the requested version.

use std::cell::Cell;
use std::future::Future;
use std::net::SocketAddr;

use sharebench_client_core::{DialError, Multiplexed, connect_first, resolve};
use sharebench_model::ErrorClass;
use sharebench_target::{LoginPhase, Session, SessionSpec, UrlPart};

use crate::client::options::{NfsOptions, Version};
use crate::client::rpc::dial::connect;
use crate::client::rpc::gss_login::open_channel;
use crate::client::rpc::port_lookup::NFS_PORT;
use crate::client::v3::NfsSession;
use crate::client::v3::mounting::open_mounted;
use crate::client::v4::{self, Nfs4Session};

/// The minor versions in the order in which `vers=auto` tries them.
const MINOR_VERSIONS: [u32; 3] = [2, 1, 0];

/// Opens a session within the caller's timeout.
pub(crate) async fn open_session(
    options: &NfsOptions,
    spec: &SessionSpec,
    reached: &dyn Fn(LoginPhase),
) -> Result<Box<dyn Session>, DialError> {
    let stage = Cell::new(UrlPart::Host);
    within(spec, &stage, open_staged(options, spec, &stage, reached)).await
}

/// Opens a session of version 3 within the caller's timeout.
pub(crate) async fn open_version_3(
    options: &NfsOptions,
    spec: &SessionSpec,
) -> Result<NfsSession, DialError> {
    let stage = Cell::new(UrlPart::Host);
    within(spec, &stage, open_mounted(options, spec, &stage, &drop)).await
}

/// Opens a session of version 4 within the caller's timeout, and gives its minor version; none where a session of this URL
/// is one of version 3.
pub(crate) async fn open_version_4(
    options: &NfsOptions,
    spec: &SessionSpec,
) -> Result<Option<(u32, Nfs4Session)>, DialError> {
    let stage = Cell::new(UrlPart::Host);
    within(spec, &stage, open_some_minor(options, spec, &stage, &drop)).await
}

async fn within<T>(
    spec: &SessionSpec,
    stage: &Cell<UrlPart>,
    opening: impl Future<Output = Result<T, DialError>>,
) -> Result<T, DialError> {
    tokio::time::timeout(spec.connect_timeout, opening).await.unwrap_or_else(|_| {
        let detail = format!("no answer within {:?}", spec.connect_timeout);
        Err(DialError::new(stage.get(), ErrorClass::Timeout, detail))
    })
}

async fn open_staged(
    options: &NfsOptions,
    spec: &SessionSpec,
    stage: &Cell<UrlPart>,
    reached: &dyn Fn(LoginPhase),
) -> Result<Box<dyn Session>, DialError> {
    if let Some((_, session)) = open_some_minor(options, spec, stage, reached).await? {
        return Ok(Box::new(Multiplexed::new(session)));
    }
    let session = open_mounted(options, spec, stage, reached).await?;
    Ok(Box::new(Multiplexed::new(session)))
}

/// Opens a session of the first minor version that the URL allows and the server serves; none if version 3 follows.
async fn open_some_minor(
    options: &NfsOptions,
    spec: &SessionSpec,
    stage: &Cell<UrlPart>,
    reached: &dyn Fn(LoginPhase),
) -> Result<Option<(u32, Nfs4Session)>, DialError> {
    let minors: &[u32] = match options.version {
        Version::V3 => &[],
        Version::V4(ref minor) => std::slice::from_ref(minor),
        Version::Auto => &MINOR_VERSIONS,
    };
    for minor in minors {
        match open_minor(options, *minor, spec, stage, reached).await {
            Ok(session) => return Ok(Some((*minor, session))),
            // Only the absence of the version leads to the next one. A name that is missing is missing there as well,
            // and a server in trouble must not be measured with another version.
            Err(error) if options.version == Version::Auto && lacks_version(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn lacks_version(error: &DialError) -> bool {
    error.part == UrlPart::Option("vers")
}

async fn open_minor(
    options: &NfsOptions,
    minor: u32,
    spec: &SessionSpec,
    stage: &Cell<UrlPart>,
    reached: &dyn Fn(LoginPhase),
) -> Result<Nfs4Session, DialError> {
    let addresses = resolve(&options.host).await?;
    reached(LoginPhase::NameResolved);
    // A timeout is attributed to the step that was in progress.
    stage.set(UrlPart::Port);
    let port = options.port.unwrap_or(NFS_PORT);
    let (address, stream) = connect_first(&addresses, |host| async move {
        let address = SocketAddr::new(host, port);
        Ok((address, connect(address, &options.route, UrlPart::Port).await?))
    })
    .await?;
    reached(LoginPhase::Connected);
    if options.security.is_some() {
        stage.set(UrlPart::Credentials);
    }
    // One more call than slots, for the renewal of the lease.
    let channel = open_channel(stream, address, options, spec.slots as usize + 1, spec.slot_bytes).await?;
    if options.security.is_some() {
        reached(LoginPhase::LoggedIn);
    }
    stage.set(UrlPart::Share);
    v4::open_session(channel, address, minor, options, spec, reached).await
}
