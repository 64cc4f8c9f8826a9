//! From a URL to a mounted session: port mapper, MOUNT, the walk to the directory, FSINFO.

use std::cell::Cell;
use std::net::SocketAddr;

use sharebench_client_core::{Connection, DialError, connect_first, resolve};
use sharebench_model::{ErrorClass, Fact, OpError, TargetFacts};
use sharebench_target::{LoginPhase, SessionSpec, UrlPart};

use crate::attributes::FileKind;
use crate::client::options::{NfsOptions, Route};
use crate::client::rpc::dial::{self, connect};
use crate::client::rpc::gss_login::open_channel;
use crate::client::rpc::link::Link;
use crate::client::rpc::port_lookup::{Ports, find_ports};
use crate::client::rpc::replies::undecodable;
use crate::client::v3::mount::Mount;
use crate::client::v3::session::NfsSession;
use crate::exports::flavor_name;
use crate::incompatibility::{Incompatibility, flavor_names};
use crate::mount::{MNT, Mounted, candidates, get_mounted, put_path};
use crate::protocol::{MAX_DATAGRAM_TRANSFER, MAX_PATH_BYTES, NFS_PROGRAM, NFS_VERSION, Procedure};
use crate::results::{FsInfo, get_status};
use crate::rpc::CallTemplate;
use crate::status::MountStatus;

/// Mounts the longest prefix of the URL's path that is exported. Returns the export, the names below it, and its root.
async fn mount(
    service: SocketAddr,
    options: &NfsOptions,
    route: &Route,
) -> Result<(String, Vec<String>, Mounted), DialError> {
    let mut mounting = dial::Service::mount(service, &options.auth, route).await?;
    let mut failure: Option<MountStatus> = None;
    if options.path.len() > MAX_PATH_BYTES {
        return Err(DialError::new(UrlPart::Path, ErrorClass::Unsupported, "longer than 1024 bytes"));
    }
    // The URL does not show where the export ends and the directory below it begins, so the prefixes are
    // tried, the longest first.
    for (export, below) in candidates(&options.path) {
        let mounted = mounting
            .call("MNT", MNT, |writer| put_path(writer, &export), get_mounted)
            .await
            .map_err(|error| {
                let error = DialError::blame(UrlPart::Option("mountport"))(error);
                if failure.is_none() { error.before_first_reply() } else { error }
            })?;
        match mounted {
            // Without this check the first call would fail with an error that does not name the cause.
            Ok(mounted) if mounted.accepts(options.flavor()) => return Ok((export, below, mounted)),
            Ok(Mounted { flavors, .. }) => {
                let selected = options.flavor();
                return Err(Incompatibility::Flavors { export, selected, flavors }.into());
            }
            Err(status @ (MountStatus::NOENT | MountStatus::ACCES | MountStatus::NOTDIR)) => {
                // Report "access denied" for one prefix rather than "not found" for another.
                if failure.is_none_or(|failure| failure.class() == ErrorClass::NotFound) {
                    failure = Some(status);
                }
            }
            Err(status) => {
                let detail = format!("MNT {export}: {status}");
                return Err(DialError::new(UrlPart::Share, status.class(), detail));
            }
        }
    }
    let status = failure.unwrap_or(MountStatus::NOENT);
    let hint = if status == MountStatus::ACCES { options.port_hint() } else { "" };
    let detail = format!("MNT {}: {status}{hint}", options.path);
    Err(DialError::new(UrlPart::Share, status.class(), detail))
}

/// Finds the ports, connects, mounts the export and walks to the directory.
pub(crate) async fn open_mounted(
    options: &NfsOptions,
    spec: &SessionSpec,
    stage: &Cell<UrlPart>,
    reached: &dyn Fn(LoginPhase),
) -> Result<NfsSession, DialError> {
    let addresses = resolve(&options.host).await?;
    reached(LoginPhase::NameResolved);
    // A timeout is attributed to the step that was in progress.
    stage.set(UrlPart::Port);
    let (host, ports, link) = connect_first(&addresses, |host| async move {
        let ports = find_ports(host, options).await;
        reached(LoginPhase::PortsFound);
        let link = connect((host, ports.nfs).into(), &options.route, UrlPart::Port).await?;
        Ok((host, ports, answering(link).await?))
    })
    .await?;
    reached(LoginPhase::Connected);
    stage.set(UrlPart::Share);
    let service = SocketAddr::new(host, ports.mount);
    let is_nfs_server = ports.mount == ports.nfs;
    let (export, below, mounted) = mount(service, options, &options.mount_route(is_nfs_server)).await?;
    reached(LoginPhase::Attached);
    if options.security.is_some() {
        stage.set(UrlPart::Credentials);
    }
    let address = SocketAddr::new(host, ports.nfs);
    let channel = open_channel(link, address, options, spec.slots as usize, spec.slot_bytes).await?;
    if options.security.is_some() {
        reached(LoginPhase::LoggedIn);
    }
    stage.set(UrlPart::Share);
    let mount = Mount { service, is_nfs_server, export, options: options.clone() };
    // The session performs its own setup calls, so that they follow the same rules as later ones.
    let mut session =
        NfsSession::new(channel, mounted.handle, FsInfo::default(), spec, TargetFacts::new(), mount);
    let root = walk(&mut session, mounted.handle, &below).await.map_err(|mut error| {
        if error.class == ErrorClass::Refused && !mounted.flavors.is_empty() {
            error.detail =
                format!("{} (the export accepts sec={})", error.detail, flavor_names(&mounted.flavors));
        }
        error
    })?;
    let mut limits = fs_info(&mut session).await.map_err(DialError::blame(UrlPart::Share))?;
    if options.route.datagrams.is_some() {
        limits = limits.at_most(MAX_DATAGRAM_TRANSFER);
    }
    for _ in 1..options.connections {
        let stream = connect((host, ports.nfs).into(), &options.route, UrlPart::Option("nconnect")).await?;
        session.channel.attach(stream);
    }
    let facts = facts(&mut session, options, &limits, ports);
    session.mounted(root, limits, facts);
    if !spec.allow_split {
        session.limits().check(spec)?;
    }
    reached(LoginPhase::Opened);
    Ok(session)
}

