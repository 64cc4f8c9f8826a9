//! From a URL to a session: client id, session, and the walk from the pseudo root to the directory.

use std::net::SocketAddr;
use std::time::Duration;

use sharebench_client_core::{Connection, DialError};
use sharebench_model::{ErrorClass, Fact, OpError, TargetFacts};
use sharebench_target::{LocalBoxFuture, LoginPhase, SessionSpec, UrlPart};

use crate::client::directories::Directories;
use crate::client::options::NfsOptions;
use crate::client::rpc::channel::{Channel, LastLoss};
use crate::client::rpc::dial::random;
use crate::client::v4::binding::Binding;
use crate::client::v4::callbacks::{CALLBACK_PROGRAM, CallbackSlot};
use crate::client::v4::dialect::V4;
use crate::client::v4::names::{required, to_handle};
use crate::client::v4::requests::Request;
use crate::client::v4::session::Nfs4Session;
use crate::client::v4::slots::SlotTable;
use crate::exports::flavor_name;
use crate::results::FsInfo;
use crate::v4::attribute_types::FileType;
use crate::v4::attributes::Attributes;
use crate::v4::bitmap::Bitmap;
use crate::v4::client_id::{ClientIdConfirm, NetworkAddress, SetClientId};
use crate::v4::data::{FileHandle4, PutFh};
use crate::v4::item::Opaque;
use crate::v4::names::FileAttributes;
use crate::v4::operation::Operation;
use crate::v4::session::{
    CONNECTION_BACK_CHANNEL, CallbackSecurity, ChannelLimits, CreateSession, CreatedSession, ExchangeId,
    ExchangedId, NoStateProtection, ReclaimComplete, SUPPORTS_REFERRALS, USE_NON_PNFS, USE_PNFS_MDS,
};
use crate::v4::status::Nfs4Status;

/// What a call needs in addition to the data of a WRITE: RPC header with credentials, SEQUENCE, PUTFH, WRITE.
const CALL_OVERHEAD: u32 = 1024;
/// What a reply needs in addition to the data of a READ.
const REPLY_OVERHEAD: u32 = 512;
/// Data that a message can carry whatever the record size, so that the limits of the server are known.
const MIN_MESSAGE: u32 = 1 << 20;
/// Largest reply that the server keeps for a repeated call: that of an OPEN.
const CACHED_REPLY: u32 = 1024;
/// Operations in a call.
const OPERATIONS: u32 = 16;

/// `type`, `lease_time`, `maxfilesize`, `maxread`, `maxwrite`.
const LIMITS: Bitmap = Bitmap::from_numbers(&[1, 10, 27, 30, 31]);

/// What the server granted, apart from the limits of the file system.
#[derive(Debug, Default)]
struct Granted {
    slots: u32,
    requested_slots: u32,
    max_request: u32,
    max_response: u32,
    facts: Vec<(Fact, String)>,
}

/// Opens a session of a minor version on a channel with one connection.
pub(crate) async fn open_session(
    channel: Channel<V4>,
    address: SocketAddr,
    minor: u32,
    options: &NfsOptions,
    spec: &SessionSpec,
    reached: &dyn Fn(LoginPhase),
) -> Result<Nfs4Session, DialError> {
    let mut session = Nfs4Session::new(channel, minor, spec, options, address);
    let granted = if minor == 0 { session.set_client_id().await } else { session.create_session(spec).await };
    let granted = granted.map_err(|error| first_error(error, minor))?;
    session.is_establishing = false;
    session.add_connections().await?;
    reached(LoginPhase::Negotiated);
    let (root, limits, lease) = session.walk().await?;
    reached(LoginPhase::Attached);
    session.directories = Directories::new(root);
    session.limits = limits_of(&granted, limits);
    session.recovery.lease = Some(lease);
    if !spec.allow_split {
        session.limits().check(spec)?;
    }
    session.facts = facts(&mut session, &granted, lease);
    reached(LoginPhase::Opened);
    Ok(session)
}

/// Limits of READ and WRITE: those of the file system, and what fits into a message of the session.
fn limits_of(granted: &Granted, limits: FsInfo) -> FsInfo {
    if granted.slots == 0 {
        return limits;
    }
    let read_max = limits.read_max.min(granted.max_response.saturating_sub(REPLY_OVERHEAD));
    let write_max = limits.write_max.min(granted.max_request.saturating_sub(CALL_OVERHEAD));
    let listing = granted.max_response.saturating_sub(REPLY_OVERHEAD).min(limits.directory_preferred);
    FsInfo { read_max, write_max, directory_preferred: listing, read_preferred: read_max, ..limits }
}

