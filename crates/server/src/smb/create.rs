//! CREATE and CLOSE (MS-SMB2 3.3.5.9, 3.3.5.10).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use sharebench_smb::NtStatus;
use sharebench_smb::wire::create::{CreateRequest, CreateResponse, access, disposition, options};
use sharebench_smb::wire::create_context::{CreateContext, name, put_contexts};
use sharebench_smb::wire::lease::LEVEL;
use sharebench_smb::wire::simple::{CloseRequest, CloseResponse};
use sharebench_smb::wire::{FileId, HEADER_LEN};

use crate::name::check_portable_name;
use crate::smb::connection::{Answer, Call, DONE};
use crate::smb::file_info::{READ_ONLY, is_read_only, metadata, mode_with};
use crate::smb::listing::ListingState;
use crate::smb::open_files::{File, OpenFile, Place};
use crate::smb::pipe::Pipe;
use crate::smb::resolve::resolve;
use crate::smb::session::{OpenCount, Opened, Tree};
use crate::smb::status::{Outcome, checked, malformed, status};
use crate::{Attributes, SetAttributes, Volume, VolumeError};

/// Every right on a file (MS-SMB2 2.2.13.1).
pub(super) const ALL_ACCESS: u32 = 0x001F_01FF;
/// The rights that change nothing.
pub(super) const READ_ACCESS: u32 = 0x0012_00A9;
/// Rights that generic ones stand for (MS-SMB2 2.2.13.1.1).
const GENERIC: [(u32, u32); 4] = [
    (access::GENERIC_ALL, ALL_ACCESS),
    (access::GENERIC_EXECUTE, 0x0012_00A0),
    (access::GENERIC_WRITE, 0x0012_0116),
    (access::GENERIC_READ, 0x0012_0089),
];
/// Rights to change the content, which a file with the attribute READONLY does not give.
const CONTENT: u32 = access::WRITE_DATA | access::APPEND_DATA;
/// Bits of a share mode, and attributes that a client may request.
const SHARE_MODES: u32 = 7;
const VALID_ATTRIBUTES: u32 = 0x7FB7;
/// Values of `CreateAction` (MS-SMB2 2.2.14).
const SUPERSEDED: u32 = 0;
const OPENED: u32 = 1;
const CREATED: u32 = 2;
const OVERWRITTEN: u32 = 3;
/// Modes of new files and directories.
const FILE_MODE: u32 = 0o644;
const DIRECTORY_MODE: u32 = 0o755;

/// A node that CREATE has opened.
struct OpenedNode {
    file: Arc<File>,
    attributes: Attributes,
    access: u32,
    action: u32,
}

/// A CREATE request with its access in specific rights.
struct Wanted<'a> {
    request: &'a CreateRequest,
    id: FileId,
    access: u32,
    /// The client requests every right that it may have.
    maximum: bool,
    /// The share rejects changes.
    read_only: bool,
}

