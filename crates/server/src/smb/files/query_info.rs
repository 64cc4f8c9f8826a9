//! `QUERY_INFO` (MS-SMB2 3.3.5.20): information about a file, the volume, and security descriptors.

use std::sync::atomic::Ordering;

use sharebench_smb::NtStatus;
use sharebench_smb::wire::create::access;
use sharebench_smb::wire::extended_attributes::{ExtendedAttribute, put_attributes, size_of};
use sharebench_smb::wire::file_info::FileMetadata;
use sharebench_smb::wire::info::{
    InfoResponse, QueryInfoRequest, TYPE_FILE, TYPE_FILE_SYSTEM, TYPE_SECURITY,
};
use sharebench_smb::wire::security_descriptor::parts;
use sharebench_smb::wire::simple::ErrorResponse;
use sharebench_smb::wire::{Field, utf16};

use crate::front_ends::names_8_3::short_name;
use crate::smb::files::descriptors::descriptor_of;
use crate::smb::files::file_info::{describe, file_time};
use crate::smb::files::open_file::OpenFile;
use crate::smb::files::pipe;
use crate::smb::session::call::{Call, CallResponse, DONE};
use crate::smb::session::established::Opened;
use crate::smb::state::ServerState;
use crate::smb::status::{Outcome, checked, malformed};
use crate::{Attributes, VolumeSpace};

/// Size of an allocation unit and of a sector in replies, in bytes.
const UNIT_BYTES: u64 = 4096;
const SECTOR_BYTES: u64 = 512;
/// Properties of the file system (MS-FSCC 2.5.1): names keep their case, and are Unicode; descriptors are persistent;
/// files have named streams.
const PROPERTIES: u32 = 0x2 | 0x4 | 0x8 | 0x4_0000;
/// `FILE_DEVICE_DISK`, mounted.
const DISK_DEVICE: [u32; 2] = [7, 0x20];

/// The first dialect with `FileNormalizedNameInformation` (MS-SMB2 3.3.5.20.1).
const NORMALIZED_NAME_DIALECT: u16 = 0x0311;

/// File information classes (MS-FSCC 2.4).
mod class {
    pub(crate) const BASIC: u8 = 4;
    pub(crate) const STANDARD: u8 = 5;
    pub(crate) const INTERNAL: u8 = 6;
    pub(crate) const EA: u8 = 7;
    pub(crate) const ACCESS: u8 = 8;
    pub(crate) const NAME: u8 = 9;
    pub(crate) const POSITION: u8 = 14;
    pub(crate) const FULL_EA: u8 = 15;
    pub(crate) const MODE: u8 = 16;
    pub(crate) const ALIGNMENT: u8 = 17;
    pub(crate) const ALL: u8 = 18;
    pub(crate) const ALTERNATE_NAME: u8 = 21;
    pub(crate) const STREAM: u8 = 22;
    pub(crate) const COMPRESSION: u8 = 28;
    pub(crate) const NETWORK_OPEN: u8 = 34;
    pub(crate) const ATTRIBUTE_TAG: u8 = 35;
    pub(crate) const NORMALIZED_NAME: u8 = 48;
    pub(crate) const ID: u8 = 59;
}

/// File system information classes (MS-FSCC 2.5).
mod fs_class {
    pub(crate) const VOLUME: u8 = 1;
    pub(crate) const SIZE: u8 = 3;
    pub(crate) const DEVICE: u8 = 4;
    pub(crate) const ATTRIBUTE: u8 = 5;
    pub(crate) const CONTROL: u8 = 6;
    pub(crate) const FULL_SIZE: u8 = 7;
    pub(crate) const OBJECT_ID: u8 = 8;
    pub(crate) const SECTOR_SIZE: u8 = 11;
}

/// Encoded information, and the part of it that a buffer must hold.
pub(crate) struct Information {
    pub(crate) bytes: Vec<u8>,
    fixed: usize,
}

impl Information {
    fn fixed(bytes: Vec<u8>) -> Self {
        Self { fixed: bytes.len(), bytes }
    }

