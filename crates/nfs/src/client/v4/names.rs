//! Operations on names and attributes: each is one COMPOUND where the path to its directory is known.

use sharebench_model::{
    ErrorClass, FileRef, IoPolicy, MetaOp, MetaYield, OpError, OpStep, OpenHow, Space, Stat,
};
use sharebench_target::{CallResult, ClientCache, Operations, Semaphores, Watch};

use crate::client::directory_walk::DirectoryWalk;
use crate::client::open_files::OpenFile;
use crate::client::paths::{DIRECTORY_MODE, FILE_MODE, check_name, split};
use crate::client::target::check_policy;
use crate::client::v4::compound::Compound;
use crate::client::v4::requests::{Caller, Request};
use crate::client::v4::session::Nfs4Session;
use crate::client::v4::states::OpenState;
use crate::v4::attribute_types::FileType;
use crate::v4::attributes::{Attributes, SetAttributes};
use crate::v4::bitmap::Bitmap;
use crate::v4::data::{Close, FileHandle4, PutFh, StateId};
use crate::v4::item::Opaque;
use crate::v4::names::{
    ACCESS_EXTEND, ACCESS_LOOKUP, ACCESS_MODIFY, ACCESS_READ, Access, Accessible, Create, Created,
    FileAttributes, Lookup, NewObject, Remove, Rename, Renamed, SetAttr,
};
use crate::v4::open::{
    ChangeInfo, DENY_NONE, DelegReturn, Open, OpenClaim, OpenConfirm, OpenHow as Creation, Opened,
    RESULT_CONFIRM, SHARE_BOTH, SHARE_READ, StateOwner, WANT_NO_DELEGATION,
};
use crate::v4::operation::Operation;

/// `type` and `size`.
pub(crate) const KIND_AND_SIZE: Bitmap = Bitmap::of(&[1, 4]);
/// `space_avail` and `space_total`.
const SPACE: Bitmap = Bitmap::of(&[42, 44]);

/// An attribute that the server has to report.
pub(crate) fn required<T>(attribute: Option<T>, name: &str) -> Result<T, OpError> {
    let missing =
        || OpError::new(ErrorClass::Protocol, OpStep::Request("GETATTR"), format!("no attribute {name}"));
    attribute.ok_or_else(missing)
}

fn stat(attributes: &Attributes<'_>) -> Result<Stat, OpError> {
    let directory = required(attributes.kind, "type")? == FileType::Directory;
    let size = if directory { 0 } else { required(attributes.size, "size")? };
    Ok(Stat { size, directory })
}

pub(crate) fn to_handle(handle: &PutFh<'_>) -> Result<FileHandle4, OpError> {
    let too_long = || OpError::new(ErrorClass::Protocol, OpStep::Request("GETFH"), "handle above 128 bytes");
    FileHandle4::new(handle.handle.0).ok_or_else(too_long)
}

/// How to open a file: for what, what others may not do meanwhile, and the bits of the wish for a delegation (RFC 8881, 18.16.3).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    pub(crate) how: OpenHow,
    pub(crate) deny: u32,
    pub(crate) delegation: u32,
}

impl Wish {
    /// Denies nothing, and wants no delegation.
    pub(crate) const fn of(how: OpenHow) -> Self {
        Self { how, deny: DENY_NONE, delegation: WANT_NO_DELEGATION }
    }
}

/// A file that was opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenedAs {
    pub(crate) file: FileRef,
    pub(crate) handle: FileHandle4,
    pub(crate) size: u64,
    /// The delegation that the server has granted.
    pub(crate) delegation: Option<StateId>,
}

impl Operations for Nfs4Session {
    const CLIENT: &'static str = "NFS 4";
    const NOTIFICATIONS: &'static str = "this client over NFS 4";
    const SEMAPHORES: &'static str = "NFS";
    const NO_RIGHTS: &'static str = "NFS 4 has delegations and no leases of files";

