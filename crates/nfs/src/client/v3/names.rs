//! Operations on names and attributes: each is the shortest sequence of calls that performs it.

use sharebench_model::{ErrorClass, IoPolicy, MetaOp, MetaYield, OpError, OpStep, OpenHow, Space, Stat};
use sharebench_target::{
    CacheRights, CallResult, ClientCache, Locks, Operations, Semaphores, ServerSide, Watch,
};

use crate::attributes::{FileAttributes, FileKind, SetFileAttributes, skip_wcc};
use crate::client::directory_walk::DirectoryWalk;
use crate::client::open_files::OpenFile;
use crate::client::paths::{DIRECTORY_MODE, FILE_MODE, check_name, split};
use crate::client::rpc::replies::undecodable;
use crate::client::target::check_policy;
use crate::client::v3::session::NfsSession;
use crate::protocol::{FileHandle, Procedure};
use crate::results::{Found, FsStat, get_status};
use crate::xdr::{Reader, Writer, XdrError};

/// `createmode3` (RFC 1813, 3.3.8): fail if the name exists.
const GUARDED: u32 = 1;
/// Decodes the result of a procedure, status first.
pub(crate) fn read<'a, T>(
    mut reader: Reader<'a>,
    procedure: Procedure,
    get: impl FnOnce(&mut Reader<'a>) -> Result<T, XdrError>,
) -> Result<T, OpError> {
    let step = procedure.name();
    match get_status(&mut reader).map_err(|error| undecodable(error, step))? {
        Ok(()) => get(&mut reader).map_err(|error| undecodable(error, step)),
        Err(status) => Err(status.failure(step)),
    }
}

pub(crate) fn put_name(writer: &mut Writer, directory: &FileHandle, name: &str) {
    directory.put(writer);
    writer.opaque(name.as_bytes());
}

fn stat(attributes: &FileAttributes) -> Stat {
    let directory = attributes.kind == FileKind::Directory;
    Stat { size: if directory { 0 } else { attributes.size }, directory }
}

impl Operations for NfsSession {
    const CLIENT: &'static str = "NFS 3";
    const SEMAPHORES: &'static str = "NFS";
    const NO_LOCKS: &'static str = "locks of NFS 3 are the protocol NLM, which this client does not speak";
    const NO_RIGHTS: &'static str = "NFS 3 has no delegations";

    async fn perform_basic(&mut self, op: &MetaOp) -> CallResult {
        match op {
            MetaOp::Open { path, how, policy } => {
                check_policy(*policy).map_err(|refusal| refusal.at_open())?;
                match how {
                    OpenHow::CreateNew => self.create(path, *policy).await,
                    OpenHow::Read | OpenHow::ReadWrite => self.open(path, *policy).await,
                }
            }
            MetaOp::Close { file } => self.files.close(*file).map(|_| MetaYield::Done),
            MetaOp::SetSize { file, size } => {
                let handle = self.files.get(*file)?.handle;
                let set = SetFileAttributes { size: Some(*size), ..SetFileAttributes::default() };
                self.change(Procedure::SetAttr, |writer| {
                    handle.put(writer);
                    set.put(writer);
                    // No guard: change the file whatever its ctime is (RFC 1813, 3.3.2).
                    writer.boolean(false);
                })
                .await
            }
            MetaOp::Stat { path } => {
                let (_, attributes) = self.find(path).await?;
                Ok(MetaYield::Stat(stat(&attributes)))
            }
            MetaOp::List { path } => self.list(path).await,
            MetaOp::ListPage { path, restart } => self.list_page(path, *restart).await,
            MetaOp::Remove { path } => self.change_name(Procedure::Remove, path).await,
            MetaOp::RemoveDir { path } => {
                // Before the call: if the reply is lost, the directory may be gone, and a kept handle would be
                // stale.
                self.directories.remove(path);
                self.change_name(Procedure::RmDir, path).await
            }
            MetaOp::MakeDir { path } => self.make_directory(path).await,
            MetaOp::Rename { from, to } => self.rename(from, to).await,
            MetaOp::Link { from, to } => self.link(from, to).await,
            MetaOp::SetModified { path, seconds } => self.set_modified(path, *seconds).await,
            MetaOp::Space => {
                let root = self.directories.root();
                let reader = self.request(Procedure::FsStat, |writer| root.put(writer)).await?;
                let FsStat { total, available } = read(reader, Procedure::FsStat, FsStat::get)?;
                Ok(MetaYield::Space(Space { total, available }))
            }
        }
    }
}

impl Locks for NfsSession {}
impl CacheRights for NfsSession {}
impl Watch for NfsSession {}
impl ServerSide for NfsSession {}
impl Semaphores for NfsSession {}
impl ClientCache for NfsSession {}

