//! Operations on names; each uses the shortest possible sequence of calls.

use sharebench_model::{
    ErrorClass, FileRef, IoPolicy, MetaOp, MetaYield, OpError, OpStep, OpenHow, Space, Stat,
};
use sharebench_target::{CacheRights, CallResult, ClientCache, Operations, Watch, no_client_cache};

use crate::client::{Access, Client, ClientError, EntryInfo, Modification, Path};
use crate::target::policy::check_policy;
use crate::target::session::NcpSession;
use crate::target::session::files::OpenFile;
use crate::target::transport::SocketTransport;
use crate::wire::dos::access;
use crate::wire::{Completion, DosTime};

impl Operations for NcpSession {
    const CLIENT: &'static str = "NCP";
    const NO_RIGHTS: &'static str = "NCP has no leases";

    async fn perform_basic(&mut self, op: &MetaOp) -> CallResult {
        match op {
            MetaOp::Open { path, how, policy } => self.open(path, *how, *policy).await,
            MetaOp::Close { file } => self.close_file(*file).await,
            MetaOp::SetSize { file, size } => {
                let handle = self.files.get(*file)?.handles.first().copied();
                let handle = handle.ok_or_else(OpError::no_session)?;
                self.drop_cache(*file).await?;
                self.done(async |client| client.resize(handle, *size).await).await
            }
            MetaOp::Stat { path } => self.stat(path).await.map(MetaYield::Stat),
            MetaOp::List { path } => self.list(path).await,
            MetaOp::ListPage { path, restart } => self.list_page(path, *restart).await,
            MetaOp::Remove { path } => self.remove(path).await,
            MetaOp::MakeDir { path } => {
                let path = self.path(path)?;
                self.done(async |client| client.make_directory(&path).await).await
            }
            MetaOp::RemoveDir { path } => {
                let path = self.path(path)?;
                self.done(async |client| client.remove_directory(&path).await).await
            }
            MetaOp::Rename { from, to } => self.rename(from, to).await,
            MetaOp::Link { .. } => Err(OpError::no_links()),
            MetaOp::SetModified { path, seconds } => {
                let path = self.path(path)?;
                let modified = Some(DosTime::from_unix((*seconds).into()));
                let wanted = Modification { modified, ..Modification::default() };
                self.done(async |client| client.modify(&path, &wanted).await).await
            }
            MetaOp::Space => {
                let volume = self.volume.clone();
                let space = self.call_client(async |client| client.volume_space(&volume).await).await?;
                Ok(MetaYield::Space(Space { total: space.total, available: space.free }))
            }
        }
    }
}

impl CacheRights for NcpSession {}
impl Watch for NcpSession {}

impl ClientCache for NcpSession {
    async fn drop_client_cache(&mut self, file: FileRef) -> CallResult {
        if self.cache.is_none() {
            return Err(no_client_cache::<Self>());
        }
        self.files.get(file)?;
        self.drop_cache(file).await.map(|()| MetaYield::Done)
    }
}

impl NcpSession {
    /// The path of a name below the target's directory.
    pub(super) fn path(&self, path: &str) -> Result<Path, OpError> {
        let unfit = |detail: String| OpError::new(ErrorClass::Unsupported, OpStep::Path, detail);
        let below: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        if let Some(name) = below.iter().find(|name| matches!(**name, "." | "..") || name.contains('\0')) {
            return Err(unfit(format!("'{name}' is not a valid name")));
        }
        let base = self.base.iter().map(String::as_str);
        let path = match &self.short_names {
            None => Path::new(self.space, base.chain(below).map(str::as_bytes)),
            Some(names) => {
                let below: Result<Vec<String>, String> = below.iter().map(|name| names.short(name)).collect();
                let below = below.map_err(unfit)?;
                Path::new(self.space, base.chain(below.iter().map(String::as_str)).map(str::as_bytes))
            }
        };
        path.map_err(|error| unfit(error.to_string()))
    }

    /// Makes calls on the first connection.
    pub(super) async fn call_client<T>(
        &mut self,
        calls: impl AsyncFnOnce(&mut Client<SocketTransport>) -> Result<T, ClientError>,
    ) -> Result<T, OpError> {
        let connection = self.connections.first_mut().ok_or_else(OpError::no_session)?;
        let done = calls(connection.client()?).await;
        done.map_err(|error| connection.record_failure(&error))
    }

    pub(super) async fn done(
        &mut self,
        calls: impl AsyncFnOnce(&mut Client<SocketTransport>) -> Result<(), ClientError>,
    ) -> Result<MetaYield, OpError> {
        self.call_client(calls).await.map(|()| MetaYield::Done)
    }

    /// Removes a file. Servers may refuse a file that somebody has open with the code for missing rights; whether it is open
    /// shows when it is opened for this client alone.
    async fn remove(&mut self, path: &str) -> Result<MetaYield, OpError> {
        const ALONE: u16 = access::DENY_READ | access::DENY_WRITE;
        let name = path;
        let path = self.path(name)?;
        let mut is_open = false;
        let removed = self.done(async |client| {
            let deleted = client.delete(&path).await;
            if let Err(ClientError::Refused { completion: Completion::NoDeleteRights, .. }) = deleted {
                match client.open_denying(&path, Access::Read, ALONE).await {
                    Ok((file, _)) => client.close(file).await?,
                    Err(ClientError::Refused { completion, .. }) => {
                        is_open = completion == Completion::FileInUse;
                    }
                    Err(error) => return Err(error),
                }
            }
            deleted
        });
        let removed = removed.await;
        if is_open {
            let detail = format!("'{name}' is still open on the server ({})", Completion::NoDeleteRights);
            return Err(OpError::new(ErrorClass::Busy, OpStep::Request("delete"), detail));
        }
        removed
    }

