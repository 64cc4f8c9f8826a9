//! Opens, creates and replaces files for CREATE (MS-SMB2 3.3.5.9, MS-FSA 2.1.5.1).

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};

use sharebench_smb::NtStatus;
use sharebench_smb::wire::FileId;
use sharebench_smb::wire::change_notify::{Action, filter};
use sharebench_smb::wire::create::{CreateRequest, access, disposition, options};
use sharebench_smb::wire::create_context::name;
use sharebench_smb::wire::durable::DurableContext;
use sharebench_smb::wire::security_descriptor::parts;

use crate::smb::caching::cache_request::{CacheRequest, GrantedCache};
use crate::smb::caching::cached_listings::ParentListing;
use crate::smb::caching::grants::Holder;
use crate::smb::files::content_changes::{ChannelState, ContentChanges};
use crate::smb::files::descriptors::{inherit_descriptor, store_descriptor};
use crate::smb::files::durability::Durability;
use crate::smb::files::file_info::{
    ARCHIVE, HIDDEN, READ_ONLY, SYSTEM, describe, is_read_only, mode_with, store_bits,
};
use crate::smb::files::lock_sequences::LockSequences;
use crate::smb::files::open_count::OpenCount;
use crate::smb::files::open_file::{File, OpenFile};
use crate::smb::files::open_files::{LeavingOpen, Opening, WantedOpen};
use crate::smb::files::set_info::store_extended;
use crate::smb::names::file_locations::FileLocation;
use crate::smb::names::listing_state::ListingState;
use crate::smb::names::resolve::{resolve, split_stream};
use crate::smb::session::deferred::DeferredRequests;
use crate::smb::state::ServerState;
use crate::smb::status::{Outcome, checked, status};
use crate::volume::name::check_portable_name;
use crate::{Attributes, NodeId, SetAttributes, Volume, VolumeError};

/// Every right on a file (MS-SMB2 2.2.13.1).
pub(crate) const ALL_ACCESS: u32 = 0x001F_01FF;
/// The rights that change nothing.
pub(crate) const READ_ACCESS: u32 = 0x0012_00A9;
/// Rights that generic ones stand for (MS-SMB2 2.2.13.1.1).
const GENERIC: [(u32, u32); 4] = [
    (access::GENERIC_ALL, ALL_ACCESS),
    (access::GENERIC_EXECUTE, 0x0012_00A0),
    (access::GENERIC_WRITE, 0x0012_0116),
    (access::GENERIC_READ, 0x0012_0089),
];
/// Rights to change the content, which a file with the attribute READONLY does not give.
pub(crate) const CONTENT: u32 = access::WRITE_DATA | access::APPEND_DATA;
/// Bits of a share mode, and attributes that a client may request.
const SHARE_MODES: u32 = 7;
const VALID_ATTRIBUTES: u32 = 0x7FB7;
/// Options that are defined, and those that this server does not have (MS-SMB2 2.2.13).
const VALID_OPTIONS: u32 = 0x00FF_FFFF;
const UNSUPPORTED_OPTIONS: u32 =
    options::CREATE_TREE_CONNECTION | options::OPEN_BY_FILE_ID | options::RESERVE_OPFILTER;
/// Rights that are defined. Access to the system's list needs a privilege.
const VALID_ACCESS: u32 = 0xF31F_01FF;
/// Values of `CreateAction` (MS-SMB2 2.2.14).
pub(crate) const SUPERSEDED: u32 = 0;
pub(crate) const OPENED: u32 = 1;
pub(crate) const CREATED: u32 = 2;
pub(crate) const OVERWRITTEN: u32 = 3;
/// Highest impersonation level: delegation.
const MAX_IMPERSONATION: u32 = 3;
/// Modes of new files and directories.
const FILE_MODE: u32 = 0o644;
const DIRECTORY_MODE: u32 = 0o755;

/// Unit of allocation, in bytes.
const ALLOCATION_UNIT: u64 = 4096;
/// Options that `FileModeInformation` shows (MS-FSCC 2.4.26).
const MODE_OPTIONS: u32 = 0x103E;

/// A node that CREATE has opened.
pub(crate) struct OpenedNode {
    pub(crate) node: NodeId,
    /// The node that has the stream, if it is one.
    pub(crate) base: Option<NodeId>,
    pub(crate) file: Arc<File>,
    pub(crate) attributes: Attributes,
    pub(crate) access: u32,
    pub(crate) action: u32,
    pub(crate) cache: GrantedCache,
}

/// How far a CREATE has come.
#[expect(clippy::large_enum_variant, reason = "each CREATE makes one and takes it apart at once")]
pub(crate) enum CreateProgress {
    Opened(OpenedNode),
    /// Other clients must acknowledge a break first.
    Deferred(Arc<DeferredRequests>),
    /// Somebody else removed or created the name meanwhile, so that it is looked up again.
    Again,
}

