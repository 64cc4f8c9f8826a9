//! Operations on names and attributes over SMB1: each is the shortest sequence of requests that performs it.

use sharebench_model::{
    Entry, ErrorClass, FileRef, IoPolicy, ListedPage, MetaOp, MetaYield, OpError, OpStep, OpenHow, Space,
    Stat,
};
use sharebench_target::{
    CallResult, ClientCache, HeldEntries, ListingGuard, Operations, Semaphores, ServerSide, Watch,
};

use super::connection::oplock_file;
use super::session::{Nt1File, Nt1Session};
use crate::client::names::operations::unreadable;
use crate::client::names::policy::{access_and_disposition, create_options};
use crate::nt1::file::{CloseRequest, CreateRequest, CreateResponse};
use crate::nt1::message::{NO_ANDX, NoWords, put_text};
use crate::nt1::path::{ALL, FILES, SearchAttributes, put_name};
use crate::nt1::trans2::{
    FindClose, Found, QUERY_FILE_STANDARD_INFO, QUERY_FS_SIZE_INFO, SET_FILE_END_OF_FILE_INFO, find_first,
    find_next, fs_size, query_path, set_file, standard_info, subcommand,
};
use crate::nt1::{Message, command};
use crate::status::NtStatus;
use crate::wire::create::{ATTRIBUTE_DIRECTORY, SHARE_ALL, options};
use crate::wire::directory::entries;
use crate::wire::utf16;

/// Most bytes of data in a response to a transaction: the response fits into one message of every server.
const MAX_DATA: u16 = 32 << 10;
/// Most entries of a page.
const MAX_ENTRIES: u16 = 1024;
const TRANSACTION: &str = command::name(command::TRANSACTION2);

/// A listing in progress: the server keeps its position.
#[derive(Debug)]
pub(super) struct Search {
    id: u16,
    /// The last name, from which the next page continues.
    last: String,
    guard: ListingGuard,
}

impl Operations for Nt1Session {
    const CLIENT: &'static str = "SMB1";
    const NOTIFICATIONS: &'static str = "this client over SMB1";
    const SEMAPHORES: &'static str = "SMB";
    const NO_RIGHTS: &'static str = "delegations are those of NFS";

    async fn perform_basic(&mut self, op: &MetaOp) -> CallResult {
        match op {
            MetaOp::Open { path, how, policy } => self.open(path, *how, *policy).await,
            MetaOp::Close { file } => {
                let file = self.files.close(*file)?;
                // The close gives its oplock back.
                self.connection.oplocks.forget_oplock_of(oplock_file(file.fid));
                self.close_file(file.fid).await?;
                Ok(MetaYield::Done)
            }
            MetaOp::SetSize { file, size } => {
                let fid = self.files.get(*file)?.fid;
                let parameters = set_file(fid, SET_FILE_END_OF_FILE_INFO);
                self.transact(subcommand::SET_FILE_INFORMATION, &parameters, &size.to_le_bytes()).await?;
                Ok(MetaYield::Done)
            }
            MetaOp::Stat { path } => {
                let parameters = query_path(QUERY_FILE_STANDARD_INFO, &self.name(path)?);
                self.transact(subcommand::QUERY_PATH_INFORMATION, &parameters, &[]).await?;
                let found = standard_info(&self.connection.collected.data);
                let (size, directory) = found.map_err(unreadable(TRANSACTION))?;
                Ok(MetaYield::Stat(Stat { size: if directory { 0 } else { size }, directory }))
            }
            MetaOp::List { path } => self.list(path).await,
            MetaOp::ListPage { path, restart } => self.list_page(path, *restart).await,
            MetaOp::Remove { path } => {
                let words = SearchAttributes { attributes: FILES };
                self.on_name(command::DELETE, &words, path).await
            }
            MetaOp::RemoveDir { path } => self.on_name(command::DELETE_DIRECTORY, &NoWords {}, path).await,
            MetaOp::MakeDir { path } => self.on_name(command::CREATE_DIRECTORY, &NoWords {}, path).await,
            MetaOp::Rename { from, to } => self.rename(from, to).await,
            MetaOp::Link { .. } => Err(OpError::no_links()),
            MetaOp::SetModified { .. } => Err(OpError::no_set_times()),
            MetaOp::Space => {
                let level = QUERY_FS_SIZE_INFO.to_le_bytes();
                self.transact(subcommand::QUERY_FS_INFORMATION, &level, &[]).await?;
                let sizes = fs_size(&self.connection.collected.data).map_err(unreadable(TRANSACTION))?;
                Ok(MetaYield::Space(Space { total: sizes.0, available: sizes.1 }))
            }
        }
    }
}

