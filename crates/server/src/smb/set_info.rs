//! `SET_INFO` (MS-SMB2 3.3.5.21): times and attributes, sizes, names and removal.

use std::sync::atomic::Ordering;

use sharebench_smb::NtStatus;
use sharebench_smb::wire::create::access;
use sharebench_smb::wire::file_info::BasicInformation;
use sharebench_smb::wire::info::{DISPOSITION, END_OF_FILE, RENAME, SetInfoRequest, TYPE_FILE, renamed};
use sharebench_smb::wire::{Field, Reader};

use crate::name::check_portable_name;
use crate::smb::connection::{Answer, Call};
use crate::smb::file_info::{READ_ONLY, is_read_only, mode_with, system_time};
use crate::smb::open_files::{OpenFile, Place};
use crate::smb::resolve::{last_name, resolve};
use crate::smb::status::{Outcome, checked, malformed};
use crate::{SetAttributes, Volume};

/// File information classes (MS-FSCC 2.4).
const BASIC: u8 = 4;
const POSITION: u8 = 14;
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

/// The time that a client sets; 0 and the negative values leave a time as it is (MS-FSCC 2.4.7).
fn set_time(time: u64) -> Option<std::time::SystemTime> {
    if time == 0 || time > i64::MAX as u64 { None } else { system_time(time) }
}

impl Call<'_> {
    fn volume(&self) -> &dyn Volume {
        self.connection.server.volume.as_ref()
    }

    /// `SET_INFO`. Descriptors are derived from modes, so that none can be set.
    pub(super) fn set_info(&mut self, body: &mut Vec<u8>) -> Outcome<Answer> {
        let request = SetInfoRequest::decode(self.message).map_err(malformed)?;
        let open = self.file(request.file)?;
        if request.info_type != TYPE_FILE {
            return Err(NtStatus::NOT_SUPPORTED);
        }
        let information = &request.information[..];
        match request.class {
            BASIC => self.set_basic(&open, information)?,
            END_OF_FILE => self.set_size(&open, word(information)?)?,
            ALLOCATION => self.set_allocation(&open, word(information)?)?,
            DISPOSITION => self.set_disposition(&open, word::<u8>(information)? != 0)?,
            DISPOSITION_EX => self.set_disposition(&open, word::<u32>(information)? & DELETE != 0)?,
            RENAME | RENAME_EX => self.rename(&open, information)?,
            POSITION => drop(word::<u64>(information)?),
            MODE => drop(word::<u32>(information)?),
            _ => return Err(NtStatus::INVALID_INFO_CLASS),
        }
        RESPONSE_SIZE.put(body);
        Ok(Answer::Now(NtStatus::SUCCESS))
    }

    /// Only the times of access and modification, and READONLY of files are stored. The other attributes are accepted and
    /// ignored: the Linux client sets HIDDEN on a read-only file before it removes it, and fails the removal if it cannot.
    fn set_basic(&self, open: &OpenFile, information: &[u8]) -> Outcome<()> {
        open.require(access::WRITE_ATTRIBUTES)?;
        let basic = BasicInformation::decode(information).map_err(|_| NtStatus::INFO_LENGTH_MISMATCH)?;
        let mut change = SetAttributes {
            accessed: set_time(basic.accessed),
            modified: set_time(basic.modified),
            ..SetAttributes::default()
        };
        if basic.attributes != 0 && !open.directory {
            let mode = checked(self.volume().attributes(open.node))?.mode;
            let new = mode_with(mode, basic.attributes & READ_ONLY != 0);
            change.mode = (new != mode).then_some(new);
        }
        if change == SetAttributes::default() {
            return Ok(());
        }
        checked(self.volume().set_attributes(open.node, &change)).map(drop)
    }

    fn set_size(&self, open: &OpenFile, size: u64) -> Outcome<()> {
        open.require(access::WRITE_DATA)?;
        if open.directory || i64::try_from(size).is_err() {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let change = SetAttributes { size: Some(size), ..SetAttributes::default() };
        let changed = self.volume().set_attributes(open.node, &change);
        open.file.end_leases(open.id.volatile);
        checked(changed).map(drop)
    }

    /// A smaller allocation truncates; a larger one is a hint (MS-FSA 2.1.5.14.1).
    fn set_allocation(&self, open: &OpenFile, allocation: u64) -> Outcome<()> {
        open.require(access::WRITE_DATA)?;
        let size = checked(self.volume().attributes(open.node))?.size;
        if allocation < size { self.set_size(open, allocation) } else { Ok(()) }
    }

    /// Requests the removal at the last close, or withdraws the request.
    fn set_disposition(&self, open: &OpenFile, delete: bool) -> Outcome<()> {
        open.require(access::DELETE)?;
        if delete {
            let place = open.file.state().place.clone();
            let attributes = checked(self.volume().attributes(open.node))?;
            if is_read_only(&attributes) || place.name.is_empty() {
                return Err(NtStatus::CANNOT_DELETE);
            }
            // Nobody learns of a removal that fails at the close.
            checked(self.volume().may_remove(place.directory))?;
            if open.directory && !checked(self.volume().list(open.node, 0, 1))?.is_empty() {
                return Err(NtStatus::DIRECTORY_NOT_EMPTY);
            }
        }
        open.file.state().delete_pending = delete;
        if !delete {
            open.delete_on_close.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    fn rename(&self, open: &OpenFile, information: &[u8]) -> Outcome<()> {
        open.require(access::DELETE)?;
        let (replace, path) = renamed(information).map_err(|_| NtStatus::INFO_LENGTH_MISMATCH)?;
        let path = path.trim_start_matches('\\');
        let volume = self.volume();
        let from = open.file.state().place.clone();
        let new_name = last_name(path);
        checked(check_portable_name(new_name))?;
        if from.name.is_empty() {
            return Err(NtStatus::ACCESS_DENIED);
        }
        let to = resolve(volume, path)?;
        if let Some(old) = to.found.filter(|old| old.node != open.node) {
            if !replace {
                return Err(NtStatus::OBJECT_NAME_COLLISION);
            }
            if old.directory
                || open.directory
                || is_read_only(&old)
                || self.connection.server.files.is_open(old.node)
            {
                return Err(NtStatus::ACCESS_DENIED);
            }
            if to.place.name != new_name {
                // The target exists with other case: both names must not remain.
                checked(volume.remove(to.place.directory, &to.place.name))?;
            }
        }
        checked(volume.rename(from.directory, &from.name, to.place.directory, new_name))?;
        open.file.state().place =
            Place { directory: to.place.directory, name: new_name.to_owned(), path: path.to_owned() };
        Ok(())
    }
}