/// A CREATE request with its access in specific rights.
pub(crate) struct Wanted<'a> {
    pub(crate) request: &'a CreateRequest,
    id: FileId,
    access: u32,
    /// The client requests every right that it may have.
    maximum: bool,
    /// The share rejects changes.
    pub(crate) read_only: bool,
    pub(crate) cache: CacheRequest,
    holder: Arc<Holder>,
    /// The request has not waited yet.
    first: bool,
}

/// Initial allocation that a client requests, in bytes (MS-SMB2 2.2.13.2.2).
fn wanted_allocation(request: &CreateRequest) -> u64 {
    let mut contexts = request.contexts.iter();
    let context = contexts.find(|context| context.name == name::ALLOCATION_SIZE);
    let size =
        context.and_then(|context| context.data.first_chunk()).map_or(0, |size| u64::from_le_bytes(*size));
    size.checked_next_multiple_of(ALLOCATION_UNIT).unwrap_or(0)
}

/// Checks the fields of a request that do not depend on the file (MS-SMB2 3.3.5.9).
fn check_fields(request: &CreateRequest) -> Outcome<()> {
    if request.access & !VALID_ACCESS != 0 {
        return Err(NtStatus::ACCESS_DENIED);
    }
    if request.options & !VALID_OPTIONS != 0 {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    if request.options & UNSUPPORTED_OPTIONS != 0 {
        return Err(NtStatus::NOT_SUPPORTED);
    }
    let directory = request.options & options::DIRECTORY_FILE != 0;
    let replaces = matches!(
        request.disposition,
        disposition::SUPERSEDE | disposition::OVERWRITE | disposition::OVERWRITE_IF
    );
    let invalid = request.disposition > disposition::OVERWRITE_IF
        || request.share & !SHARE_MODES != 0
        || request.attributes & !VALID_ATTRIBUTES != 0
        || directory && (request.options & options::NON_DIRECTORY_FILE != 0 || replaces)
        || request.contexts.iter().any(|context| context.name.len() < 4);
    if invalid {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    if request.impersonation.0 > MAX_IMPERSONATION {
        return Err(NtStatus::BAD_IMPERSONATION_LEVEL);
    }
    if request.name.starts_with('\\') {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    if request.contexts.iter().any(|context| context.name == name::TIMEWARP_TOKEN) {
        // There are no earlier versions.
        return Err(NtStatus::OBJECT_NAME_NOT_FOUND);
    }
    Ok(())
}

impl<'a> Wanted<'a> {
    /// Checks a request as far as that does not depend on the file.
    pub(crate) fn new(
        request: &'a CreateRequest,
        id: FileId,
        read_only: bool,
        cache: CacheRequest,
        holder: Arc<Holder>,
        first: bool,
    ) -> Outcome<Self> {
        check_fields(request)?;
        let generic =
            |all, (bit, rights): &(u32, u32)| if request.access & bit == 0 { all } else { all | rights };
        let specific = request.access & ALL_ACCESS;
        let wanted = GENERIC.iter().fold(specific, generic);
        let maximum = request.access & access::MAXIMUM_ALLOWED != 0;
        let deletes = request.options & options::DELETE_ON_CLOSE != 0;
        if request.access & access::SYSTEM_SECURITY != 0 {
            return Err(NtStatus::PRIVILEGE_NOT_HELD);
        }
        if wanted == 0 && !maximum
            || deletes && wanted & access::DELETE == 0 && !maximum
            || read_only && (wanted & !READ_ACCESS != 0 || deletes)
        {
            return Err(NtStatus::ACCESS_DENIED);
        }
        Ok(Self { request, id, access: wanted, maximum, read_only, cache, holder, first })
    }

    /// The rights on a node, or the reason why the requested ones are not granted.
    pub(crate) fn granted(&self, found: Option<&Attributes>) -> Outcome<u32> {
        let protected = found.is_some_and(is_read_only);
        let mut allowed = if self.read_only { READ_ACCESS } else { ALL_ACCESS };
        if protected {
            allowed &= !CONTENT;
        }
        if self.access & !allowed != 0 {
            return Err(NtStatus::ACCESS_DENIED);
        }
        Ok(if self.maximum { allowed } else { self.access })
    }

    /// Opens, creates or replaces; otherwise the requests that wait for the same break.
    pub(crate) fn open(
        &self,
        server: &Arc<ServerState>,
    ) -> Outcome<Result<OpenedNode, Arc<DeferredRequests>>> {
        loop {
            match self.try_open(server)? {
                CreateProgress::Opened(opened) => return Ok(Ok(opened)),
                CreateProgress::Deferred(deferred) => return Ok(Err(deferred)),
                CreateProgress::Again => {}
            }
        }
    }

    /// The open of a node that was opened. Only an open over SMB2 may be durable.
    pub(crate) fn open_file(
        &self,
        opened: &OpenedNode,
        channel: ChannelState,
        durable: Option<DurableContext>,
        count: OpenCount,
    ) -> OpenFile {
        let Self { request, cache, .. } = self;
        let directory = opened.attributes.directory;
        let through = options::WRITE_THROUGH | options::NO_INTERMEDIATE_BUFFERING;
        OpenFile {
            id: self.id,
            node: opened.node,
            base: opened.base,
            directory,
            access: opened.access,
            write_through: request.options & options::WRITE_THROUGH != 0,
            options: request.options & (through | MODE_OPTIONS),
            lease: cache.lease().filter(|_| matches!(opened.cache, GrantedCache::Lease(_))),
            parent: ParentListing::new(cache.parent()),
            allocation: if directory { 0 } else { wanted_allocation(request) },
            durable: Durability::granted(durable.filter(|_| !directory), &opened.cache),
            resilience: AtomicU64::default(),
            changes: ContentChanges::new(channel),
            file: Arc::clone(&opened.file),
            delete_on_close: AtomicBool::new(request.options & options::DELETE_ON_CLOSE != 0),
            lock_sequences: LockSequences::default(),
            position: AtomicU64::default(),
            listing: Mutex::new(ListingState::default()),
            watch: OnceLock::new(),
            count: Mutex::new(count),
        }
    }

    fn try_open(&self, server: &Arc<ServerState>) -> Outcome<CreateProgress> {
        let volume = server.volume.as_ref();
        let (path, stream) = split_stream(&self.request.name)?;
        let resolved = resolve(volume, path)?;
        if let Some(stream) = stream {
            return self.open_stream(server, resolved, stream);
        }
        if path.len() < self.request.name.len() {
            // "::$DATA" names the content of a file, which a directory has not (MS-FSA 2.1.5.1).
            if self.request.options & options::DIRECTORY_FILE != 0 {
                return Err(NtStatus::NOT_A_DIRECTORY);
            }
            if resolved.found.as_ref().is_some_and(|found| found.directory) {
                return Err(NtStatus::FILE_IS_A_DIRECTORY);
            }
        }
        if let Some(found) = resolved.found {
            return self.open_existing(server, &resolved.location, found);
        }
        if matches!(self.request.disposition, disposition::OPEN | disposition::OVERWRITE) {
            return Err(NtStatus::OBJECT_NAME_NOT_FOUND);
        }
        if self.read_only {
            return Err(NtStatus::ACCESS_DENIED);
        }
        let access = self.granted(None)?;
        let read_only = self.request.attributes & READ_ONLY != 0;
        if read_only
            && self.request.options & (options::DELETE_ON_CLOSE | options::DIRECTORY_FILE)
                == options::DELETE_ON_CLOSE
        {
            return Err(NtStatus::CANNOT_DELETE);
        }
        match self.make(volume, &resolved.location) {
            Ok(attributes) => {
                self.finish_made(server, &resolved.location, &attributes)?;
                let opening = self.add(server, &resolved.location, &attributes, access, false)?;
                Ok(opened(opening, attributes, access, CREATED))
            }
            // Another client created it in the meantime.
            Err(VolumeError::Exists) if self.request.disposition != disposition::CREATE => {
                Ok(CreateProgress::Again)
            }
            Err(error) => Err(status(error)),
        }
    }

    /// Reports a new node, and stores the extended attributes and the descriptor that the request gives it (MS-SMB2 2.2.13.2.1, 2.2.13.2.2).
    pub(crate) fn finish_made(
        &self,
        server: &Arc<ServerState>,
        location: &FileLocation,
        made: &Attributes,
    ) -> Outcome<()> {
        let volume = server.volume.as_ref();
        let kind = if made.directory { filter::DIR_NAME } else { filter::FILE_NAME };
        server.files.note_location(location, Action::Added, kind, self.cache.parent());
        inherit_descriptor(volume, location.directory, made)?;
        for context in &self.request.contexts {
            if context.name == name::SECURITY_DESCRIPTOR {
                store_descriptor(volume, made, parts::OWNER | parts::GROUP | parts::DACL, &context.data)?;
            } else if context.name == name::EXTENDED_ATTRIBUTES {
                store_extended(volume, made.node, &context.data)?;
            }
        }
        Ok(())
    }

    /// Adds the open to the table of open files.
    pub(crate) fn add(
        &self,
        server: &Arc<ServerState>,
        location: &FileLocation,
        attributes: &Attributes,
        access: u32,
        overwrites: bool,
    ) -> Outcome<Opening> {
        let wanted = WantedOpen {
            node: attributes.node,
            location,
            id: self.id,
            access,
            share: self.request.share,
            overwrites,
            directory: attributes.directory,
            cache: &self.cache,
            holder: Arc::clone(&self.holder),
            first: self.first,
        };
        let opening = server.files.open(&wanted, server.options.exclusive)?;
        if let Opening::Lost(lost) = &opening {
            server.close_lost(lost);
        }
        Ok(opening)
    }

    pub(crate) fn make(
        &self,
        volume: &dyn Volume,
        location: &FileLocation,
    ) -> Result<Attributes, VolumeError> {
        check_portable_name(&location.name)?;
        if self.request.options & options::DIRECTORY_FILE != 0 {
            let made = volume.make_directory(location.directory, &location.name, DIRECTORY_MODE)?;
            store_bits(volume, &made, self.request.attributes);
            return Ok(made);
        }
        let mode = mode_with(FILE_MODE, self.request.attributes & READ_ONLY != 0);
        let made = volume.create(location.directory, &location.name, mode)?;
        store_bits(volume, &made, self.request.attributes | ARCHIVE);
        Ok(made)
    }

    /// Checks that the request may open an existing node, and returns the action.
    fn check_existing(
        &self,
        server: &Arc<ServerState>,
        location: &FileLocation,
        found: &Attributes,
    ) -> Outcome<u32> {
        let request = self.request;
        if request.disposition == disposition::CREATE {
            return Err(NtStatus::OBJECT_NAME_COLLISION);
        }
        if request.options & options::DIRECTORY_FILE != 0 && !found.directory {
            return Err(NtStatus::NOT_A_DIRECTORY);
        }
        let action = match request.disposition {
            disposition::SUPERSEDE => SUPERSEDED,
            disposition::OVERWRITE | disposition::OVERWRITE_IF => OVERWRITTEN,
            _ => OPENED,
        };
        if found.directory && (request.options & options::NON_DIRECTORY_FILE != 0 || action != OPENED) {
            return Err(NtStatus::FILE_IS_A_DIRECTORY);
        }
        if action != OPENED {
            // A replacement must keep what hides the file (MS-FSA 2.1.5.1.2).
            let kept = describe(server.volume.as_ref(), found).attributes & (HIDDEN | SYSTEM);
            if is_read_only(found) || self.read_only || kept & !request.attributes != 0 {
                return Err(NtStatus::ACCESS_DENIED);
            }
        }
        if request.options & options::DELETE_ON_CLOSE != 0 {
            if is_read_only(found) || location.name.is_empty() {
                return Err(NtStatus::CANNOT_DELETE);
            }
            checked(server.volume.may_remove(location.directory))?;
        }
        Ok(action)
    }

    fn open_existing(
        &self,
        server: &Arc<ServerState>,
        location: &FileLocation,
        found: Attributes,
    ) -> Outcome<CreateProgress> {
        let action = self.check_existing(server, location, &found)?;
        let access = self.granted(Some(&found))?;
        // Replacing the content is a use that share modes concern (MS-FSA 2.1.5.1.2.1).
        let used = access | if action == OPENED { 0 } else { access::WRITE_DATA };
        let opening = self.add(server, location, &found, used, action != OPENED)?;
        let Opening::Opened(file, cache) = opening else { return Ok(opened(opening, found, access, action)) };
        if action == OPENED {
            return Ok(opened(Opening::Opened(file, cache), found, access, action));
        }
        let volume = server.volume.as_ref();
        let mode = mode_with(found.mode, self.request.attributes & READ_ONLY != 0);
        let mode = (mode != found.mode).then_some(mode);
        let empty = SetAttributes { size: Some(0), mode, ..SetAttributes::default() };
        let emptied = volume.set_attributes(found.node, &empty);
        match emptied {
            Ok(attributes) => {
                store_bits(volume, &attributes, self.request.attributes | ARCHIVE);
                let changed = filter::SIZE | filter::ATTRIBUTES | filter::LAST_WRITE;
                server.files.note_location(location, Action::Modified, changed, self.cache.parent());
                Ok(opened(Opening::Opened(file, cache), attributes, access, action))
            }
            Err(error) => {
                let leaving = LeavingOpen {
                    id: self.id.volatile,
                    lease: self.cache.lease(),
                    parent: None,
                    deletes: false,
                };
                server.files.leave(&file, leaving, volume);
                Err(status(error))
            }
        }
    }
}

/// The progress of an open that was added to the table, or could not be.
pub(crate) fn opened(opening: Opening, attributes: Attributes, access: u32, action: u32) -> CreateProgress {
    match opening {
        Opening::Opened(file, cache) => {
            let node = attributes.node;
            CreateProgress::Opened(OpenedNode { node, base: None, file, attributes, access, action, cache })
        }
        Opening::Deferred(deferred) => CreateProgress::Deferred(deferred),
        Opening::Lost(_) => CreateProgress::Again,
    }
}