fn facts(session: &mut Nfs4Session, granted: &Granted, lease: Duration) -> TargetFacts {
    let contexts = session.channel.contexts();
    let options = &session.options;
    let limits = &session.limits;
    let local = session.channel.local_addr().map_or_else(String::new, |address| address.to_string());
    let mut facts = TargetFacts::from([
        (Fact::Vers, format!("4.{}", session.minor)),
        (Fact::Transport, "tcp".to_owned()),
        (Fact::Nconnect, session.channel.connections().to_string()),
        (Fact::Compound, if options.compound { "on" } else { "off" }.to_owned()),
        (Fact::Sec, flavor_name(options.flavor())),
        (Fact::Export, format!("/{}", options.path.trim_matches('/'))),
        (Fact::Port, session.address.port().to_string()),
        (Fact::LocalAddress, local),
        (Fact::Uid, options.auth.uid.to_string()),
        (Fact::Gid, options.auth.gid.to_string()),
        (Fact::Maxread, limits.read_max.to_string()),
        (Fact::Maxwrite, limits.write_max.to_string()),
        (Fact::MaxFileSize, limits.max_file_size.to_string()),
        (Fact::LeaseSeconds, lease.as_secs().to_string()),
        (Fact::Delegations, "wanted only where an operation requests them".to_owned()),
        (Fact::Pnfs, "layouts not requested".to_owned()),
    ]);
    facts.extend(granted.facts.iter().cloned());
    if granted.slots > 0 {
        facts.state(Fact::SlotsRequested, granted.requested_slots.to_string());
        facts.state(Fact::SlotsGranted, granted.slots.to_string());
        if granted.slots < granted.requested_slots {
            let detail = format!("{} slots (the server grants {})", granted.requested_slots, granted.slots);
            facts.state(Fact::NotGranted, detail);
        }
    }
    if contexts > 0 {
        facts.state(Fact::SecContexts, contexts.to_string());
    }
    session.channel.add_tls_facts(&options.route, &mut facts);
    options.route.tcp.add_facts(&mut facts);
    facts
}

/// A number that no other boot or client uses.
fn unique() -> [u8; 8] {
    ((u64::from(random()) << 32) | u64::from(random())).to_be_bytes()
}

/// The name of a client. Each session is a client of its own, so that none depends on the state of another.
fn client_name() -> String {
    format!("sharebench {:016x}", u64::from_be_bytes(unique()))
}

