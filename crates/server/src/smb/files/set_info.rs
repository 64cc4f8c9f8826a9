//! `SET_INFO` (MS-SMB2 3.3.5.21): times and attributes, sizes, names and removal.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sharebench_smb::NtStatus;
use sharebench_smb::wire::change_notify::{Action, filter};
use sharebench_smb::wire::create::access;
use sharebench_smb::wire::extended_attributes::attributes;
use sharebench_smb::wire::file_info::BasicInformation;
use sharebench_smb::wire::header::{Header, command};
use sharebench_smb::wire::info::{
    DISPOSITION, END_OF_FILE, LINK, RENAME, SetInfoRequest, TYPE_FILE, TYPE_SECURITY, renamed,
};
use sharebench_smb::wire::{Field, Reader};

use crate::smb::files::descriptors::set_descriptor;
use crate::smb::files::file_info::{
    DIRECTORY, READ_ONLY, TEMPORARY, is_read_only, mode_with, store_bits, store_created, system_time,
};
use crate::smb::files::open_file::{File, OpenFile};
use crate::smb::names::file_locations::FileLocation;
use crate::smb::names::resolve::{ResolvedPath, find_stream, last_name, normalized, resolve, split_stream};
use crate::smb::session::call::{Call, CallResponse};
use crate::smb::session::deferred::DeferredRequests;
use crate::smb::state::ServerState;
use crate::smb::status::{Outcome, checked, malformed};
use crate::volume::name::{check_portable_name, fold_case};
use crate::{Attributes, NodeId, SetAttributes, Volume, VolumeError};

/// File information classes (MS-FSCC 2.4).
pub(crate) const BASIC: u8 = 4;
const POSITION: u8 = 14;
const FULL_EA: u8 = 15;
const MODE: u8 = 16;
const ALLOCATION: u8 = 19;
const DISPOSITION_EX: u8 = 64;
const RENAME_EX: u8 = 65;
/// `FILE_DISPOSITION_DELETE`, in the extended class.
const DELETE: u32 = 1;
/// `StructureSize` of the response, its only field.
const RESPONSE_SIZE: u16 = 2;

fn word<T: Field>(information: &[u8]) -> Outcome<T> {
    // Some clients send fewer bytes than the class has: they cannot mean anything.
    Reader::new(information, "SET_INFO").get().map_err(|_| NtStatus::INFO_LENGTH_MISMATCH)
}

/// True for a message whose first request renames, links or removes a file, which breaks the leases of others on its handle.
pub(crate) fn breaks_handles(message: &[u8]) -> bool {
    Header::decode(message).is_ok_and(|header| header.command == command::SET_INFO)
        && SetInfoRequest::decode(message).is_ok_and(|request| {
            request.info_type == TYPE_FILE
                && matches!(request.class, RENAME | RENAME_EX | LINK | DISPOSITION | DISPOSITION_EX)
        })
}

/// The time that a client sets; 0 and the negative values leave a time as it is (MS-FSCC 2.4.7).
fn set_time(time: u64) -> Option<std::time::SystemTime> {
    if time == 0 || time > i64::MAX as u64 { None } else { system_time(time) }
}

/// Stores a list of extended attributes with a node; those with an empty value are removed. Names differ not only in case.
pub(crate) fn store_extended(volume: &dyn Volume, node: NodeId, list: &[u8]) -> Outcome<()> {
    let stored = checked(volume.extended_attributes(node))?;
    for (name, value) in attributes(list).map_err(malformed)? {
        let known = stored.iter().find(|(other, _)| fold_case(other) == fold_case(&name));
        let name = known.map_or(&name, |(known, _)| known);
        match volume.set_extended_attribute(node, name, &value) {
            Err(VolumeError::Unsupported) => return Err(NtStatus::EAS_NOT_SUPPORTED),
            set => checked(set)?,
        }
    }
    Ok(())
}

impl Call<'_> {
    /// `SET_INFO`.
    pub(crate) fn set_info(&mut self, body: &mut Vec<u8>) -> Outcome<CallResponse> {
        let request = SetInfoRequest::decode(self.message).map_err(malformed)?;
        let open = self.file(request.file)?;
        let _change = self.begin_change(&open)?;
        let server = &self.connection.server;
        match request.info_type {
            TYPE_FILE => {}
            TYPE_SECURITY => {
                set_descriptor(server.volume.as_ref(), &open, request.additional, &request.information)?;
                open.note_change(&server.files, filter::SECURITY);
                RESPONSE_SIZE.put(body);
                return Ok(CallResponse::Complete(NtStatus::SUCCESS));
            }
            _ => return Err(NtStatus::NOT_SUPPORTED),
        }
        if let Some(deferred) = server.set_file_information(request.class, &open, &request.information)? {
            return Ok(CallResponse::Deferred(deferred));
        }
        RESPONSE_SIZE.put(body);
        Ok(CallResponse::Complete(NtStatus::SUCCESS))
    }
}

