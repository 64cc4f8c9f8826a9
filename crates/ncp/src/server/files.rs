//! Calls that open, create, read and write files (docs/protocols/ncp.md 3.2, 3.5).

use super::Shared;
use super::connection::{Connection, OpenFile, VolumeNode};
use super::entry_filter::EntryFilter;
use super::names::{NameSpace, dos_name};
use super::open_files::ByteRange;
use super::paths::ResolvedPath;
use super::volume::{Change, Entry, STORED_ATTRIBUTES, Volume, VolumeResult};
use crate::wire::dos::{access, attribute};
use crate::wire::file::{FileEntry, FileSize, OpenedFile};
use crate::wire::name_space::{OpenCreate, Opened, action, mode};
use crate::wire::text::padded;
use crate::wire::{Be16, Be32, Codec, Completion, FileHandle, NamedInfo, Pstr, ReturnMask, ShortHandle};

/// The largest number of bytes that one copy call copies, and the size of its chunks. The bound limits the duration
/// of a call.
const MAX_COPY: u64 = 16 << 20;
const COPY_CHUNK: u64 = 64 << 10;

/// How to open a file, or what to do if it does not exist.
#[derive(Debug, Clone, Copy)]
pub struct OpenRequest {
    /// See [`mode`].
    pub mode: u8,
    /// See [`access`].
    pub access: u16,
    /// Task that opens the file.
    pub task: u8,
    /// Selects the files that can be opened; creating ignores it.
    pub filter: EntryFilter,
    /// Attributes of a new file; those that are not stored are ignored.
    pub attributes: u32,
}

impl OpenRequest {
    /// True when the open may change an existing file.
    const fn writes(self) -> bool {
        self.access & access::WRITE != 0 || self.mode & mode::REPLACE != 0
    }

    /// True when the open may create or replace a file.
    const fn creates(self) -> bool {
        self.mode & (mode::CREATE | mode::REPLACE) != 0
    }
}

/// Opens, replaces or creates a file; returns the action taken.
fn open<V: Volume>(
    shared: &Shared<V>,
    connection: &mut Connection,
    place: &ResolvedPath,
    wish: OpenRequest,
) -> VolumeResult<(ShortHandle, u8, Entry)> {
    // Checked before anything is created or truncated.
    connection.check_file_limit()?;
    let volume = place.directory.volume;
    let (mut entry, done) = match shared.entry(place) {
        Ok(entry) if entry.directory => return Err(Completion::InvalidPath),
        Ok(entry) if !wish.creates() && !wish.filter.shows(&entry) => return Err(Completion::Failure),
        Ok(entry) if wish.writes() && (entry.read_only || entry.has(attribute::EXECUTE_ONLY)) => {
            return Err(Completion::NoWriteRights);
        }
        Ok(entry) if wish.mode & mode::REPLACE != 0 => (entry, action::OPENED | action::REPLACED),
        Ok(entry) if wish.mode & mode::OPEN != 0 => (entry, action::OPENED),
        Ok(_) => return Err(Completion::FileExists),
        Err(Completion::Failure) if wish.mode & mode::CREATE != 0 => {
            (create_file(shared, place, wish.attributes)?, action::OPENED | action::CREATED)
        }
        Err(completion) => return Err(completion),
    };
    let opened = VolumeNode { volume, node: entry.node };
    let replaces = done & action::REPLACED != 0;
    if replaces {
        // Replacing truncates the file, which open modes and locks of other clients may forbid.
        shared.open_files.may_discard(opened, connection.records.owner())?;
    }
    let file = connection.add_file(OpenFile { place: opened, access: wish.access, task: wish.task })?;
    if replaces {
        if let Err(completion) = shared.volume(volume)?.resize(entry.node, 0) {
            // The open has failed, so its handle must not stay.
            connection.close(file)?;
            return Err(completion);
        }
        entry.size = 0;
    }
    Ok((file, done, entry))
}

fn create<V: Volume>(shared: &Shared<V>, place: &ResolvedPath, directory: bool) -> VolumeResult<Entry> {
    let name = place.name()?;
    shared.volume(place.directory.volume)?.create(place.directory.node, name, directory)
}

/// Creates a file with those of the attributes that are stored.
fn create_file<V: Volume>(shared: &Shared<V>, place: &ResolvedPath, attributes: u32) -> VolumeResult<Entry> {
    let mut entry = create(shared, place, false)?;
    let stored = attributes & STORED_ATTRIBUTES;
    if stored != 0 {
        let change = Change { stored: Some(stored), ..Change::default() };
        // Where attributes cannot be stored, the file exists without them.
        if shared.volume(place.directory.volume)?.change(entry.node, &change).is_ok() {
            entry.stored = stored;
        }
    }
    Ok(entry)
}

