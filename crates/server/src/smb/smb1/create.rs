//! `NT_CREATE_ANDX`, `OPEN_ANDX` and CLOSE (MS-CIFS 3.3.5.5, 3.3.5.34, 3.3.5.51), and opens by path for other commands.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sharebench_smb::NtStatus;
use sharebench_smb::nt1::Header;
use sharebench_smb::nt1::file::{
    CloseRequest, CreateRequest as CreateWords, CreateResponse, OpenRequest, OpenResponse, granted_oplock,
};
use sharebench_smb::nt1::message::{NO_ANDX, put_blocks, text_at};
use sharebench_smb::wire::create::{CreateRequest, Impersonation, access, disposition, options};
use sharebench_smb::wire::oplock;

use super::attributes::{dos_attributes, unix_seconds};
use super::call::{Reached, Smb1Call, Stop, put_empty};
use super::oplocks::{Smb1Holder, wanted_oplock};
use super::state::{OpenedFile, close_files};
use crate::smb::caching::cache_request::{CacheRequest, GrantedCache};
use crate::smb::caching::grants::Holder;
use crate::smb::files::content_changes::ChannelState;
use crate::smb::files::create_disposition::Wanted;
use crate::smb::files::file_info::describe;
use crate::smb::files::open_file::OpenFile;
use crate::smb::names::resolve::normalized;
use crate::smb::status::Outcome;
use crate::{Attributes, SetAttributes};

/// Flag of a request: open the directory of the name instead.
const OPEN_PARENT: u32 = 0x8;
/// `LastTimeModified` of a CLOSE that sets no time.
const NO_TIME: [u32; 2] = [0, u32::MAX];
/// Rights of the access modes of `OPEN_ANDX`: reading, writing, both, execution.
const MODES: [u32; 4] = [
    access::GENERIC_READ,
    access::GENERIC_WRITE,
    access::GENERIC_READ | access::GENERIC_WRITE,
    access::GENERIC_READ | access::GENERIC_EXECUTE,
];

/// A file that was opened, with its attributes and what the open did.
pub(super) struct Opened {
    pub(super) open: Arc<OpenFile>,
    pub(super) attributes: Attributes,
    pub(super) action: u32,
    /// Level of its oplock.
    oplock: u8,
    holder: Arc<Holder>,
}

/// The path of a name of a client below the share, as SMB2 has it.
pub(super) fn share_path(name: &str) -> String {
    normalized(name).trim_matches('\\').to_owned()
}

