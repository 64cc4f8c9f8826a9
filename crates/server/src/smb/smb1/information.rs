//! Information about files and the volume: `QUERY_PATH_INFORMATION` and its relatives (MS-CIFS 3.3.5.37.4 to 3.3.5.37.9).

use sharebench_smb::NtStatus;
use sharebench_smb::nt1::message::{TextBytes, text_at};
use sharebench_smb::wire::create::{SHARE_ALL, access};
use sharebench_smb::wire::info::LINK;
use sharebench_smb::wire::{Field, Reader, from_utf16, utf16};

use super::attributes::{dos_attributes, dos_time};
use super::call::{Reached, Smb1Call, Stop};
use super::create::share_path;
use super::transactions::{Transacted, Transaction};
use crate::Attributes;
use crate::smb::files::file_info::{describe, system_time};
use crate::smb::files::open_file::OpenFile;
use crate::smb::status::{Outcome, checked, malformed};

/// Information levels without a class of MS-FSCC (MS-CIFS 2.2.2.3.3, 2.2.2.3.5).
const STANDARD: u16 = 1;
const EA_SIZE: u16 = 2;
const ALL_EAS: u16 = 4;
const ALL: u16 = 0x0107;
const FS_ALLOCATION: u16 = 1;
const FS_LABEL: u16 = 2;
/// From this level on, a level is the number of a class of MS-FSCC and this offset (MS-SMB 2.2.2.3.5).
const PASSTHROUGH: u16 = 1000;
/// Classes of MS-FSCC 2.4.
const CLASS_BASIC: u8 = 4;
const CLASS_STANDARD: u8 = 5;
const CLASS_RENAME: u8 = 10;
const CLASS_DISPOSITION: u8 = 13;
const CLASS_ALLOCATION: u8 = 19;
const CLASS_END_OF_FILE: u8 = 20;
const CLASS_RENAME_EX: u8 = 65;
/// Bytes of a block, and of a unit, of `SMB_INFO_ALLOCATION`.
const BLOCK_BYTES: u64 = 512;

fn passed_through(level: u16) -> Outcome<u8> {
    level.checked_sub(PASSTHROUGH).and_then(|class| u8::try_from(class).ok()).ok_or(NtStatus::INVALID_LEVEL)
}

/// The class of a level of queries about files (MS-CIFS 2.2.8.3).
fn query_class(level: u16) -> Outcome<u8> {
    Ok(match level {
        0x0101 => CLASS_BASIC,
        0x0102 => CLASS_STANDARD,
        0x0103 => 7,
        0x0104 => 9,
        0x0108 => 21,
        0x0109 => 22,
        0x010B => 28,
        level => passed_through(level)?,
    })
}

/// The class of a level of changes (MS-CIFS 2.2.8.4).
fn set_class(level: u16) -> Outcome<u8> {
    Ok(match level {
        0x0101 => CLASS_BASIC,
        0x0102 => CLASS_DISPOSITION,
        0x0103 => CLASS_ALLOCATION,
        0x0104 => CLASS_END_OF_FILE,
        level => passed_through(level)?,
    })
}

/// The right that a change by path needs.
fn access_for(class: u8) -> u32 {
    match class {
        CLASS_ALLOCATION | CLASS_END_OF_FILE => access::WRITE_DATA,
        CLASS_DISPOSITION | CLASS_RENAME | 64 | CLASS_RENAME_EX => access::DELETE | access::READ_ATTRIBUTES,
        _ => access::WRITE_ATTRIBUTES,
    }
}