    /// Appends a name with its length, which may be truncated. The structure that a buffer must hold has at least one
    /// character of the name, and ends at a multiple of `align` bytes.
    fn with_name(mut bytes: Vec<u8>, name: &str, align: usize) -> Self {
        let name = utf16(name);
        (name.len() as u32).put(&mut bytes);
        let fixed = (bytes.len() + 2).next_multiple_of(align);
        bytes.extend_from_slice(&name);
        Self { fixed: fixed.min(bytes.len()), bytes }
    }
}

fn encoded(put: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut bytes);
    bytes
}

/// Checks the rights that a class needs (MS-FSA 2.1.5.12).
fn check_access(number: u8, open: &OpenFile) -> Outcome<()> {
    match number {
        class::BASIC | class::ALL | class::NETWORK_OPEN | class::ATTRIBUTE_TAG => {
            open.require(access::READ_ATTRIBUTES)
        }
        class::FULL_EA => open.require(access::READ_EA),
        _ => Ok(()),
    }
}

/// Information about an open file.
fn of_file(
    number: u8,
    open: &OpenFile,
    attributes: &Attributes,
    found: &FileMetadata,
) -> Outcome<Information> {
    let name = || format!("\\{}", open.location().path);
    Ok(Information::fixed(match number {
        class::BASIC => encoded(|out| found.basic().encode(out)),
        class::STANDARD => standard(open, attributes, found),
        class::INTERNAL => found.file_id.to_le_bytes().to_vec(),
        class::ALIGNMENT => vec![0; 4],
        class::ACCESS => open.access.to_le_bytes().to_vec(),
        class::MODE => open.options.to_le_bytes().to_vec(),
        class::POSITION => open.position.load(Ordering::Relaxed).to_le_bytes().to_vec(),
        class::COMPRESSION => {
            let mut bytes = found.end_of_file.to_le_bytes().to_vec();
            bytes.resize(16, 0);
            bytes
        }
        class::NETWORK_OPEN => encoded(|out| found.put_network_open(out)),
        class::ATTRIBUTE_TAG => [found.attributes.to_le_bytes(), [0; 4]].concat(),
        class::ID => [[0; 8], found.file_id.to_le_bytes(), [0; 8]].concat(),
        class::NAME => return Ok(Information::with_name(Vec::new(), &name(), 4)),
        class::NORMALIZED_NAME => {
            return Ok(Information::with_name(Vec::new(), name().trim_start_matches('\\'), 4));
        }
        _ => return Err(NtStatus::INVALID_INFO_CLASS),
    }))
}

fn standard(open: &OpenFile, attributes: &Attributes, found: &FileMetadata) -> Vec<u8> {
    let pending = open.file.state().delete_pending || open.delete_on_close.load(Ordering::Relaxed);
    let links = if attributes.directory { 1 } else { attributes.links };
    // A name whose removal is pending does not count (MS-FSA 2.1.5.11.27).
    let links = links - u32::from(pending).min(links);
    encoded(|out| found.put_standard(links, pending, attributes.directory, out))
}

/// `FileAllInformation` (MS-FSCC 2.4.2).
fn all(open: &OpenFile, attributes: &Attributes, found: &FileMetadata, ea_size: u32) -> Information {
    let mut bytes = encoded(|out| found.basic().encode(out));
    bytes.append(&mut standard(open, attributes, found));
    found.file_id.put(&mut bytes);
    ea_size.put(&mut bytes);
    // Access, position, mode, alignment.
    open.access.put(&mut bytes);
    open.position.load(Ordering::Relaxed).put(&mut bytes);
    open.options.put(&mut bytes);
    0u32.put(&mut bytes);
    Information::with_name(bytes, &format!("\\{}", open.location().path), 8)
}

/// `FileFullEaInformation` (MS-FSCC 2.4.16).
fn full_ea(found: &[ExtendedAttribute]) -> Outcome<Information> {
    if found.is_empty() {
        return Err(NtStatus::NO_EAS_ON_FILE);
    }
    Ok(Information::fixed(encoded(|out| put_attributes(found, out))))
}

