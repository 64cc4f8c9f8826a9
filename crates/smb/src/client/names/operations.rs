//! Operations on names and attributes: each is the shortest sequence of requests that performs it.

use std::time::{Duration, SystemTime};

use sharebench_model::{ErrorClass, IoPolicy, MetaOp, MetaYield, OpError, OpStep, OpenHow, Space, Stat};
use sharebench_target::{CallResult, ClientCache, Operations, Semaphores};

use crate::client::exchange::Exchange;
use crate::client::names::policy::{access_and_disposition, create_options};
use crate::client::open_file::OpenFile;
use crate::client::rights::lease_choice::{CreateExtras, Opens};
use crate::client::session::SmbSession;
use crate::status::NtStatus;
use crate::wire::create::{
    ATTRIBUTE_DIRECTORY, CreateRequest, CreateResponse, SHARE_ALL, access, disposition, options,
};
use crate::wire::header::command;
use crate::wire::info::{
    DISPOSITION, END_OF_FILE, FS_FULL_SIZE, InfoResponse, QueryInfoRequest, RENAME, SetInfoRequest,
    TYPE_FILE, TYPE_FILE_SYSTEM, full_size, rename,
};
use crate::wire::simple::CloseRequest;
use crate::wire::{FileId, WireError};

/// Access rights that allow nothing but to read attributes.
pub(crate) const ATTRIBUTE_ACCESS: u32 = access::READ_ATTRIBUTES | access::SYNCHRONIZE;

/// A time in 100 ns since 1601 (MS-DTYP 2.3.3); none before 1970.
fn system_time(ticks: u64) -> Option<SystemTime> {
    const UNIX_EPOCH_TICKS: u64 = 116_444_736_000_000_000;
    let ticks = ticks.checked_sub(UNIX_EPOCH_TICKS)?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(ticks.checked_mul(100)?))
}

pub(crate) fn unreadable(request: &'static str) -> impl Fn(WireError) -> OpError {
    move |error| OpError::new(ErrorClass::Protocol, OpStep::Request(request), error.to_string())
}

impl Operations for SmbSession {
    const CLIENT: &'static str = "SMB";
    const NO_RIGHTS: &'static str = "SMB has leases and no delegations";

    async fn perform_basic(&mut self, op: &MetaOp) -> CallResult {
        match op {
            MetaOp::Open { path, how, policy } => self.open(path, *how, *policy).await,
            MetaOp::Close { file } => {
                let cancelled = self.end_watch_of(*file).await;
                self.leased = self.leased.filter(|leased| leased != file);
                let file = self.files.close(*file)?;
                cancelled?;
                self.copies.forget(file.id);
                let closed = self.close_file(file.id).await;
                // Until now a break had to be acknowledged: the server may have waited for that before it closed the file.
                self.channels.forget_oplock_of(file.id);
                closed?;
                Ok(MetaYield::Done)
            }
            MetaOp::SetSize { file, size } => {
                let file = self.files.get(*file)?.id;
                self.set_info(file, END_OF_FILE, size.to_le_bytes().to_vec()).await?;
                Ok(MetaYield::Done)
            }
            MetaOp::Stat { path } => self.stat(path).await,
            MetaOp::List { path } => self.list(path).await,
            MetaOp::ListPage { path, restart } => self.list_page(path, *restart).await,
            MetaOp::Remove { path } => self.remove(path, options::NON_DIRECTORY_FILE).await,
            MetaOp::RemoveDir { path } => self.remove(path, options::DIRECTORY_FILE).await,
            MetaOp::MakeDir { path } => self.make_directory(path).await,
            MetaOp::Rename { from, to } => self.rename(from, to).await,
            MetaOp::Link { .. } => Err(OpError::no_links()),
            MetaOp::SetModified { path, seconds } => self.set_modified(path, *seconds).await,
            MetaOp::Space => self.space().await,
        }
    }
}

impl Semaphores for SmbSession {}
impl ClientCache for SmbSession {}