impl NfsSession {
    /// Performs a call whose result is only `wcc_data`.
    pub(crate) async fn change(
        &mut self,
        procedure: Procedure,
        arguments: impl Fn(&mut Writer),
    ) -> Result<MetaYield, OpError> {
        let reader = self.request(procedure, arguments).await?;
        read(reader, procedure, skip_wcc)?;
        Ok(MetaYield::Done)
    }

    async fn change_name(&mut self, procedure: Procedure, path: &str) -> Result<MetaYield, OpError> {
        let (parent, name) = split(path)?;
        let directory = self.directory(parent).await?;
        self.change(procedure, |writer| put_name(writer, &directory, name)).await
    }

    /// Performs a LOOKUP, and a GETATTR if the server sends no attributes with it.
    pub(crate) async fn lookup(
        &mut self,
        directory: FileHandle,
        name: &str,
    ) -> Result<(FileHandle, FileAttributes), OpError> {
        check_name(name)?;
        let reader = self.request(Procedure::Lookup, |writer| put_name(writer, &directory, name)).await?;
        let found = read(reader, Procedure::Lookup, Found::get_lookup)?;
        self.complete(found, directory, name).await
    }

    async fn complete(
        &mut self,
        found: Found,
        directory: FileHandle,
        name: &str,
    ) -> Result<(FileHandle, FileAttributes), OpError> {
        let found = if found.handle.is_some() {
            found
        } else {
            let reader = self.request(Procedure::Lookup, |writer| put_name(writer, &directory, name)).await?;
            read(reader, Procedure::Lookup, Found::get_lookup)?
        };
        let no_handle = || OpError::new(ErrorClass::Protocol, OpStep::Request("LOOKUP"), "no file handle");
        let handle = found.handle.ok_or_else(no_handle)?;
        match found.attributes {
            Some(attributes) => Ok((handle, attributes)),
            None => Ok((handle, self.attributes(handle).await?)),
        }
    }

    pub(crate) async fn attributes(&mut self, handle: FileHandle) -> Result<FileAttributes, OpError> {
        let reader = self.request(Procedure::GetAttr, |writer| handle.put(writer)).await?;
        read(reader, Procedure::GetAttr, FileAttributes::get)
    }

    pub(crate) async fn find(&mut self, path: &str) -> Result<(FileHandle, FileAttributes), OpError> {
        if path.is_empty() {
            let root = self.directories.root();
            return Ok((root, self.attributes(root).await?));
        }
        let (parent, name) = split(path)?;
        let directory = self.directory(parent).await?;
        self.lookup(directory, name).await
    }

    async fn open(&mut self, path: &str, policy: IoPolicy) -> Result<MetaYield, OpError> {
        let (handle, attributes) = self.find(path).await?;
        if attributes.kind != FileKind::Regular {
            let detail = format!("not a regular file but {}", attributes.kind.name());
            return Err(OpError::new(ErrorClass::Unsupported, OpStep::OpenFile, detail));
        }
        Ok(MetaYield::Opened { file: self.files.open(OpenFile::new(handle, policy))?, size: attributes.size })
    }

    async fn create(&mut self, path: &str, policy: IoPolicy) -> Result<MetaYield, OpError> {
        let (parent, name) = split(path)?;
        let directory = self.directory(parent).await?;
        let set = SetFileAttributes { mode: Some(FILE_MODE), ..SetFileAttributes::default() };
        let encode = |writer: &mut Writer| {
            put_name(writer, &directory, name);
            writer.u32(GUARDED);
            set.put(writer);
        };
        let reader = self.request(Procedure::Create, encode).await?;
        let created = read(reader, Procedure::Create, Found::get_created)?;
        let handle = match created.handle {
            // A new file is empty; its attributes are not needed.
            Some(handle) => handle,
            None => self.complete(created, directory, name).await?.0,
        };
        Ok(MetaYield::Opened { file: self.files.open(OpenFile::new(handle, policy))?, size: 0 })
    }

    async fn make_directory(&mut self, path: &str) -> Result<MetaYield, OpError> {
        let (parent, name) = split(path)?;
        let directory = self.directory(parent).await?;
        let set = SetFileAttributes { mode: Some(DIRECTORY_MODE), ..SetFileAttributes::default() };
        let encode = |writer: &mut Writer| {
            put_name(writer, &directory, name);
            set.put(writer);
        };
        let reader = self.request(Procedure::MkDir, encode).await?;
        let made = read(reader, Procedure::MkDir, Found::get_created)?;
        if let Some(handle) = made.handle {
            self.directories.insert(path, handle);
        }
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
        let encode = |writer: &mut Writer| {
            put_name(writer, &from_directory, from_name);
            put_name(writer, &to_directory, to_name);
        };
        let reader = self.request(Procedure::Rename, encode).await?;
        read(reader, Procedure::Rename, |reader| skip_wcc(reader).and_then(|()| skip_wcc(reader)))?;
        Ok(MetaYield::Done)
    }
}