/// `FileAlternateNameInformation` (MS-FSCC 2.4.5): the 8.3 name under which DOS clients of NCP know the file.
fn alternate_name(open: &OpenFile) -> Information {
    let name = open.location().name;
    let short = String::from_utf8_lossy(&short_name(name.as_bytes())).into_owned();
    Information::with_name(Vec::new(), &short, 4)
}

/// `FileStreamInformation` (MS-FSCC 2.4.43): the data of a file, and its named streams.
fn streams(found: &FileMetadata, directory: bool, named: &[(String, Attributes)]) -> Information {
    let own = (!directory).then(|| ("::$DATA".to_owned(), found.end_of_file, found.allocation));
    let named = named.iter().map(|(name, attributes)| {
        (format!(":{name}:$DATA"), attributes.size, attributes.allocated.max(attributes.size))
    });
    let mut bytes: Vec<u8> = Vec::new();
    let mut last = None;
    for (name, size, allocation) in own.into_iter().chain(named) {
        let start = bytes.len().next_multiple_of(8);
        if let Some(location) = last.and_then(|last: usize| bytes.get_mut(last..last + 4)) {
            location.copy_from_slice(&((start - last.unwrap_or(0)) as u32).to_le_bytes());
        }
        last = Some(start);
        bytes.resize(start, 0);
        let name = utf16(&name);
        0u32.put(&mut bytes);
        (name.len() as u32).put(&mut bytes);
        size.put(&mut bytes);
        allocation.put(&mut bytes);
        bytes.extend_from_slice(&name);
    }
    Information { fixed: bytes.len().min(32), bytes }
}

/// Information about the volume.
fn of_volume(
    number: u8,
    space: &VolumeSpace,
    created: u64,
    label: &str,
    serial: u32,
) -> Outcome<Information> {
    let units = |bytes: u64| bytes / UNIT_BYTES;
    let sectors = (UNIT_BYTES / SECTOR_BYTES) as u32;
    Ok(Information::fixed(match number {
        fs_class::VOLUME => {
            let name = utf16(label);
            let mut bytes = created.to_le_bytes().to_vec();
            serial.put(&mut bytes);
            (name.len() as u32).put(&mut bytes);
            // No object ids, and a reserved byte.
            0u16.put(&mut bytes);
            let fixed = (bytes.len() + 2).next_multiple_of(8);
            bytes.extend_from_slice(&name);
            return Ok(Information { fixed: fixed.min(bytes.len()), bytes });
        }
        fs_class::SIZE => encoded(|out| {
            units(space.total_bytes).put(out);
            units(space.free_bytes).put(out);
            sectors.put(out);
            (SECTOR_BYTES as u32).put(out);
        }),
        fs_class::FULL_SIZE => encoded(|out| {
            units(space.total_bytes).put(out);
            units(space.free_bytes).put(out);
            units(space.free_bytes).put(out);
            sectors.put(out);
            (SECTOR_BYTES as u32).put(out);
        }),
        fs_class::DEVICE => DISK_DEVICE.iter().flat_map(|word| word.to_le_bytes()).collect(),
        fs_class::ATTRIBUTE => {
            let mut bytes = PROPERTIES.to_le_bytes().to_vec();
            (crate::MAX_NAME_BYTES as u32).put(&mut bytes);
            // Clients take other names for file systems without Unicode or permissions.
            return Ok(Information::with_name(bytes, "NTFS", 4));
        }
        // No quotas: none is counted, and none is enforced.
        fs_class::CONTROL => vec![0; 48],
        fs_class::OBJECT_ID => {
            let mut bytes = vec![0; 64];
            bytes[..4].copy_from_slice(&serial.to_le_bytes());
            bytes
        }
        fs_class::SECTOR_SIZE => {
            let sector = SECTOR_BYTES as u32;
            // Aligned at the start of the device and of the partition.
            let words = [sector, sector, sector, sector, 0x3, 0, 0];
            words.iter().flat_map(|word| word.to_le_bytes()).collect()
        }
        _ => return Err(NtStatus::INVALID_INFO_CLASS),
    }))
}