    fn without_server_side(&self) -> &'static str {
        if self.minor == 0 { "NFS 4.0" } else { "NFS 4.1" }
    }

    async fn perform_basic(&mut self, op: &MetaOp) -> CallResult {
        match op {
            MetaOp::Open { path, how, policy } => {
                check_policy(*policy).map_err(|refusal| refusal.at_open())?;
                self.open(path, *how, *policy).await
            }
            MetaOp::Close { file } => {
                let returned = self.end_delegation_of(*file).await;
                let open = self.files.close(*file)?;
                let closed = self.close_state(open.handle).await;
                returned.and(closed.map(|()| MetaYield::Done))
            }
            MetaOp::SetSize { file, size } => {
                let open = self.files.get(*file)?.handle;
                self.set_size(open, *size).await.map(|()| MetaYield::Done)
            }
            MetaOp::Stat { path } => self.stat(path).await.map(MetaYield::Stat),
            MetaOp::List { path } => self.list(path).await,
            MetaOp::ListPage { path, restart } => self.list_page(path, *restart).await,
            MetaOp::Remove { path } => self.remove(path).await,
            MetaOp::RemoveDir { path } => {
                // Before the call: if the reply is lost, the directory may be gone, and a kept handle would be
                // stale.
                self.directories.remove(path);
                self.remove(path).await
            }
            MetaOp::MakeDir { path } => self.make_directory(path).await,
            MetaOp::Rename { from, to } => self.rename(from, to).await,
            MetaOp::Link { from, to } => self.link(from, to).await,
            MetaOp::SetModified { path, seconds } => self.set_modified(path, *seconds).await,
            MetaOp::Space => self.space().await,
        }
    }
}

impl Watch for Nfs4Session {}
impl Semaphores for Nfs4Session {}
impl ClientCache for Nfs4Session {}

impl Nfs4Session {
    /// LOOKUP of a name: its handle and kind.
    pub(crate) async fn lookup(
        &mut self,
        directory: FileHandle4,
        name: &str,
    ) -> Result<(FileHandle4, FileType, u64), OpError> {
        check_name(name)?;
        let request = Request::reading(Operation::Lookup);
        let build = |compound: &mut Compound<'_>, _: Caller| {
            compound
                .handle(&directory)
                .operation(Operation::Lookup, &Lookup { name: Opaque(name.as_bytes()) })
                .plain(Operation::GetFh)
                .attributes(KIND_AND_SIZE);
        };
        let mut results = self.request(request, build).await?;
        results.done(Operation::PutFh)?;
        results.done(Operation::Lookup)?;
        let handle = to_handle(&results.get::<PutFh<'_>>(Operation::GetFh)?)?;
        let FileAttributes { attributes } = results.get(Operation::GetAttr)?;
        let kind = required(attributes.kind, "type")?;
        Ok((handle, kind, attributes.size.unwrap_or(0)))
    }