impl Nfs4Session {
    /// Becomes a new client of the server, on the same connections, after the server has forgotten the earlier one.
    pub(crate) fn replace_client(&mut self) -> LocalBoxFuture<'_, Result<(), OpError>> {
        Box::pin(async move {
            self.owners.restart();
            self.is_establishing = true;
            let established = if self.minor == 0 {
                self.set_client_id().await
            } else {
                self.slots = None;
                self.callback_slot = CallbackSlot::default();
                let slots = self.payloads.count() as u32;
                let slot_bytes = self.payloads.slot_bytes() as u32;
                self.create_session(&SessionSpec { slots, slot_bytes, ..SessionSpec::default() }).await
            };
            self.is_establishing = false;
            established?;
            self.replaced += 1;
            Ok(())
        })
    }

    /// `SETCLIENTID` and `SETCLIENTID_CONFIRM` (RFC 7530, 16.33 and 16.34). The client does not listen for callbacks, so that
    /// the server grants no delegations.
    async fn set_client_id(&mut self) -> Result<Granted, OpError> {
        let owner = client_name();
        let verifier = unique();
        let callback_address = NetworkAddress { network: Opaque(b"tcp"), address: Opaque(b"0.0.0.0.0.0") };
        let set = SetClientId {
            verifier,
            owner: Opaque(owner.as_bytes()),
            callback_program: 0,
            callback_address,
            callback_ident: 0,
        };
        let mut results = self
            .request(Request::reading(Operation::SetClientId), |compound, _| {
                compound.operation(Operation::SetClientId, &set);
            })
            .await?;
        let confirm: ClientIdConfirm = results.get(Operation::SetClientId)?;
        let mut results = self
            .request(Request::reading(Operation::SetClientIdConfirm), |compound, _| {
                compound.operation(Operation::SetClientIdConfirm, &confirm);
            })
            .await?;
        results.done(Operation::SetClientIdConfirm)?;
        self.client_id = confirm.client_id;
        Ok(Granted::default())
    }

    /// `EXCHANGE_ID`, `CREATE_SESSION` and `RECLAIM_COMPLETE` (RFC 8881, 18.35, 18.36 and 18.51).
    async fn create_session(&mut self, spec: &SessionSpec) -> Result<Granted, OpError> {
        let (client_id, sequence, facts) = self.exchange_id().await?;
        self.client_id = client_id;
        let wanted = wanted_limits(spec);
        let back_channel = ChannelLimits {
            header_padding: 0,
            max_request: 4096,
            max_response: 4096,
            max_cached_response: 0,
            max_operations: 4,
            max_requests: 1,
            rdma_reads: None,
        };
        let create = CreateSession {
            client_id,
            sequence,
            flags: CONNECTION_BACK_CHANNEL,
            fore_channel: wanted,
            back_channel,
            callback_program: CALLBACK_PROGRAM,
            callback_security: CallbackSecurity { none: false, sys: Some((0, 0)) },
        };
        let mut results = self
            .request(Request::reading(Operation::CreateSession), |compound, _| {
                compound.operation(Operation::CreateSession, &create);
            })
            .await?;
        let created: CreatedSession = results.get(Operation::CreateSession)?;
        let fore = created.fore_channel;
        self.slots = Some(SlotTable::new(created.session, fore.max_requests.min(wanted.max_requests)));
        // The reply to a repeated call is the reply to the first attempt, so that calls survive their connection.
        self.channel.on_last_loss(LastLoss::HoldsCalls);
        self.reclaim_complete().await?;
        let mut facts = facts;
        let back = created.flags & CONNECTION_BACK_CHANNEL != 0;
        facts.push((Fact::Backchannel, if back { "same connection" } else { "none" }.to_owned()));
        Ok(Granted {
            slots: fore.max_requests,
            requested_slots: wanted.max_requests,
            max_request: fore.max_request,
            max_response: fore.max_response,
            facts,
        })
    }

    async fn exchange_id(&mut self) -> Result<(u64, u32, Vec<(Fact, String)>), OpError> {
        let owner = client_name();
        let verifier = unique();
        let exchange = ExchangeId {
            verifier,
            owner: Opaque(owner.as_bytes()),
            flags: SUPPORTS_REFERRALS | USE_NON_PNFS,
            protection: NoStateProtection,
            implementation: None,
        };
        let mut results = self
            .request(Request::reading(Operation::ExchangeId), |compound, _| {
                compound.operation(Operation::ExchangeId, &exchange);
            })
            .await?;
        let exchanged: ExchangedId<'_> = results.get(Operation::ExchangeId)?;
        let mut facts = Vec::new();
        if let Some(implementation) = exchanged.implementation {
            facts.push((Fact::Server, String::from_utf8_lossy(implementation.name.0).into_owned()));
        }
        if exchanged.flags & USE_PNFS_MDS != 0 {
            facts.push((Fact::Pnfs, "offered; layouts not requested".to_owned()));
        }
        Ok((exchanged.client_id, exchanged.sequence, facts))
    }

    /// This client has nothing to reclaim; a server in its grace period waits for this statement.
    async fn reclaim_complete(&mut self) -> Result<(), OpError> {
        let mut results = self
            .request(Request::changing(Operation::ReclaimComplete), |compound, _| {
                compound.operation(Operation::ReclaimComplete, &ReclaimComplete { one_file_system: false });
            })
            .await?;
        results.done(Operation::ReclaimComplete)
    }

    /// Opens the further connections of `nconnect=`.
    async fn add_connections(&mut self) -> Result<(), DialError> {
        for _ in 1..self.options.connections {
            let binding = Binding::from_session(self);
            let (stream, wire) = binding.connect().await?;
            self.channel.attach(stream);
            self.channel.add_wire(wire);
        }
        Ok(())
    }

    /// Walks from the pseudo root to the directory of the URL. Returns its handle, the limits of its file system, and the
    /// lease.
    async fn walk(&mut self) -> Result<(FileHandle4, FsInfo, Duration), DialError> {
        let path = self.options.path.clone();
        let mut handle = match self.pseudo_root().await {
            Ok(root) => root,
            Err(error) => {
                let hint = match self.last_status() {
                    Some(Nfs4Status::Perm | Nfs4Status::Noent) => self.options.port_hint(),
                    _ => "",
                };
                let error = OpError { detail: format!("{}{hint}", error.detail), ..error };
                return Err(self.explain_handle(None, DialError::blame(UrlPart::Share)(error)).await);
            }
        };
        for name in path.split('/').filter(|name| !name.is_empty()) {
            handle = match self.lookup(handle, name).await {
                Ok((found, ..)) => found,
                Err(error) => return Err(self.explain_lookup(handle, name, error).await),
            };
        }
        let blame = DialError::blame(UrlPart::Path);
        let attributes = match self.root_attributes(&handle).await {
            Ok(attributes) => attributes,
            Err(error) => return Err(self.explain_handle(Some(handle), blame(error)).await),
        };
        let kind = required(attributes.kind, "type").map_err(&blame)?;
        if kind != FileType::Directory {
            return Err(DialError::new(
                UrlPart::Path,
                ErrorClass::NotFound,
                format!("'/{path}' is not a directory but {}", kind.name(), path = path.trim_matches('/')),
            ));
        }
        let bounded =
            |limit: Option<u64>| limit.map_or(u32::MAX, |limit| u32::try_from(limit).unwrap_or(u32::MAX));
        let limits = FsInfo {
            read_max: bounded(attributes.max_read),
            read_preferred: bounded(attributes.max_read),
            write_max: bounded(attributes.max_write),
            write_preferred: bounded(attributes.max_write),
            directory_preferred: bounded(attributes.max_read),
            max_file_size: attributes.max_file_size.unwrap_or(u64::MAX),
        };
        let lease = required(attributes.lease_seconds, "lease_time").map_err(&blame)?;
        Ok((handle, limits, Duration::from_secs(lease.max(1).into())))
    }

    async fn root_attributes(&mut self, root: &FileHandle4) -> Result<Attributes<'_>, OpError> {
        let mut results = self
            .request(Request::reading(Operation::GetAttr), |compound, _| {
                compound.handle(root).attributes(LIMITS);
            })
            .await?;
        results.done(Operation::PutFh)?;
        Ok(results.get::<FileAttributes>(Operation::GetAttr)?.attributes)
    }

    async fn pseudo_root(&mut self) -> Result<FileHandle4, OpError> {
        let mut results = self
            .request(Request::reading(Operation::PutRootFh), |compound, _| {
                compound.plain(Operation::PutRootFh).plain(Operation::GetFh);
            })
            .await?;
        results.done(Operation::PutRootFh)?;
        to_handle(&results.get::<PutFh<'_>>(Operation::GetFh)?)
    }

    /// The error of a name of the URL's path, with what the server says about it.
    async fn explain_lookup(&mut self, parent: FileHandle4, name: &str, error: OpError) -> DialError {
        match self.last_status() {
            Some(Nfs4Status::Moved) => self.referral(parent, name, error).await,
            Some(Nfs4Status::Wrongsec) => {
                let flavors = self.flavors_of_name(&parent, name).await;
                self.other_flavors(flavors, DialError::blame(UrlPart::Share)(error))
            }
            status => {
                let at_root = status == Some(Nfs4Status::Noent) && self.options.is_first_name(name);
                let hint = match status {
                    Some(Nfs4Status::Perm) => self.options.port_hint(),
                    _ if at_root => self.options.port_hint(),
                    _ => "",
                };
                let at_name = OpError { detail: format!("'{name}': {}{hint}", error.detail), ..error };
                DialError::blame(UrlPart::Share)(at_name)
            }
        }
    }
}

/// The limits of calls that a session requests: one slot per data operation, and one for everything else.
fn wanted_limits(spec: &SessionSpec) -> ChannelLimits {
    ChannelLimits {
        header_padding: 0,
        max_request: spec.slot_bytes.max(MIN_MESSAGE).saturating_add(CALL_OVERHEAD),
        max_response: spec.slot_bytes.max(MIN_MESSAGE).saturating_add(REPLY_OVERHEAD),
        max_cached_response: CACHED_REPLY,
        max_operations: OPERATIONS,
        max_requests: spec.slots + 1,
        rdma_reads: None,
    }
}

/// The error of the first call: if the server does not offer the version, the option that requests it is to be changed.
fn first_error(error: OpError, minor: u32) -> DialError {
    let lacks_version = error.class == ErrorClass::Unsupported;
    let dialed = DialError::blame(UrlPart::Port)(error).before_first_reply();
    if !lacks_version {
        return dialed;
    }
    let detail = format!("the server does not offer NFS version 4.{minor} ({})", dialed.detail);
    DialError::new(UrlPart::Option("vers"), ErrorClass::Unsupported, detail)
}