impl ServerState {
    /// Information of a class of MS-FSCC 2.4 about an open file with these attributes.
    pub(crate) fn file_information(
        &self,
        class: u8,
        open: &OpenFile,
        attributes: &Attributes,
    ) -> Outcome<Information> {
        let volume = self.volume.as_ref();
        let mut found = describe(volume, attributes);
        found.allocation = found.allocation.max(open.allocation);
        match class {
            class::STREAM => {
                let node = open.described_node();
                let named = checked(volume.streams(node))?;
                let directory = checked(volume.attributes(node))?.directory;
                Ok(streams(&found, directory, &named))
            }
            class::ALTERNATE_NAME => Ok(alternate_name(open)),
            class::EA | class::FULL_EA | class::ALL => {
                let extended = checked(volume.extended_attributes(open.described_node()))?;
                match class {
                    class::FULL_EA => full_ea(&extended),
                    class::EA => Ok(Information::fixed(size_of(&extended).to_le_bytes().to_vec())),
                    _ => Ok(all(open, attributes, &found, size_of(&extended))),
                }
            }
            _ => of_file(class, open, attributes, &found),
        }
    }

    /// Number of the volume.
    pub(crate) fn serial(&self) -> u32 {
        self.guid.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// Information of a class of MS-FSCC 2.5 about the volume.
    pub(crate) fn volume_information(&self, class: u8) -> Outcome<Information> {
        let root = checked(self.volume.attributes(crate::ROOT))?;
        let space = checked(self.volume.space())?;
        of_volume(class, &space, file_time(root.created), &self.options.share, self.serial())
    }
}

impl Call<'_> {
    /// `QUERY_INFO`.
    pub(crate) fn query_info(&mut self, body: &mut Vec<u8>) -> Outcome<CallResponse> {
        let request = QueryInfoRequest::decode(self.message).map_err(malformed)?;
        let opened = self.opened(request.file)?;
        let server = &self.connection.server;
        self.check_charge(request.output_len)?;
        let max = request.output_len.min(server.options.max_transfer) as usize;
        if matches!(opened, Opened::Pipe(_))
            && (request.info_type, request.class) == (TYPE_FILE, class::STANDARD)
        {
            return answered(Information::fixed(pipe::STANDARD_INFORMATION.to_vec()), max, body);
        }
        let open = opened.file()?;
        let attributes = checked(open.attributes(server.volume.as_ref()))?;
        let information = match request.info_type {
            TYPE_FILE => {
                let negotiated = self.connection.negotiated.get();
                let older = negotiated.is_none_or(|negotiated| negotiated.dialect < NORMALIZED_NAME_DIALECT);
                if request.class == class::NORMALIZED_NAME && older {
                    return Err(NtStatus::NOT_SUPPORTED);
                }
                check_access(request.class, &open)?;
                server.file_information(request.class, &open, &attributes)?
            }
            TYPE_FILE_SYSTEM => server.volume_information(request.class)?,
            TYPE_SECURITY => {
                let wanted = request.additional & (parts::OWNER | parts::GROUP | parts::DACL);
                if wanted != 0 {
                    open.require(access::READ_CONTROL)?;
                }
                let descriptor = descriptor_of(server.volume.as_ref(), &attributes).encode(wanted);
                if descriptor.len() > max {
                    ErrorResponse::encode_size(descriptor.len() as u32, body);
                    return Ok(CallResponse::Complete(NtStatus::BUFFER_TOO_SMALL));
                }
                Information::fixed(descriptor)
            }
            _ => return Err(NtStatus::INVALID_PARAMETER),
        };
        answered(information, max, body)
    }
}

/// Appends as much of the information as the client's buffer of `max` bytes holds.
fn answered(mut information: Information, max: usize, body: &mut Vec<u8>) -> Outcome<CallResponse> {
    if max < information.fixed {
        return Err(NtStatus::INFO_LENGTH_MISMATCH);
    }
    let complete = information.bytes.len() <= max;
    information.bytes.truncate(max);
    InfoResponse::encode(&information.bytes, body);
    if complete { DONE } else { Ok(CallResponse::Complete(NtStatus::BUFFER_OVERFLOW)) }
}