    async fn stat(&mut self, path: &str) -> Result<Stat, OpError> {
        let (directory, name) = if path.is_empty() {
            (self.directories.root(), None)
        } else {
            let (parent, name) = split(path)?;
            (self.directory(parent).await?, Some(name))
        };
        let request = Request::reading(if name.is_some() { Operation::Lookup } else { Operation::GetAttr });
        let build = |compound: &mut Compound<'_>, _: Caller| {
            compound.handle(&directory);
            if let Some(name) = name {
                compound.operation(Operation::Lookup, &Lookup { name: Opaque(name.as_bytes()) });
            }
            compound.attributes(KIND_AND_SIZE);
        };
        let mut results = self.request(request, build).await?;
        results.done(Operation::PutFh)?;
        if name.is_some() {
            results.done(Operation::Lookup)?;
        }
        let FileAttributes { attributes } = results.get(Operation::GetAttr)?;
        stat(&attributes)
    }

    /// OPEN, with the attributes of the file in the same call. Minor version 0 confirms each owner once.
    async fn open(&mut self, path: &str, how: OpenHow, policy: IoPolicy) -> Result<MetaYield, OpError> {
        self.open_with(path, Wish::of(how), policy).await
    }

    /// OPEN without a delegation.
    pub(crate) async fn open_with(&mut self, path: &str, wish: Wish, policy: IoPolicy) -> CallResult {
        let OpenedAs { file, handle, size, delegation } = self.open_wishing(path, wish, policy).await?;
        if let Some(delegation) = delegation {
            self.return_delegation(handle, delegation).await?;
        }
        Ok(MetaYield::Opened { file, size })
    }

    /// OPEN with a wish. The caller returns a delegation.
    pub(crate) async fn open_wishing(
        &mut self,
        path: &str,
        wish: Wish,
        policy: IoPolicy,
    ) -> Result<OpenedAs, OpError> {
        let (parent, name) = split(path)?;
        let directory = self.directory(parent).await?;
        let owner = self.owners.acquire();
        let opened = self.open_at(directory, name, wish, owner).await;
        let (handle, state, size, delegation) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.owners.release(owner);
                return Err(error);
            }
        };
        let open = OpenState { handle, state, owner, locks: None };
        match self.files.open(OpenFile::new(open, policy)) {
            Ok(file) => Ok(OpenedAs { file, handle, size, delegation }),
            Err(error) => {
                self.close_state(open).await?;
                Err(error)
            }
        }
    }

    async fn open_at(
        &mut self,
        directory: FileHandle4,
        name: &str,
        Wish { how, deny, delegation }: Wish,
        owner: u32,
    ) -> Result<(FileHandle4, StateId, u64, Option<StateId>), OpError> {
        // Version 4.0 has no wishes.
        let wish = if self.minor == 0 { 0 } else { delegation };
        let access = wish | if how == OpenHow::Read { SHARE_READ } else { SHARE_BOTH };
        let create = SetAttributes { mode: Some(FILE_MODE), ..SetAttributes::default() };
        let creation = if how == OpenHow::CreateNew { Creation::Guarded(create) } else { Creation::Existing };
        let owner_name = owner.to_be_bytes();
        let build = |compound: &mut Compound<'_>, Caller { client_id, sequence }: Caller| {
            let owner = StateOwner { client_id, owner: Opaque(&owner_name) };
            let claim = OpenClaim::Name(Opaque(name.as_bytes()));
            let open = Open { sequence, access, deny, owner, how: creation, claim };
            compound
                .handle(&directory)
                .operation(Operation::Open, &open)
                .plain(Operation::GetFh)
                .attributes(KIND_AND_SIZE);
        };
        let mut results = self.request(Request::owned(Operation::Open, owner), build).await?;
        results.done(Operation::PutFh)?;
        let opened: Opened<'_> = results.get(Operation::Open)?;
        let mut state = opened.state;
        let confirm = opened.flags & RESULT_CONFIRM != 0;
        let delegation = opened.delegation.state();
        let handle = to_handle(&results.get::<PutFh<'_>>(Operation::GetFh)?)?;
        let attributes = results.get::<FileAttributes<'_>>(Operation::GetAttr).ok();
        let size = attributes.and_then(|found| found.attributes.size);
        if confirm && self.minor == 0 {
            state = self.confirm(handle, state, owner).await?;
        }
        // The server postponed GETATTR after it had opened the file.
        let size = match size {
            Some(size) => size,
            None => self.size(handle).await?,
        };
        Ok((handle, self.current(state), size, delegation))
    }

    /// The state that later operations name: with sessions its most recent version (RFC 8881, 8.2.2), so that the
    /// order in which the server performs them does not matter.
    pub(crate) fn current(&self, state: StateId) -> StateId {
        if self.minor == 0 { state } else { StateId { sequence: 0, ..state } }
    }

    async fn size(&mut self, handle: FileHandle4) -> Result<u64, OpError> {
        let request = Request::reading(Operation::GetAttr);
        let mut results = self
            .request(request, |compound, _| {
                compound.handle(&handle).attributes(KIND_AND_SIZE);
            })
            .await?;
        results.done(Operation::PutFh)?;
        let FileAttributes { attributes } = results.get(Operation::GetAttr)?;
        required(attributes.size, "size")
    }

    /// `OPEN_CONFIRM` (RFC 7530, 16.18).
    async fn confirm(&mut self, handle: FileHandle4, state: StateId, owner: u32) -> Result<StateId, OpError> {
        let request = Request::owned(Operation::OpenConfirm, owner);
        let mut results = self
            .request(request, |compound, Caller { sequence, .. }| {
                compound.handle(&handle).operation(Operation::OpenConfirm, &OpenConfirm { state, sequence });
            })
            .await?;
        results.done(Operation::PutFh)?;
        results.get(Operation::OpenConfirm)
    }

    /// `DELEGRETURN` (RFC 8881, 18.6).
    pub(crate) async fn return_delegation(
        &mut self,
        handle: FileHandle4,
        state: StateId,
    ) -> Result<(), OpError> {
        let request = Request::changing(Operation::DelegReturn);
        let mut results = self
            .request(request, |compound, _| {
                compound.handle(&handle).operation(Operation::DelegReturn, &DelegReturn { state });
            })
            .await?;
        results.done(Operation::PutFh)?;
        results.done(Operation::DelegReturn)
    }

    /// CLOSE, after what is locked is released. Its owner is free afterwards, even if this fails.
    pub(crate) async fn close_state(&mut self, open: OpenState) -> Result<(), OpError> {
        let unlocked = self.unlock_all(open).await;
        let OpenState { handle, state, owner, .. } = open;
        let request = Request::owned(Operation::Close, owner);
        let closing = async {
            let mut results = self
                .request(request, |compound, Caller { sequence, .. }| {
                    compound.handle(&handle).operation(Operation::Close, &Close { sequence, state });
                })
                .await?;
            results.done(Operation::PutFh)?;
            results.get::<StateId>(Operation::Close).map(drop)
        };
        let closed = closing.await;
        self.owners.release(owner);
        unlocked.and(closed)
    }

    async fn set_size(&mut self, open: OpenState, size: u64) -> Result<(), OpError> {
        let OpenState { handle, state, .. } = open;
        let attributes = SetAttributes { size: Some(size), ..SetAttributes::default() };
        let request = Request::changing(Operation::SetAttr);
        let mut results = self
            .request(request, |compound, _| {
                compound.handle(&handle).operation(Operation::SetAttr, &SetAttr { state, attributes });
            })
            .await?;
        results.done(Operation::PutFh)?;
        results.get::<Bitmap>(Operation::SetAttr).map(drop)
    }

    /// REMOVE, which removes files and empty directories alike.
    async fn remove(&mut self, path: &str) -> Result<MetaYield, OpError> {
        let (parent, name) = split(path)?;
        let directory = self.directory(parent).await?;
        let request = Request::changing(Operation::Remove);
        let mut results = self
            .request(request, |compound, _| {
                compound
                    .handle(&directory)
                    .operation(Operation::Remove, &Remove { name: Opaque(name.as_bytes()) });
            })
            .await?;
        results.done(Operation::PutFh)?;
        results.get::<ChangeInfo>(Operation::Remove)?;
        Ok(MetaYield::Done)
    }

    async fn make_directory(&mut self, path: &str) -> Result<MetaYield, OpError> {
        let (parent, name) = split(path)?;
        let directory = self.directory(parent).await?;
        let attributes = SetAttributes { mode: Some(DIRECTORY_MODE), ..SetAttributes::default() };
        let create = Create {
            object: NewObject::Plain(FileType::Directory),
            name: Opaque(name.as_bytes()),
            attributes,
        };
        let request = Request::changing(Operation::Create);
        let mut results = self
            .request(request, |compound, _| {
                compound.handle(&directory).operation(Operation::Create, &create).plain(Operation::GetFh);
            })
            .await?;
        results.done(Operation::PutFh)?;
        results.get::<Created>(Operation::Create)?;
        let handle = to_handle(&results.get::<PutFh<'_>>(Operation::GetFh)?)?;
        self.directories.insert(path, handle);
        Ok(MetaYield::Done)
    }

    async fn rename(&mut self, from: &str, to: &str) -> Result<MetaYield, OpError> {
        let (from_parent, from_name) = split(from)?;
        let (to_parent, to_name) = split(to)?;
        let from_directory = self.directory(from_parent).await?;
        let to_directory = self.directory(to_parent).await?;
        // Removed before the call: even if its reply is lost, no stale handle stays.
        self.directories.remove(from);
        self.directories.remove(to);
        let rename = Rename { from: Opaque(from_name.as_bytes()), to: Opaque(to_name.as_bytes()) };
        let request = Request::changing(Operation::Rename);
        let mut results = self
            .request(request, |compound, _| {
                compound
                    .handle(&from_directory)
                    .plain(Operation::SaveFh)
                    .handle(&to_directory)
                    .operation(Operation::Rename, &rename);
            })
            .await?;
        results.done(Operation::PutFh)?;
        results.done(Operation::SaveFh)?;
        results.done(Operation::PutFh)?;
        results.get::<Renamed>(Operation::Rename)?;
        Ok(MetaYield::Done)
    }

    /// Rights of the user to the directory of the URL (RFC 8881, 18.1).
    pub(crate) async fn rights(&mut self) -> Result<u32, OpError> {
        let root = self.directories.root();
        let request = Request::reading(Operation::Access);
        let wanted = ACCESS_READ | ACCESS_LOOKUP | ACCESS_MODIFY | ACCESS_EXTEND;
        let mut results = self
            .request(request, |compound, _| {
                compound.handle(&root).operation(Operation::Access, &Access { wanted });
            })
            .await?;
        results.done(Operation::PutFh)?;
        Ok(results.get::<Accessible>(Operation::Access)?.granted)
    }

    async fn space(&mut self) -> Result<MetaYield, OpError> {
        let root = self.directories.root();
        let request = Request::reading(Operation::GetAttr);
        let mut results = self
            .request(request, |compound, _| {
                compound.handle(&root).attributes(SPACE);
            })
            .await?;
        results.done(Operation::PutFh)?;
        let FileAttributes { attributes } = results.get(Operation::GetAttr)?;
        let total = required(attributes.space_total, "space_total")?;
        let available = required(attributes.space_available, "space_avail")?;
        Ok(MetaYield::Space(Space { total, available }))
    }
}