impl ServerState {
    /// Sets information of a class of MS-FSCC 2.4 on an open file; returns what the change must wait for.
    pub(crate) fn set_file_information(
        &self,
        class: u8,
        open: &OpenFile,
        information: &[u8],
    ) -> Outcome<Option<Arc<DeferredRequests>>> {
        match class {
            BASIC => self.set_basic(open, information)?,
            END_OF_FILE => self.set_size(open, word(information)?)?,
            ALLOCATION => self.set_allocation(open, word(information)?)?,
            DISPOSITION => return self.set_disposition(open, word::<u8>(information)? != 0),
            DISPOSITION_EX => return self.set_disposition(open, word::<u32>(information)? & DELETE != 0),
            RENAME | RENAME_EX => {
                open.require(access::DELETE)?;
                let (replace, path) = renamed(information).map_err(|_| NtStatus::INFO_LENGTH_MISMATCH)?;
                return self.rename(open, replace, &path);
            }
            LINK => {
                let (replace, path) = renamed(information).map_err(|_| NtStatus::INFO_LENGTH_MISMATCH)?;
                return self.link(open, replace, &path);
            }
            POSITION => {
                let position: u64 = word(information)?;
                if i64::try_from(position).is_err() {
                    return Err(NtStatus::INVALID_PARAMETER);
                }
                open.position.store(position, Ordering::Relaxed);
            }
            MODE => drop(word::<u32>(information)?),
            FULL_EA => {
                open.require(access::WRITE_EA)?;
                store_extended(self.volume.as_ref(), open.described_node(), information)?;
                open.note_change(&self.files, filter::EA);
            }
            _ => return Err(NtStatus::INVALID_INFO_CLASS),
        }
        Ok(None)
    }

    /// Times and attributes. Where the volume cannot store attributes of DOS, they are accepted and ignored: the Linux
    /// client sets HIDDEN on a read-only file before it removes it, and fails the removal if it cannot.
    pub(crate) fn set_basic(&self, open: &OpenFile, information: &[u8]) -> Outcome<()> {
        open.require(access::WRITE_ATTRIBUTES)?;
        let basic = BasicInformation::decode(information).map_err(|_| NtStatus::INFO_LENGTH_MISMATCH)?;
        let wrong = if open.directory { TEMPORARY } else { DIRECTORY };
        if basic.attributes & wrong != 0 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let mut change = SetAttributes {
            accessed: set_time(basic.accessed),
            modified: set_time(basic.modified),
            changed: set_time(basic.changed),
            ..SetAttributes::default()
        };
        let found = checked(self.volume.as_ref().attributes(open.described_node()))?;
        if basic.attributes != 0 && !open.directory {
            let new = mode_with(found.mode, basic.attributes & READ_ONLY != 0);
            change.mode = (new != found.mode).then_some(new);
        }
        let mut changed = 0;
        for (time, bit) in [
            (basic.accessed, filter::LAST_ACCESS),
            (basic.modified, filter::LAST_WRITE),
            (basic.created, filter::CREATION),
            (u64::from(basic.attributes), filter::ATTRIBUTES),
        ] {
            changed |= if time == 0 { 0 } else { bit };
        }
        open.file.write_time.release();
        if let Some(created) = set_time(basic.created) {
            store_created(self.volume.as_ref(), &found, created);
        }
        if basic.attributes != 0 {
            store_bits(self.volume.as_ref(), &found, basic.attributes);
        }
        let set = if change == SetAttributes::default() {
            Ok(())
        } else {
            self.volume.as_ref().set_attributes(open.described_node(), &change).map(drop)
        };
        if open.directory {
            // Its own attributes are a part of what clients cache of it.
            open.file.end_caches(open.id.volatile);
        }
        open.note_change(&self.files, changed);
        checked(set)
    }