impl Watch for Nt1Session {}
impl ServerSide for Nt1Session {}
impl Semaphores for Nt1Session {}
impl ClientCache for Nt1Session {}

impl Nt1Session {
    /// The name below the share, which starts with a separator.
    fn name(&self, path: &str) -> Result<String, OpError> {
        // Servers take these characters for patterns, so that one request could remove several files.
        if path.contains(['*', '?', '<', '>', '"', '|']) {
            let detail = format!("{path:?} is not a valid SMB name");
            return Err(OpError::new(ErrorClass::Unsupported, OpStep::Path, detail));
        }
        Ok(format!("\\{}", self.paths.name(path)?))
    }

    /// Fails if the target's directory does not exist.
    pub(super) async fn check_directory(&mut self) -> Result<(), OpError> {
        self.on_name(command::CHECK_DIRECTORY, &NoWords {}, "").await.map(drop)
    }

    async fn on_name<W: crate::nt1::message::Words>(
        &mut self,
        command: u8,
        words: &W,
        path: &str,
    ) -> Result<MetaYield, OpError> {
        let name = self.name(path)?;
        self.connection.request(command, words, |out| put_name(&name, 0, out)).await?;
        Ok(MetaYield::Done)
    }

    /// Renames, also onto an existing file. RENAME never replaces a file (MS-CIFS 2.2.4.8), so that this needs three requests
    /// then, and is not atomic.
    async fn rename(&mut self, from: &str, to: &str) -> Result<MetaYield, OpError> {
        let old = self.name(from)?;
        let new = self.name(to)?;
        let words = SearchAttributes { attributes: ALL };
        let bytes = |out: &mut Vec<u8>| {
            put_name(&old, 0, out);
            put_name(&new, 0, out);
        };
        let header = self.connection.exchange(command::RENAME, &words, bytes).await?;
        match NtStatus(header.status) {
            NtStatus::SUCCESS => {}
            NtStatus::OBJECT_NAME_COLLISION => {
                self.on_name(command::DELETE, &SearchAttributes { attributes: FILES }, to).await?;
                self.connection.request(command::RENAME, &words, bytes).await?;
            }
            status => return Err(status.failure("RENAME")),
        }
        Ok(MetaYield::Done)
    }

    async fn transact(&mut self, subcommand: u16, parameters: &[u8], data: &[u8]) -> Result<(), OpError> {
        match self.connection.transact(subcommand, parameters, data, MAX_DATA).await? {
            NtStatus::SUCCESS => Ok(()),
            status => Err(status.failure(TRANSACTION)),
        }
    }

    async fn close_file(&mut self, fid: u16) -> Result<(), OpError> {
        let words = CloseRequest { fid, last_write: u32::MAX };
        self.connection.request(command::CLOSE, &words, |_| {}).await
    }

    async fn open(&mut self, path: &str, how: OpenHow, policy: IoPolicy) -> Result<MetaYield, OpError> {
        let (file, reply) = self.open_with(path, how, policy, SHARE_ALL, 0).await?;
        Ok(MetaYield::Opened { file, size: reply.end_of_file })
    }