/// The link once a server answers on it. A connection shows that by itself; over UDP, NULL is called.
async fn answering(link: Link) -> Result<Link, DialError> {
    if matches!(link, Link::Stream(_)) {
        return Ok(link);
    }
    let mut service = dial::Service::on(link, CallTemplate::new(NFS_PROGRAM, NFS_VERSION, None));
    let called = service.call("NULL", Procedure::Null as u32, |_| {}, |_| Ok(())).await;
    called.map_err(DialError::blame(UrlPart::Port))?;
    Ok(service.into_link().0)
}

/// Looks up the names below the export; the last one must be a directory.
async fn walk(
    session: &mut NfsSession,
    mut root: crate::protocol::FileHandle,
    below: &[String],
) -> Result<crate::protocol::FileHandle, DialError> {
    let attributes = session.attributes(root).await;
    let attributes =
        attributes.map_err(|error| DialError::blame(UrlPart::Share)(error).before_first_reply())?;
    let export = session.export().to_owned();
    check_directory(&export, attributes.kind)?;
    for name in below {
        let (handle, attributes) =
            session.lookup(root, name).await.map_err(DialError::blame(UrlPart::Path))?;
        root = handle;
        check_directory(name, attributes.kind)?;
    }
    Ok(root)
}

/// A server would answer a LOOKUP below a link or a special file with `NFS3ERR_NOTDIR`, which does not state what it is.
fn check_directory(name: &str, kind: FileKind) -> Result<(), DialError> {
    if kind == FileKind::Directory {
        return Ok(());
    }
    Err(DialError::new(UrlPart::Path, ErrorClass::NotFound, kind.not_a_directory(name)))
}

async fn fs_info(session: &mut NfsSession) -> Result<FsInfo, OpError> {
    let root = session.directories.root();
    let mut reader = session.request(Procedure::FsInfo, |writer| root.put(writer)).await?;
    match get_status(&mut reader).map_err(|error| undecodable(error, "FSINFO"))? {
        Ok(()) => FsInfo::get(&mut reader).map_err(|error| undecodable(error, "FSINFO")),
        Err(status) => Err(status.failure("FSINFO")),
    }
}

fn facts(session: &mut NfsSession, options: &NfsOptions, limits: &FsInfo, ports: Ports) -> TargetFacts {
    let local = session.channel.local_addr().map_or_else(String::new, |address| address.to_string());
    let mut facts = TargetFacts::from([
        (Fact::Vers, "3".to_owned()),
        (Fact::Transport, options.route.transport().name().to_owned()),
        (Fact::Nconnect, session.channel.connections().to_string()),
        (Fact::Sec, flavor_name(options.flavor())),
        (Fact::Export, session.export().to_owned()),
        (Fact::Port, ports.nfs.to_string()),
        (Fact::Mountport, ports.mount.to_string()),
        (Fact::LocalAddress, local),
        (Fact::Uid, options.auth.uid.to_string()),
        (Fact::Gid, options.auth.gid.to_string()),
        (Fact::Rtmax, limits.read_max.to_string()),
        (Fact::Rtpref, limits.read_preferred.to_string()),
        (Fact::Wtmax, limits.write_max.to_string()),
        (Fact::Wtpref, limits.write_preferred.to_string()),
        (Fact::Dtpref, limits.directory_preferred.to_string()),
        (Fact::MaxFileSize, limits.max_file_size.to_string()),
    ]);
    let contexts = session.channel.contexts();
    if contexts > 0 {
        facts.state(Fact::SecContexts, contexts.to_string());
    }
    session.channel.add_tls_facts(&options.route, &mut facts);
    if let Some(timeout) = options.route.datagrams {
        facts.state(Fact::Timeo, (timeout.as_millis() / 100).to_string());
    }
    options.route.tcp.add_facts(&mut facts);
    facts
}

impl NfsSession {
    fn mounted(&mut self, root: crate::protocol::FileHandle, limits: FsInfo, facts: TargetFacts) {
        self.directories = crate::client::directories::Directories::new(root);
        self.limits = limits;
        self.facts = facts;
    }

    fn export(&self) -> &str {
        &self.mount.export
    }
}