impl SmbSession {
    /// Fails if the target's directory does not exist.
    pub(crate) async fn check_directory(&mut self) -> Result<(), OpError> {
        let (directory, _) =
            self.create("", ATTRIBUTE_ACCESS, disposition::OPEN, options::DIRECTORY_FILE).await?;
        self.close_file(directory).await
    }

    pub(crate) async fn create(
        &mut self,
        path: &str,
        access: u32,
        disposition: u32,
        options: u32,
    ) -> Result<(FileId, CreateResponse), OpError> {
        self.create_for(Opens::Attributes, path, access, disposition, options).await
    }

    pub(crate) async fn create_for(
        &mut self,
        opens: Opens,
        path: &str,
        access: u32,
        disposition: u32,
        options: u32,
    ) -> Result<(FileId, CreateResponse), OpError> {
        let extras = self.create_extras(path, opens);
        self.create_with(extras, path, access, disposition, options).await
    }

    pub(crate) async fn create_with(
        &mut self,
        mut extras: CreateExtras,
        path: &str,
        access: u32,
        disposition: u32,
        options: u32,
    ) -> Result<(FileId, CreateResponse), OpError> {
        let request = CreateRequest {
            oplock: extras.oplock,
            access,
            share: if extras.denies_sharing { 0 } else { SHARE_ALL },
            disposition,
            options,
            name: self.paths.name(path)?,
            contexts: std::mem::take(&mut extras.contexts),
            ..CreateRequest::default()
        };
        let reply = self.request(command::CREATE, |body| request.encode(body)).await?;
        let response = CreateResponse::decode(reply).map_err(unreadable("CREATE"))?;
        self.count_grants(&extras, &response);
        Ok((response.file, response))
    }

    /// Opens a file with a request for a lease (MS-SMB2 2.2.13.2.8), or in dialect 2.0.2 for an oplock (2.2.13), which permit
    /// to cache it, and closes it. A break that follows at once needs no answer, because closing gives the right back.
    pub(crate) async fn is_caching_granted(&mut self, path: &str) -> Result<bool, OpError> {
        let extras = CreateExtras::everything(self.negotiated.dialect);
        let (rights, disposition) = access_and_disposition(OpenHow::Read);
        let (file, response) =
            self.create_with(extras, path, rights, disposition, options::NON_DIRECTORY_FILE).await?;
        self.close_file(file).await?;
        Ok(response.oplock != 0)
    }

    /// When a file was last written; none if the server has no such time.
    pub(crate) async fn last_write(&mut self, path: &str) -> Result<Option<SystemTime>, OpError> {
        let (file, response) = self.create(path, ATTRIBUTE_ACCESS, disposition::OPEN, 0).await?;
        self.close_file(file).await?;
        let Some(ticks) = response.times.get(16..).and_then(|times| times.first_chunk()) else {
            return Ok(None);
        };
        Ok(system_time(u64::from_le_bytes(*ticks)))
    }

    pub(crate) async fn close_file(&mut self, file: FileId) -> Result<(), OpError> {
        let request = CloseRequest { file, ..CloseRequest::default() };
        let closed = self.exchange(command::CLOSE, |body| request.encode(body)).await?;
        match NtStatus(closed.status) {
            NtStatus::SUCCESS => Ok(()),
            // The first of two requests closed it, on the channel that was lost.
            NtStatus::FILE_CLOSED if self.was_repeated() => Ok(()),
            status => Err(status.failure("CLOSE")),
        }
    }

    pub(crate) async fn set_info(
        &mut self,
        file: FileId,
        class: u8,
        information: Vec<u8>,
    ) -> Result<(), OpError> {
        let request =
            SetInfoRequest { info_type: TYPE_FILE, class, file, information, ..SetInfoRequest::default() };
        self.request(command::SET_INFO, |body| request.encode(body)).await.map(drop)
    }