    /// Opens a file on every connection; a new file is created on the first.
    async fn open(&mut self, path: &str, how: OpenHow, policy: IoPolicy) -> Result<MetaYield, OpError> {
        check_policy(policy, self.cache.is_some()).map_err(|refusal| refusal.at_open())?;
        let through = policy.writes_through();
        let name = path;
        let path = self.path(path)?;
        let mut access = match how {
            OpenHow::Read => Access::Read,
            OpenHow::ReadWrite => Access::ReadWrite,
            OpenHow::CreateNew => Access::CreateNew,
        };
        let mut handles = Vec::with_capacity(self.connections.len());
        let mut size = 0;
        for index in 0..self.connections.len() {
            let connection = &mut self.connections[index];
            let opened = connection.client()?.open(&path, access, through).await;
            let (handle, info) = match opened {
                Ok(opened) => opened,
                Err(error) => {
                    let failed = connection.record_failure(&error);
                    self.close_handles(handles).await;
                    return Err(failed);
                }
            };
            handles.push(handle);
            if access == Access::CreateNew {
                access = Access::ReadWrite;
            } else if index == 0 {
                let connection = &mut self.connections[index];
                size = match info.size {
                    // The size exceeds 32 bits.
                    u32::MAX if connection.inner().is_large() => {
                        let size = connection.client()?.size(handle).await;
                        size.map_err(|error| connection.record_failure(&error))?
                    }
                    size => u64::from(size),
                };
            }
        }
        let writable = how != OpenHow::Read;
        let file = self.files.open(OpenFile { handles, through, writable })?;
        self.cache_file(file, name, through).await;
        Ok(MetaYield::Opened { file, size })
    }

    /// Caches an opened file, unless it is open twice or for write-through.
    async fn cache_file(&mut self, file: FileRef, name: &str, through: bool) {
        let Some(size) = self.cache else { return };
        let others = self.caches.open(file, name, size);
        if through {
            self.caches.remove(file);
        }
        for other in others {
            if let Err(error) = self.drop_cache(other).await {
                self.caches.defer_error(other, error);
            }
            self.caches.remove(other);
        }
    }

    /// Writes dirty data, commits if required, and closes the file on every connection.
    async fn close_file(&mut self, file: FileRef) -> Result<MetaYield, OpError> {
        let open = self.files.close(file)?;
        let mut first = Ok(());
        for (number, (connection, handle)) in self.connections.iter_mut().zip(open.handles).enumerate() {
            // Dirty data is written on the first connection, before any handle is closed.
            if number == 0 {
                first = first.and(connection.write_back(file, handle, &mut self.caches).await);
                self.caches.close(file);
            }
            if self.commits && open.writable && number == 0 {
                let committed = connection.client()?.commit(handle).await;
                first = first.and(committed.map_err(|error| connection.record_failure(&error)));
            }
            let closed = connection.client()?.close(handle).await;
            first = first.and(closed.map_err(|error| connection.record_failure(&error)));
        }
        first.map(|()| MetaYield::Done)
    }

    /// Writes all dirty data, so that an operation on names sees it.
    pub(super) async fn write_back_caches(&mut self) {
        let handle = |name: FileRef| Some((name, *self.files.get(name).ok()?.handles.first()?));
        let open: Vec<_> = self.caches.files().into_iter().filter_map(handle).collect();
        if let Some(connection) = self.connections.first_mut() {
            connection.write_back_all(&open, &mut self.caches).await;
        }
    }

    /// Writes the dirty data of a file and invalidates its cache.
    pub(super) async fn drop_cache(&mut self, file: FileRef) -> Result<(), OpError> {
        let handle = self.files.get(file)?.handles.first().copied();
        if let (Some(connection), Some(handle)) = (self.connections.first_mut(), handle) {
            connection.write_back(file, handle, &mut self.caches).await?;
            self.caches.invalidate(file);
        }
        Ok(())
    }

    /// Closes the handles of a file that could not be opened on all connections.
    async fn close_handles(&mut self, handles: Vec<crate::client::File>) {
        for (connection, handle) in self.connections.iter_mut().zip(handles) {
            if let Ok(client) = connection.client() {
                // The open has failed already, so this error is ignored.
                let _ = client.close(handle).await;
            }
        }
    }

    async fn stat(&mut self, path: &str) -> Result<Stat, OpError> {
        let path = self.path(path)?;
        let info: EntryInfo = self.call_client(async |client| client.entry_info(&path).await).await?;
        let far = info.size == u32::MAX
            && self.connections.first().is_some_and(|connection| connection.inner().is_large());
        if !far {
            return Ok(Stat { size: u64::from(info.size), directory: info.directory });
        }
        // The size exceeds 32 bits; only an open file has a 64-bit size.
        let size = async |client: &mut Client<SocketTransport>| {
            let (file, _) = client.open(&path, Access::Read, false).await?;
            let size = client.size(file).await?;
            client.close(file).await.map(|()| size)
        };
        Ok(Stat { size: self.call_client(size).await?, directory: false })
    }

    /// NCP renames to free names only, so an existing target file is deleted first.
    async fn rename(&mut self, from: &str, to: &str) -> Result<MetaYield, OpError> {
        let from = self.path(from)?;
        let to = self.path(to)?;
        self.done(async |client| match client.rename(&from, &to).await {
            Err(ClientError::Refused {
                completion: Completion::AllNamesExist | Completion::FileExists,
                ..
            }) => {
                client.delete(&to).await?;
                client.rename(&from, &to).await
            }
            done => done,
        })
        .await
    }
}