/// Creates a directory.
pub fn make_directory<V: Volume>(shared: &Shared<V>, place: &ResolvedPath) -> VolumeResult<Entry> {
    match shared.entry(place) {
        Ok(_) => Err(Completion::FileExists),
        Err(Completion::Failure) => create(shared, place, true),
        // A name that may not be looked up occupies its name nevertheless.
        Err(completion) => Err(completion),
    }
}

/// 0x43, 0x4C, 0x4D and 0x54 (docs/protocols/ncp.md 3.2).
pub fn open_classic<V: Volume>(
    shared: &Shared<V>,
    connection: &mut Connection,
    (directory, path): (u8, &[u8]),
    wish: OpenRequest,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let place = shared.resolve_path(connection, directory, path)?;
    let (handle, _, mut entry) = open(shared, connection, &place, wish)?;
    entry.name = dos_name(&entry.name);
    OpenedFile::put(&OpenedFile { file: FileHandle::of_server(handle), entry: classic(&entry)? }, out);
    Ok(())
}

/// The entry of a file in the classic calls, with its DOS name; a size above 4 GiB is shown as the largest 32-bit
/// value.
pub fn classic(entry: &Entry) -> VolumeResult<FileEntry> {
    Ok(FileEntry {
        name: padded(&entry.name).map_err(|_| Completion::BadFileName)?,
        attributes: entry.attributes() as u8,
        execute: 0,
        size: u32::try_from(entry.size).unwrap_or(u32::MAX),
        created: entry.created.date,
        accessed: entry.accessed,
        modified: entry.modified,
    })
}

/// The information block and, if the mask selects it, the name. Names count as created in the name space that stores them: the
/// Linux kernel's client shows those of the DOS name space in lower case.
pub fn named<'e, V: Volume>(
    shared: &Shared<V>,
    entry: &'e Entry,
    volume: u8,
    mask: ReturnMask,
) -> NamedInfo<'e> {
    let has_long_names = shared.volume(volume).is_ok_and(V::has_long_names);
    let created_in = if has_long_names { NameSpace::Long } else { NameSpace::Dos };
    let name = mask.has(ReturnMask::NAME).then(|| Pstr::new(&entry.name).unwrap_or_default());
    NamedInfo { info: entry.info(volume, created_in.id()), name }
}

/// 87/1 (docs/protocols/ncp.md 3.4): opens a file or creates a directory.
pub fn open_create<V: Volume>(
    shared: &Shared<V>,
    connection: &mut Connection,
    call: &OpenCreate<'_>,
    task: u8,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let space = NameSpace::of(call.space)?;
    let place = shared.resolve_handle_path(connection, space, &call.path)?;
    let (file, done, mut entry) = if call.attributes & attribute::DIRECTORY == 0 {
        let filter = EntryFilter::of_name_space(call.search);
        let attributes = call.attributes;
        let wish = OpenRequest { mode: call.mode, access: call.access, task, filter, attributes };
        open(shared, connection, &place, wish)?
    } else {
        (ShortHandle([0; 4]), action::CREATED, make_directory(shared, &place)?)
    };
    entry.name = space.shown(&entry.name);
    Opened { file, action: done, entry: named(shared, &entry, place.directory.volume, call.mask) }.put(out);
    Ok(())
}

/// 0x48 and 87/64 (docs/protocols/ncp.md 3.2, 3.5): count, filler and data. The volume reads directly into the reply.
pub fn read<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    handle: ShortHandle,
    (offset, count): (u64, u16),
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let start = out.len();
    Be16::put(&0, out);
    // One filler byte before data at an odd offset (docs/protocols/ncp.md 3.2).
    if offset % 2 == 1 {
        out.push(0);
    }
    let data = out.len();
    read_into(shared, connection, handle, (offset, usize::from(count)), out)?;
    let len = (out.len() - data) as u16;
    out[start..start + 2].copy_from_slice(&len.to_be_bytes());
    Ok(())
}

/// 87/72 (docs/protocols/ncp.md 3.5): a count of four bytes and data, bounded by the length of a message.
pub fn read_long<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    handle: ShortHandle,
    (offset, count): (u64, u32),
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let start = out.len();
    Be32::put(&0, out);
    let data = out.len();
    // The count is the client's word and sizes the buffer below; no reply carries more than 64 KiB.
    let count = count.min(u32::from(u16::MAX)) as usize;
    read_into(shared, connection, handle, (offset, count), out)?;
    let len = (out.len() - data) as u32;
    out[start..data].copy_from_slice(&len.to_be_bytes());
    Ok(())
}