impl<'a> Wanted<'a> {
    /// Checks the fields of a request that do not depend on the file.
    fn new(request: &'a CreateRequest, id: FileId, read_only: bool) -> Outcome<Self> {
        let directory = request.options & options::DIRECTORY_FILE != 0;
        let unsupported =
            options::CREATE_TREE_CONNECTION | options::OPEN_BY_FILE_ID | options::RESERVE_OPFILTER;
        if request.options & unsupported != 0 {
            return Err(NtStatus::NOT_SUPPORTED);
        }
        let replaces = matches!(
            request.disposition,
            disposition::SUPERSEDE | disposition::OVERWRITE | disposition::OVERWRITE_IF
        );
        let invalid = request.disposition > disposition::OVERWRITE_IF
            || request.share & !SHARE_MODES != 0
            || request.attributes & !VALID_ATTRIBUTES != 0
            || directory && (request.options & options::NON_DIRECTORY_FILE != 0 || replaces);
        if invalid {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        if request.contexts.iter().any(|context| context.name == name::TIMEWARP_TOKEN) {
            // There are no earlier versions.
            return Err(NtStatus::OBJECT_NAME_NOT_FOUND);
        }
        let generic =
            |all, (bit, rights): &(u32, u32)| if request.access & bit == 0 { all } else { all | rights };
        let specific = request.access & (ALL_ACCESS | access::SYSTEM_SECURITY);
        let wanted = GENERIC.iter().fold(specific, generic);
        let maximum = request.access & access::MAXIMUM_ALLOWED != 0;
        let deletes = request.options & options::DELETE_ON_CLOSE != 0;
        if wanted == 0 && !maximum
            || wanted & access::SYSTEM_SECURITY != 0
            || deletes && wanted & access::DELETE == 0 && !maximum
            || read_only && (wanted & !READ_ACCESS != 0 || deletes)
        {
            return Err(NtStatus::ACCESS_DENIED);
        }
        Ok(Self { request, id, access: wanted, maximum, read_only })
    }

    /// The rights on a node, or the reason why the requested ones are not granted.
    fn granted(&self, found: Option<&Attributes>) -> Outcome<u32> {
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

    /// Opens, creates or replaces.
    fn open(&self, call: &Call<'_>) -> Outcome<OpenedNode> {
        let server = &call.connection.server;
        let volume = server.volume.as_ref();
        loop {
            let resolved = resolve(volume, &self.request.name)?;
            if let Some(found) = resolved.found {
                return self.open_existing(call, &resolved.place, found);
            }
            if matches!(self.request.disposition, disposition::OPEN | disposition::OVERWRITE) {
                return Err(NtStatus::OBJECT_NAME_NOT_FOUND);
            }
            if self.read_only {
                return Err(NtStatus::ACCESS_DENIED);
            }
            match self.make(volume, &resolved.place) {
                Ok(attributes) => {
                    let access = self.granted(None)?;
                    let opens = (self.id, access, self.request.share);
                    let file = server.files.open(attributes.node, &resolved.place, opens)?;
                    return Ok(OpenedNode { file, attributes, access, action: CREATED });
                }
                // Another client created it in the meantime.
                Err(VolumeError::Exists) if self.request.disposition != disposition::CREATE => {}
                Err(error) => return Err(status(error)),
            }
        }
    }

    fn make(&self, volume: &dyn Volume, place: &Place) -> Result<Attributes, VolumeError> {
        check_portable_name(&place.name)?;
        if self.request.options & options::DIRECTORY_FILE != 0 {
            return volume.make_directory(place.directory, &place.name, DIRECTORY_MODE);
        }
        let mode = mode_with(FILE_MODE, self.request.attributes & READ_ONLY != 0);
        volume.create(place.directory, &place.name, mode)
    }

    fn open_existing(&self, call: &Call<'_>, place: &Place, found: Attributes) -> Outcome<OpenedNode> {
        let server = &call.connection.server;
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
        if action != OPENED && (is_read_only(&found) || self.read_only) {
            return Err(NtStatus::ACCESS_DENIED);
        }
        if request.options & options::DELETE_ON_CLOSE != 0 {
            if is_read_only(&found) || place.name.is_empty() {
                return Err(NtStatus::CANNOT_DELETE);
            }
            checked(server.volume.may_remove(place.directory))?;
        }
        let access = self.granted(Some(&found))?;
        // Replacing the content is a use that share modes concern (MS-FSA 2.1.5.1.2.1).
        let used = access | if action == OPENED { 0 } else { access::WRITE_DATA };
        let file = server.files.open(found.node, place, (self.id, used, request.share))?;
        if action == OPENED {
            return Ok(OpenedNode { file, attributes: found, access, action });
        }
        let empty = SetAttributes { size: Some(0), ..SetAttributes::default() };
        let emptied = server.volume.set_attributes(found.node, &empty);
        file.end_leases(self.id.volatile);
        match emptied {
            Ok(attributes) => Ok(OpenedNode { file, attributes, access, action }),
            Err(error) => {
                server.files.leave(&file, self.id.volatile, false, server.volume.as_ref());
                Err(status(error))
            }
        }
    }
}

/// The contexts of a response (MS-SMB2 2.2.14.2).
fn answered_contexts(
    request: &CreateRequest,
    read_only: bool,
    attributes: &Attributes,
) -> Vec<CreateContext> {
    let mut answered = Vec::new();
    for context in &request.contexts {
        if context.name == name::QUERY_MAXIMAL_ACCESS {
            let protected = if is_read_only(attributes) { CONTENT } else { 0 };
            let access = if read_only { READ_ACCESS } else { ALL_ACCESS & !protected };
            let data = [0u32.to_le_bytes(), access.to_le_bytes()].concat();
            answered.push(CreateContext::new(name::QUERY_MAXIMAL_ACCESS, &data));
        } else if context.name == name::QUERY_ON_DISK_ID {
            let mut data = [0; 32];
            data[..8].copy_from_slice(&attributes.node.0.to_le_bytes());
            answered.push(CreateContext::new(name::QUERY_ON_DISK_ID, &data));
        }
    }
    answered
}

impl Call<'_> {
    /// CREATE.
    pub(super) fn create(&mut self, body: &mut Vec<u8>) -> Outcome<Answer> {
        let request = CreateRequest::decode(self.message).map_err(malformed)?;
        let server = &self.connection.server;
        let count = OpenCount::new(&self.connection.opens, server.max_opens.load(Ordering::Relaxed))?;
        let id = server.new_file_id();
        if self.tree()? == Tree::Pipes {
            let pipe = Pipe::open(&request.name, &server.options.share, count)?;
            return self.opened_pipe(id, pipe, body);
        }
        let lease = self.wanted_lease(&request)?;
        let wanted = Wanted::new(&request, id, server.options.read_only)?;
        let OpenedNode { file, attributes, access, action } = wanted.open(self)?;
        let through = options::WRITE_THROUGH | options::NO_INTERMEDIATE_BUFFERING;
        let open = Arc::new(OpenFile {
            id,
            node: attributes.node,
            directory: attributes.directory,
            access,
            write_through: request.options & options::WRITE_THROUGH != 0,
            options: request.options & (through | options::DELETE_ON_CLOSE),
            file,
            delete_on_close: AtomicBool::new(request.options & options::DELETE_ON_CLOSE != 0),
            listing: Mutex::new(ListingState::default()),
            _count: count,
        });
        let lease = lease.filter(|_| !open.directory).map(|wanted| self.grant_lease(&wanted, &open));
        let oplock = if lease.is_some() { LEVEL } else { 0 };
        if !self.session.add(id, self.tree_id, Opened::File(Arc::clone(&open))) {
            server.files.close(&open, server.volume.as_ref());
            return Err(NtStatus::USER_SESSION_DELETED);
        }
        self.file = Some(id);
        let found = metadata(&attributes);
        let mut answered = answered_contexts(&request, server.options.read_only, &attributes);
        answered.extend(lease);
        let mut contexts = Vec::new();
        put_contexts(&answered, &mut contexts);
        let offset = (HEADER_LEN + 88) as u32;
        CreateResponse {
            oplock,
            action,
            times: found.times(),
            allocation: found.allocation,
            end_of_file: found.end_of_file,
            attributes: found.attributes,
            file: id,
            contexts_offset: if contexts.is_empty() { 0 } else { offset },
            contexts_len: contexts.len() as u32,
            ..CreateResponse::default()
        }
        .encode(body);
        if contexts.is_empty() {
            // The variable part must have at least one byte.
            body.push(0);
        }
        body.append(&mut contexts);
        DONE
    }

    fn opened_pipe(&mut self, id: FileId, pipe: Pipe, body: &mut Vec<u8>) -> Outcome<Answer> {
        if !self.session.add(id, self.tree_id, Opened::Pipe(Arc::new(pipe))) {
            return Err(NtStatus::USER_SESSION_DELETED);
        }
        self.file = Some(id);
        CreateResponse { action: OPENED, attributes: 0x80, file: id, ..CreateResponse::default() }
            .encode(body);
        body.push(0);
        DONE
    }

    /// CLOSE, with the attributes of the file if the client requests them.
    pub(super) fn close(&mut self, body: &mut Vec<u8>) -> Outcome<Answer> {
        let request = CloseRequest::decode(self.message).map_err(malformed)?;
        let id = self.file_id(request.file)?;
        let server = &self.connection.server;
        let mut response = CloseResponse::default();
        if let Opened::File(open) = self.session.remove(id, self.tree_id)? {
            if request.flags & 1 != 0
                && let Ok(attributes) = server.volume.attributes(open.node)
            {
                let found = metadata(&attributes);
                response = CloseResponse {
                    flags: 1,
                    times: found.times(),
                    allocation: found.allocation,
                    end_of_file: found.end_of_file,
                    attributes: found.attributes,
                    ..response
                };
            }
            server.files.close(&open, server.volume.as_ref());
        }
        response.encode(body);
        DONE
    }
}