    async fn open(&mut self, path: &str, how: OpenHow, policy: IoPolicy) -> Result<MetaYield, OpError> {
        let extras = self.create_extras(path, Opens::File);
        self.open_with(extras, path, how, policy).await
    }

    pub(crate) async fn open_with(
        &mut self,
        extras: CreateExtras,
        path: &str,
        how: OpenHow,
        policy: IoPolicy,
    ) -> Result<MetaYield, OpError> {
        let (rights, disposition) = access_and_disposition(how);
        let options = options::NON_DIRECTORY_FILE | create_options(policy);
        let (file, response) = self.create_with(extras, path, rights, disposition, options).await?;
        match self.files.open(OpenFile { id: file, policy }) {
            Ok(file) => Ok(MetaYield::Opened { file, size: response.end_of_file }),
            // The server has opened the file, but nobody would ever close it: the table of open files is full.
            Err(error) => {
                self.close_file(file).await?;
                Err(error)
            }
        }
    }

    /// Opens and closes the name: the response of CREATE has its attributes, so that no `QUERY_INFO` is needed.
    async fn stat(&mut self, path: &str) -> Result<MetaYield, OpError> {
        let (file, response) = self.create(path, ATTRIBUTE_ACCESS, disposition::OPEN, 0).await?;
        self.close_file(file).await?;
        let directory = response.attributes & ATTRIBUTE_DIRECTORY != 0;
        let size = if directory { 0 } else { response.end_of_file };
        Ok(MetaYield::Stat(Stat { size, directory }))
    }

    async fn remove(&mut self, path: &str, kind: u32) -> Result<MetaYield, OpError> {
        // Remove a symbolic link itself, not its target.
        let options = kind | options::OPEN_REPARSE_POINT;
        let (file, _) =
            self.create(path, access::DELETE | ATTRIBUTE_ACCESS, disposition::OPEN, options).await?;
        // FileDispositionInformation, and not the option DELETE_ON_CLOSE: that one hides that a directory is
        // not empty (docs/design/checks-and-tests.md).
        self.change_and_close(file, DISPOSITION, vec![1]).await
    }

    async fn make_directory(&mut self, path: &str) -> Result<MetaYield, OpError> {
        let (file, _) =
            self.create(path, ATTRIBUTE_ACCESS, disposition::CREATE, options::DIRECTORY_FILE).await?;
        self.close_file(file).await?;
        Ok(MetaYield::Done)
    }

    async fn rename(&mut self, from: &str, to: &str) -> Result<MetaYield, OpError> {
        let new = self.paths.name(to)?;
        let options = options::OPEN_REPARSE_POINT;
        let (file, _) =
            self.create(from, access::DELETE | ATTRIBUTE_ACCESS, disposition::OPEN, options).await?;
        self.change_and_close(file, RENAME, rename(&new)).await
    }

    /// Changes a file and closes it, even if the change fails; then the error of the change is reported.
    pub(crate) async fn change_and_close(
        &mut self,
        file: FileId,
        class: u8,
        information: Vec<u8>,
    ) -> Result<MetaYield, OpError> {
        let changed = self.set_info(file, class, information).await;
        let closed = self.close_file(file).await;
        changed.and(closed)?;
        Ok(MetaYield::Done)
    }

    async fn space(&mut self) -> Result<MetaYield, OpError> {
        let (file, _) = self.create("", ATTRIBUTE_ACCESS, disposition::OPEN, options::DIRECTORY_FILE).await?;
        let request = QueryInfoRequest {
            info_type: TYPE_FILE_SYSTEM,
            class: FS_FULL_SIZE,
            output_len: 32,
            file,
            ..QueryInfoRequest::default()
        };
        let answered = self.request(command::QUERY_INFO, |body| request.encode(body)).await;
        let read = answered.and_then(|reply| {
            InfoResponse::decode(reply).and_then(full_size).map_err(unreadable("QUERY_INFO"))
        });
        let closed = self.close_file(file).await;
        let (total, available) = read?;
        closed?;
        Ok(MetaYield::Space(Space { total, available }))
    }
}