/// Appends up to `count` bytes of a file.
pub fn read_into<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    handle: ShortHandle,
    (offset, count): (u64, usize),
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let file = connection.file(handle)?;
    if !file.has(access::READ) {
        return Err(Completion::NoReadRights);
    }
    may_access(connection, file, (offset, count as u64), false)?;
    let start = out.len();
    out.resize(start + count, 0);
    let read = shared.volume(file.place.volume)?.read(file.place.node, offset, &mut out[start..])?;
    out.truncate(start + read.min(count));
    Ok(())
}

/// 0x49 and 87/65 (docs/protocols/ncp.md 3.2, 3.5); a write of 0 bytes sets the size.
pub fn write<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    handle: ShortHandle,
    (offset, data): (u64, &[u8]),
) -> VolumeResult<()> {
    let file = connection.file(handle)?;
    if !file.has(access::WRITE) {
        return Err(Completion::NoWriteRights);
    }
    let volume = shared.volume(file.place.volume)?;
    if data.is_empty() {
        // Bytes that truncating or extending adds or removes count as written.
        let size = volume.entry(file.place.node)?.size;
        may_access(connection, file, (size.min(offset), size.abs_diff(offset)), true)?;
        volume.resize(file.place.node, offset)
    } else {
        may_access(connection, file, (offset, data.len() as u64), true)?;
        volume.write(file.place.node, offset, data, file.is_through())
    }
}

/// Fails when another connection has locked some of these bytes.
fn may_access(
    connection: &Connection,
    file: OpenFile,
    (offset, length): (u64, u64),
    write: bool,
) -> VolumeResult<()> {
    let Some(bytes) = ByteRange::new(offset, length) else { return Ok(()) };
    let records = &connection.records;
    records.open_files().may_access(file.place, records.owner(), bytes, write)
}

/// 0x4A and 87/70 (docs/protocols/ncp.md 3.2, 3.5): copies up to [`MAX_COPY`] bytes or up to the end of the source;
/// returns the number of bytes copied.
pub fn copy<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    (source, from): (ShortHandle, u64),
    (target, to): (ShortHandle, u64),
    count: u64,
) -> VolumeResult<u64> {
    let reads = connection.file(source)?;
    let writes = connection.file(target)?;
    if !reads.has(access::READ) {
        return Err(Completion::NoReadRights);
    }
    // The connection is locked while the copy runs; a client that wants more repeats the call.
    let count = count.min(MAX_COPY);
    if reads.place == writes.place && from.abs_diff(to) < count {
        // Overlapping source and target would have no defined result.
        return Err(Completion::Failure);
    }
    if shared.volume(reads.place.volume)?.entry(reads.place.node)?.has(attribute::EXECUTE_ONLY) {
        return Err(Completion::NoReadRights);
    }
    let mut copied = 0;
    let mut chunk = Vec::new();
    while copied < count {
        chunk.clear();
        let wanted = (count - copied).min(COPY_CHUNK) as usize;
        read_into(shared, connection, source, (from.saturating_add(copied), wanted), &mut chunk)?;
        if chunk.is_empty() {
            break;
        }
        write(shared, connection, target, (to.saturating_add(copied), &chunk))?;
        copied += chunk.len() as u64;
    }
    Ok(copied)
}

/// Size of an open file.
pub fn size<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    handle: ShortHandle,
) -> VolumeResult<u64> {
    let file = connection.file(handle)?;
    shared.volume(file.place.volume)?.entry(file.place.node).map(|entry| entry.size)
}

/// 0x47 (docs/protocols/ncp.md 3.2). A size above 32 bits is an error rather than a smaller number.
pub fn classic_size<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    handle: ShortHandle,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let size = u32::try_from(size(shared, connection, handle)?).map_err(|_| Completion::Failure)?;
    FileSize::put(&FileSize { size }, out);
    Ok(())
}

/// 0x3B and 0x3D (docs/protocols/ncp.md 3.2).
pub fn commit<V: Volume>(
    shared: &Shared<V>,
    connection: &Connection,
    handle: ShortHandle,
) -> VolumeResult<()> {
    let file = connection.file(handle)?;
    shared.volume(file.place.volume)?.commit(file.place.node)
}