    pub(crate) fn set_size(&self, open: &OpenFile, size: u64) -> Outcome<()> {
        open.require(access::WRITE_DATA)?;
        if open.directory || i64::try_from(size).is_err() {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let change = SetAttributes { size: Some(size), ..SetAttributes::default() };
        let changed = self.volume.as_ref().set_attributes(open.node, &change);
        open.file.end_caches(open.id.volatile);
        open.file.write_time.release();
        checked(changed)?;
        open.note_change(&self.files, filter::SIZE | filter::ATTRIBUTES);
        Ok(())
    }

    /// A smaller allocation truncates; a larger one is a hint (MS-FSA 2.1.5.14.1).
    pub(crate) fn set_allocation(&self, open: &OpenFile, allocation: u64) -> Outcome<()> {
        open.require(access::WRITE_DATA)?;
        let size = checked(self.volume.as_ref().attributes(open.node))?.size;
        if allocation < size {
            return self.set_size(open, allocation);
        }
        open.file.end_caches(open.id.volatile);
        Ok(())
    }

    /// Breaks the handles of a file that other clients cache, and returns what to wait for.
    fn break_handles(&self, file: &Arc<File>, open: &OpenFile) -> Option<Arc<DeferredRequests>> {
        loop {
            let obstacles = file.state().break_handles(file, Some(open.id.volatile));
            if obstacles.lost.is_empty() {
                return obstacles.deferred;
            }
            self.close_lost(&obstacles.lost);
        }
    }

    /// Breaks the handles that clients keep below a directory, and returns what to wait for.
    fn break_below(&self, directory: &str) -> Outcome<Option<Arc<DeferredRequests>>> {
        loop {
            let obstacles = self.files.break_below(directory)?;
            if obstacles.lost.is_empty() {
                return Ok(obstacles.deferred);
            }
            self.close_lost(&obstacles.lost);
        }
    }

    /// Requests the removal at the last close, or withdraws the request.
    pub(crate) fn set_disposition(
        &self,
        open: &OpenFile,
        delete: bool,
    ) -> Outcome<Option<Arc<DeferredRequests>>> {
        open.require(access::DELETE)?;
        if delete {
            let location = open.location();
            let attributes = checked(open.attributes(self.volume.as_ref()))?;
            if is_read_only(&attributes) || location.name.is_empty() {
                return Err(NtStatus::CANNOT_DELETE);
            }
            // Nobody learns of a removal that fails at the close.
            checked(self.volume.as_ref().may_remove(location.directory))?;
            if open.directory && !checked(self.volume.as_ref().list(open.node, 0, 1))?.is_empty() {
                return Err(NtStatus::DIRECTORY_NOT_EMPTY);
            }
            if let Some(deferred) = self.break_handles(&open.file, open) {
                return Ok(Some(deferred));
            }
        }
        {
            let mut state = open.file.state();
            state.set_delete_pending(open.id.volatile, delete);
            state.deleter = open.parent.lease;
        }
        if delete && open.directory {
            self.files.watches.end_of(open.node, NtStatus::DELETE_PENDING);
        }
        if !delete {
            open.delete_on_close.store(false, Ordering::Relaxed);
        }
        Ok(None)
    }

    /// Where a path of a client leads as the new name of an open file, and what the change must wait for.
    fn new_location(
        &self,
        open: &OpenFile,
        path: &str,
    ) -> Outcome<(ResolvedPath, Option<Arc<DeferredRequests>>)> {
        let path = path.trim_start_matches('\\');
        checked(check_portable_name(last_name(path)))?;
        let to = resolve(self.volume.as_ref(), path)?;
        let held = self.files.held_for_removal(to.location.directory)?;
        let deferred = held.and_then(|held| self.break_handles(&held, open));
        Ok((to, deferred))
    }

    /// Checks that a new name of an open file may replace what it names, and returns what that must wait for.
    fn replace(
        &self,
        open: &OpenFile,
        replace: bool,
        old: &Attributes,
    ) -> Outcome<Option<Arc<DeferredRequests>>> {
        if !replace {
            return Err(NtStatus::OBJECT_NAME_COLLISION);
        }
        if old.directory || open.directory || is_read_only(old) {
            return Err(NtStatus::ACCESS_DENIED);
        }
        // A client may have closed the file and keep the handle, or may have lost its connection.
        if let Some(file) = self.files.of_node(old.node)
            && let Some(deferred) = self.break_handles(&file, open)
        {
            return Ok(Some(deferred));
        }
        if self.files.is_open(old.node) { Err(NtStatus::ACCESS_DENIED) } else { Ok(None) }
    }

    /// Renames an open file or stream, possibly over another one; returns what the rename must wait for.
    pub(crate) fn rename(
        &self,
        open: &OpenFile,
        replace: bool,
        path: &str,
    ) -> Outcome<Option<Arc<DeferredRequests>>> {
        open.require(access::DELETE)?;
        let path = normalized(path);
        if path.starts_with(':') || open.base.is_some() {
            return self.rename_stream(open, replace, &path).map(|()| None);
        }
        let from = open.location();
        if from.name.is_empty() {
            return Err(NtStatus::ACCESS_DENIED);
        }
        let (to, deferred) = self.new_location(open, &path)?;
        if deferred.is_some() {
            return Ok(deferred);
        }
        if open.directory
            && let Some(deferred) = self.break_below(&from.path)?
        {
            return Ok(Some(deferred));
        }
        if let Some(deferred) = self.break_handles(&open.file, open) {
            return Ok(Some(deferred));
        }
        let volume = self.volume.as_ref();
        let new_name = last_name(&to.location.path);
        let same = (to.location.directory, &to.location.name) == (from.directory, &from.name);
        if let Some(old) = to.found.filter(|_| !same) {
            if let Some(deferred) = self.replace(open, replace, &old)? {
                return Ok(Some(deferred));
            }
            if to.location.name != new_name {
                // The target exists with other case: both names must not remain.
                checked(volume.remove(to.location.directory, &to.location.name))?;
            }
        }
        checked(volume.rename(from.directory, &from.name, to.location.directory, new_name))?;
        let location = FileLocation { name: new_name.to_owned(), ..to.location };
        open.file.state().locations.of_open_mut(open.id.volatile).clone_from(&location);
        self.note_renamed(open, &from, &location);
        Ok(None)
    }

    /// Gives an open file one more name (MS-FSA 2.1.5.15.6); returns what that must wait for.
    pub(crate) fn link(
        &self,
        open: &OpenFile,
        replace: bool,
        path: &str,
    ) -> Outcome<Option<Arc<DeferredRequests>>> {
        if self.options.read_only {
            return Err(NtStatus::ACCESS_DENIED);
        }
        if open.directory {
            return Err(NtStatus::FILE_IS_A_DIRECTORY);
        }
        if open.base.is_some() {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let (to, deferred) = self.new_location(open, &normalized(path))?;
        if deferred.is_some() {
            return Ok(deferred);
        }
        let volume = self.volume.as_ref();
        if let Some(old) = to.found {
            if let Some(deferred) = self.replace(open, replace, &old)? {
                return Ok(Some(deferred));
            }
            checked(volume.remove(to.location.directory, &to.location.name))?;
        }
        let location = FileLocation { name: last_name(&to.location.path).to_owned(), ..to.location };
        checked(volume.add_name(open.node, location.directory, &location.name))?;
        self.files.note_location(&location, Action::Added, filter::FILE_NAME, open.parent.lease);
        Ok(None)
    }

    /// Renames a stream within its file.
    fn rename_stream(&self, open: &OpenFile, replace: bool, path: &str) -> Outcome<()> {
        let location = open.location();
        let (Some((base, name)), ("", Some(new_name))) = (location.stream, split_stream(path)?) else {
            return Err(NtStatus::INVALID_PARAMETER);
        };
        let volume = self.volume.as_ref();
        if let Some((stored, old)) = find_stream(volume, base, new_name)?
            && old.node != open.node
        {
            if !replace || self.files.is_open(old.node) {
                return Err(NtStatus::OBJECT_NAME_COLLISION);
            }
            checked(volume.remove_stream(base, &stored))?;
        }
        checked(volume.rename_stream(base, &name, new_name))?;
        let mut state = open.file.state();
        let location = state.locations.of_open_mut(open.id.volatile);
        let file = location.path.split(':').next().unwrap_or_default().to_owned();
        location.path = format!("{file}:{new_name}");
        location.stream = Some((base, new_name.to_owned()));
        Ok(())
    }

    /// Reports a rename: within a directory as one, otherwise as a removal and an addition.
    fn note_renamed(&self, open: &OpenFile, from: &FileLocation, to: &FileLocation) {
        let files = &self.files;
        let named = open.parent.lease;
        let kind = if open.directory { filter::DIR_NAME } else { filter::FILE_NAME };
        let (old, new) = if from.directory == to.directory {
            (Action::RenamedOldName, Action::RenamedNewName)
        } else {
            (Action::Removed, Action::Added)
        };
        files.note_location(from, old, kind, named);
        files.note_location(to, new, kind, named);
        if !open.directory {
            // As Windows does.
            files.note_location(to, Action::Modified, filter::ATTRIBUTES | filter::CREATION, named);
        }
    }
}