impl Smb1Call<'_> {
    /// `QUERY_PATH_INFORMATION`.
    pub(super) fn query_path(&self, request: &Transaction<'_>) -> Reached<Transacted> {
        let (level, path) = self.level_and_path(request)?;
        self.with_path(&path, access::READ_ATTRIBUTES | access::READ_EA, 0, SHARE_ALL, |open| {
            Ok(Transacted::new(self.information(level, open)?))
        })
    }

    /// `QUERY_FILE_INFORMATION`.
    pub(super) fn query_file(&self, request: &Transaction<'_>) -> Outcome<Transacted> {
        let mut reader = Reader::new(request.parameters, "QUERY_FILE_INFORMATION request");
        let fid = reader.get().map_err(malformed)?;
        let level = reader.get().map_err(malformed)?;
        let open = self.file(fid)?;
        Ok(Transacted::new(self.information(level, &open)?))
    }

    /// `SET_PATH_INFORMATION`.
    pub(super) fn set_path(&self, request: &Transaction<'_>) -> Reached<Transacted> {
        let (level, path) = self.level_and_path(request)?;
        let class = set_class(level)?;
        self.with_path(&path, access_for(class), 0, SHARE_ALL, |open| self.set(class, open, request.data))?;
        Ok(Transacted::new(Vec::new()))
    }

    /// `SET_FILE_INFORMATION`.
    pub(super) fn set_file(&self, request: &Transaction<'_>) -> Reached<Transacted> {
        let mut reader = Reader::new(request.parameters, "SET_FILE_INFORMATION request");
        let fid = reader.get().map_err(malformed)?;
        let level = reader.get().map_err(malformed)?;
        let open = self.file(fid)?;
        self.set(set_class(level)?, &open, request.data)?;
        Ok(Transacted::new(Vec::new()))
    }

    fn level_and_path(&self, request: &Transaction<'_>) -> Outcome<(u16, String)> {
        /// Bytes of the parameters before the path: the level and a reserved field.
        const PATH_AT: usize = 6;
        let level = Reader::new(request.parameters, "path information").get().map_err(malformed)?;
        if request.parameters.len() < PATH_AT {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let (name, _) = text_at(
            TextBytes { bytes: request.parameters, start: request.parameters_at },
            PATH_AT,
            self.is_unicode(),
        );
        Ok((level, share_path(&name)))
    }

    /// Information of a level about an open file.
    fn information(&self, level: u16, open: &OpenFile) -> Outcome<Vec<u8>> {
        let volume = self.server.volume.as_ref();
        let attributes = checked(open.attributes(volume))?;
        match level {
            STANDARD | EA_SIZE => {
                let found = describe(volume, &attributes);
                let mut out = Vec::new();
                for time in [found.created, found.accessed, found.modified] {
                    system_time(time).map_or([0; 4], dos_time).put(&mut out);
                }
                for size in [found.end_of_file, found.allocation] {
                    u32::try_from(size).unwrap_or(u32::MAX).put(&mut out);
                }
                dos_attributes(&found).put(&mut out);
                if level == EA_SIZE {
                    0u32.put(&mut out);
                }
                Ok(out)
            }
            // An empty list, with its own length.
            ALL_EAS => Ok(4u32.to_le_bytes().to_vec()),
            ALL => {
                let mut out = self.server.file_information(CLASS_BASIC, open, &attributes)?.bytes;
                out.append(&mut self.standard(open, &attributes));
                // No extended attributes.
                0u32.put(&mut out);
                let name = utf16(&format!("\\{}", open.location().path));
                (name.len() as u32).put(&mut out);
                out.extend_from_slice(&name);
                Ok(out)
            }
            level => match query_class(level)? {
                CLASS_STANDARD => Ok(self.standard(open, &attributes)),
                class => Ok(self.server.file_information(class, open, &attributes)?.bytes),
            },
        }
    }

    /// `FileStandardInformation` (MS-FSCC 2.4.41). With SMB1, a removal is pending only once the open that requests it is closed, or if it
    /// was requested through information.
    fn standard(&self, open: &OpenFile, attributes: &Attributes) -> Vec<u8> {
        let found = describe(self.server.volume.as_ref(), attributes);
        let pending = open.file.state().delete_pending;
        let links = if attributes.directory { 1 } else { attributes.links };
        let links = links - u32::from(pending).min(links);
        let mut out = Vec::new();
        found.put_standard(links, pending, attributes.directory, &mut out);
        out
    }

    fn set(&self, class: u8, open: &OpenFile, data: &[u8]) -> Reached<()> {
        let deferred = match class {
            CLASS_RENAME | CLASS_RENAME_EX => {
                let (replace, path) = renamed(open, data)?;
                self.server.rename(open, replace, &path)?
            }
            LINK => {
                let (replace, path) = renamed(open, data)?;
                self.server.link(open, replace, &path)?
            }
            _ => self.server.set_file_information(class, open, data)?,
        };
        deferred.map_or(Ok(()), |deferred| Err(Stop::Deferred(deferred)))
    }

    /// `QUERY_FS_INFORMATION` (MS-CIFS 2.2.8.2).
    pub(super) fn query_fs(&self, request: &Transaction<'_>) -> Outcome<Transacted> {
        let level: u16 = Reader::new(request.parameters, "QUERY_FS_INFORMATION").get().map_err(malformed)?;
        let server = self.server;
        let data = match level {
            FS_ALLOCATION => {
                let space = checked(server.volume.space())?;
                // Units that make the numbers fit.
                let blocks = space.total_bytes / BLOCK_BYTES;
                let unit = blocks.div_ceil(u64::from(u32::MAX)).next_power_of_two().clamp(1, 1 << 31);
                let units = |bytes: u64| u32::try_from(bytes / BLOCK_BYTES / unit).unwrap_or(u32::MAX);
                let mut out = Vec::new();
                0u32.put(&mut out);
                (unit as u32).put(&mut out);
                units(space.total_bytes).put(&mut out);
                units(space.free_bytes).put(&mut out);
                (BLOCK_BYTES as u16).put(&mut out);
                out
            }
            FS_LABEL => {
                let mut out = server.serial().to_le_bytes().to_vec();
                let label = &server.options.share;
                let label = if self.is_unicode() { utf16(label) } else { label.as_bytes().to_vec() };
                (label.len() as u8).put(&mut out);
                out.extend_from_slice(&label);
                out
            }
            0x0102..=0x0105 => {
                let class = [1, 3, 4, 5].get(usize::from(level - 0x0102)).copied().unwrap_or_default();
                server.volume_information(class)?.bytes
            }
            level => server.volume_information(passed_through(level)?)?.bytes,
        };
        Ok(Transacted { parameters: Vec::new(), data, cut: false })
    }
}

/// `FileRenameInformation` or `FileLinkInformation` of SMB1 (MS-FSCC 2.4.42.1, 2.4.27.1): whether it replaces a file, and the new path. A name without a directory is a
/// name in the directory of the file.
fn renamed(open: &OpenFile, data: &[u8]) -> Outcome<(bool, String)> {
    let mut reader = Reader::new(data, "FileRenameInformation");
    let replace: u8 = reader.get().map_err(malformed)?;
    reader.take(3).map_err(malformed)?;
    let root: u32 = reader.get().map_err(malformed)?;
    let len: u32 = reader.get().map_err(malformed)?;
    let name = reader.take(len as usize).map_err(malformed)?;
    if root != 0 {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    let name = from_utf16(name);
    let name = name.trim_end_matches('\0').trim_end_matches('\\');
    if name.contains('\\') || name.starts_with(':') {
        return Ok((replace != 0, name.to_owned()));
    }
    let above = open.location().path;
    let above = above.rsplit_once('\\').map_or(String::new(), |(above, _)| format!("{above}\\"));
    Ok((replace != 0, format!("{above}{name}")))
}