    /// Opens a file and lets others open it as `share` says; `flags` may request an oplock.
    pub(super) async fn open_with(
        &mut self,
        path: &str,
        how: OpenHow,
        policy: IoPolicy,
        share: u32,
        flags: u32,
    ) -> Result<(FileRef, CreateResponse), OpError> {
        let (access, disposition) = access_and_disposition(how);
        let name = self.name(path)?;
        let words = CreateRequest {
            andx: NO_ANDX,
            name_len: utf16(&name).len() as u16,
            flags,
            access,
            share,
            disposition,
            options: options::NON_DIRECTORY_FILE | create_options(policy),
            impersonation: 2,
            ..CreateRequest::default()
        };
        self.connection.request(command::NT_CREATE_ANDX, &words, |out| put_text(&name, 0, out)).await?;
        let reply = Message::split(&self.connection.reply).and_then(|parts| parts.get::<CreateResponse>());
        let reply = reply.map_err(unreadable("NT_CREATE_ANDX"))?;
        match self.files.open(Nt1File::new(reply.fid, policy)) {
            Ok(file) => Ok((file, reply)),
            Err(error) => {
                self.close_file(reply.fid).await?;
                Err(error)
            }
        }
    }

    async fn list(&mut self, path: &str) -> Result<MetaYield, OpError> {
        let mut held = HeldEntries::default();
        let mut search = None;
        loop {
            let page = self.page(path, &mut search).await?;
            let guard = ListingGuard::new(path, TRANSACTION);
            let guard = search.as_ref().map_or(&guard, |search: &Search| &search.guard);
            if held.add(page, guard)? {
                return Ok(MetaYield::Entries(held.into_entries()));
            }
        }
    }

    async fn list_page(&mut self, path: &str, restart: bool) -> Result<MetaYield, OpError> {
        let mut search = self.search.take();
        if let Some(abandoned) = search.take_if(|search| restart || search.guard.directory() != path) {
            let close = FindClose { search: abandoned.id };
            self.connection.request(command::FIND_CLOSE2, &close, |_| {}).await?;
        }
        let page = self.page(path, &mut search).await?;
        self.search = search;
        Ok(MetaYield::Page(page))
    }

    /// The next page of a listing; the search is none before the first page and after the last one.
    async fn page(&mut self, path: &str, search: &mut Option<Search>) -> Result<ListedPage, OpError> {
        let first = search.is_none();
        let (subcommand, parameters) = if let Some(search) = search {
            (subcommand::FIND_NEXT2, find_next(search.id, MAX_ENTRIES, &search.last))
        } else {
            let directory = self.name(path)?;
            let pattern = format!("{}\\*", directory.trim_end_matches('\\'));
            (subcommand::FIND_FIRST2, find_first(&pattern, MAX_ENTRIES))
        };
        match self.connection.transact(subcommand, &parameters, &[], MAX_DATA).await? {
            NtStatus::SUCCESS => {}
            NtStatus::NO_MORE_FILES | NtStatus::NO_SUCH_FILE => {
                *search = None;
                return Ok(ListedPage { end: true, ..ListedPage::default() });
            }
            status => return Err(status.failure(TRANSACTION)),
        }
        let collected = &self.connection.collected;
        let end = Found::decode(&collected.parameters, first).map_err(unreadable(TRANSACTION))?;
        let listed = entries(&collected.data).map_err(unreadable(TRANSACTION))?;
        let found = search.get_or_insert_with(|| Search {
            id: end.search,
            last: String::new(),
            guard: ListingGuard::new(path, TRANSACTION),
        });
        let position = ListingGuard::position_of(listed.iter().map(|entry| entry.name.as_str()));
        found.guard.check_page(position, listed.len(), end.end)?;
        if let Some(entry) = listed.last() {
            found.last.clone_from(&entry.name);
        }
        let mut page = ListedPage { end: end.end, ..ListedPage::default() };
        for entry in listed.into_iter().filter(|entry| !matches!(entry.name.as_str(), "." | "..")) {
            found.guard.check_name(&entry.name, &['/', '\\'])?;
            let directory = entry.attributes & ATTRIBUTE_DIRECTORY != 0;
            let size = (!directory).then_some(entry.end_of_file);
            page.entries.push(Entry { name: entry.name, directory, size });
        }
        if end.end {
            *search = None;
        }
        Ok(page)
    }
}