impl Smb1Call<'_> {
    /// Opens a file or directory for the user of the message, with what it requests to cache. The open has no number yet.
    pub(super) fn open_path(&self, request: &CreateRequest, cache: CacheRequest) -> Reached<Opened> {
        let server = self.server;
        let count = self.connection.count_open(OpenFile::bytes(&request.name))?;
        let id = server.new_file_id();
        let session = Arc::clone(self.session()?);
        let smb1 = Some(Smb1Holder::new(self.header.tid, self.state.knows_level_2()));
        let holder = Arc::new(Holder { session, client: None, sealed: false, smb1 });
        let shared = Arc::clone(&holder);
        let wanted = Wanted::new(request, id, server.options.read_only, cache, shared, !self.resumed)?;
        let opened = wanted.open(server)?.map_err(Stop::Deferred)?;
        let open = Arc::new(wanted.open_file(&opened, ChannelState::default(), None, count));
        let oplock = match opened.cache {
            GrantedCache::Oplock(level) => level,
            GrantedCache::Nothing | GrantedCache::Lease(_) => oplock::NONE,
        };
        Ok(Opened { open, attributes: opened.attributes, action: opened.action, oplock, holder })
    }

    /// Opens what exists at a path, performs something with it, and closes it.
    pub(super) fn with_path<T>(
        &self,
        path: &str,
        access: u32,
        options: u32,
        share: u32,
        perform: impl FnOnce(&OpenFile) -> Reached<T>,
    ) -> Reached<T> {
        let request = CreateRequest {
            access,
            options,
            share,
            disposition: disposition::OPEN,
            name: path.to_owned(),
            ..CreateRequest::default()
        };
        let opened = self.open_path(&request, CacheRequest::Nothing)?;
        let performed = perform(&opened.open);
        self.close_open(&opened.open);
        performed
    }

    /// Closes an open, which may remove its file.
    pub(super) fn close_open(&self, open: &OpenFile) {
        let volume = self.server.volume.as_ref();
        open.end_writes(volume);
        self.server.files.close(open, volume);
    }

    /// Gives a number to an open.
    fn add(&mut self, opened: &Opened) -> Outcome<u16> {
        let open = Arc::clone(&opened.open);
        let Header { uid, tid, pid_low: process, .. } = self.header;
        let file = OpenedFile { open, refused: Arc::default(), uid, tid, process };
        let added = self.state.table().add_file(file);
        let fid = added.inspect_err(|_| self.close_open(&opened.open))?;
        self.fid = Some(fid);
        let due = opened.holder.smb1.as_ref().and_then(|smb1| smb1.set_number(fid));
        if let Some(message) = due {
            opened.holder.session.notify(message);
        }
        Ok(fid)
    }

    /// `NT_CREATE_ANDX`.
    pub(super) fn create(&mut self, body: &mut Vec<u8>) -> Reached<()> {
        let words: CreateWords = self.words()?;
        if words.flags & OPEN_PARENT != 0 {
            return Err(NtStatus::NOT_SUPPORTED.into());
        }
        let (name, _) = text_at(self.bytes(), 0, self.is_unicode());
        let mut path = share_path(&name);
        if words.root != 0 {
            let root = u16::try_from(words.root).map_err(|_| NtStatus::INVALID_HANDLE)?;
            let above = self.file(root)?.location().path;
            path = if above.is_empty() { path } else { format!("{above}\\{path}") };
        }
        let request = CreateRequest {
            impersonation: Impersonation(words.impersonation),
            access: words.access,
            attributes: words.attributes & KNOWN_ATTRIBUTES,
            share: words.share,
            disposition: words.disposition,
            options: words.options,
            name: path,
            ..CreateRequest::default()
        };
        let grants = self.server.options.leases;
        let cache = if grants { wanted_oplock(words.flags) } else { CacheRequest::Nothing };
        let opened = self.open_path(&request, cache)?;
        let fid = self.add(&opened)?;
        let shown = opened.open.file.as_shown(opened.attributes);
        let found = describe(self.server.volume.as_ref(), &shown);
        let response = CreateResponse {
            andx: NO_ANDX,
            oplock: granted_oplock(opened.oplock),
            fid,
            action: opened.action,
            times: found.times(),
            attributes: found.attributes,
            allocation: found.allocation,
            end_of_file: found.end_of_file,
            directory: u8::from(shown.directory),
            ..CreateResponse::default()
        };
        put_blocks(&response, body, |_| {});
        Ok(())
    }

    /// `OPEN_ANDX`.
    pub(super) fn open(&mut self, body: &mut Vec<u8>) -> Reached<()> {
        let words: OpenRequest = self.words()?;
        let (name, _) = text_at(self.bytes(), 0, self.is_unicode());
        // A control block of DOS (FCB) may read and write.
        let access = if words.mode & 0xF == 0xF { 2 } else { words.mode & 7 };
        let access = MODES.get(usize::from(access)).ok_or(NtStatus::INVALID_PARAMETER)?;
        // Compatibility, all denied, writing denied, reading denied, nothing denied (MS-CIFS 2.2.4.41.1).
        let share = match words.mode >> 4 & 7 {
            0 | 4 => 3,
            1 | 7 => 0,
            2 => 1,
            3 => 2,
            _ => return Err(NtStatus::INVALID_PARAMETER.into()),
        };
        let disposition = match (words.action & 3, words.action & 0x10 != 0) {
            (0, true) => disposition::CREATE,
            (1, false) => disposition::OPEN,
            (1, true) => disposition::OPEN_IF,
            (2, false) => disposition::OVERWRITE,
            (2, true) => disposition::OVERWRITE_IF,
            _ => return Err(NtStatus::INVALID_PARAMETER.into()),
        };
        let request = CreateRequest {
            access: *access,
            attributes: u32::from(words.attributes) & DOS_ATTRIBUTES,
            share,
            disposition,
            options: options::NON_DIRECTORY_FILE,
            name: share_path(&name),
            ..CreateRequest::default()
        };
        let opened = self.open_path(&request, CacheRequest::Nothing)?;
        let fid = self.add(&opened)?;
        let shown = opened.open.file.as_shown(opened.attributes);
        let response = OpenResponse {
            andx: NO_ANDX,
            fid,
            attributes: dos_attributes(&describe(self.server.volume.as_ref(), &shown)),
            modified: unix_seconds(shown.modified),
            size: u32::try_from(shown.size).unwrap_or(u32::MAX),
            rights: words.mode & 7,
            action: opened.action as u16,
            ..OpenResponse::default()
        };
        put_blocks(&response, body, |_| {});
        Ok(())
    }

    /// CLOSE, which may set the time of the last write.
    pub(super) fn close(&self, body: &mut Vec<u8>) -> Outcome<()> {
        let words: CloseRequest = self.words()?;
        let open = self.file(words.fid)?;
        self.state.table().files.remove(self.fid(words.fid)).ok_or(NtStatus::INVALID_HANDLE)?;
        if !NO_TIME.contains(&words.last_write)
            && open.require(access::WRITE_DATA | access::WRITE_ATTRIBUTES).is_ok()
        {
            let modified = UNIX_EPOCH + Duration::from_secs(u64::from(words.last_write));
            self.set_modified(&open, modified);
        }
        self.close_open(&open);
        put_empty(body);
        Ok(())
    }

    /// `PROCESS_EXIT` (MS-CIFS 3.3.5.20): closes what the process of the message has opened as its user.
    pub(super) fn end_process(&self, body: &mut Vec<u8>) {
        let files = self.state.table().remove_process(self.header.uid, self.header.pid_low);
        close_files(self.server, files);
        put_empty(body);
    }

    /// Sets the time of the last write as far as the volume can.
    fn set_modified(&self, open: &OpenFile, modified: SystemTime) {
        let change = SetAttributes { modified: Some(modified), ..SetAttributes::default() };
        open.file.write_time.release();
        open.parent.note_written();
        if let Err(error) = self.server.volume.set_attributes(open.described_node(), &change) {
            tracing::debug!(%error, "the time of the last write stays that of the write");
        }
    }
}

/// Attributes of MS-CIFS 2.2.1.2.3 that SMB2 knows as well; the others are hints.
const KNOWN_ATTRIBUTES: u32 = 0x7FB7;
/// Attributes of MS-CIFS 2.2.1.2.4: read-only, hidden, system, archive.
const DOS_ATTRIBUTES: u32 = 0x27;
