//! Calls on volumes and directory handles (docs/protocols/ncp.md 2.6).

use super::Shared;
use super::connection::{Connection, VolumeNode};
use super::volume::{Volume, VolumeResult};
use crate::wire::directory::{AllocatedHandle, DirectorySpace};
use crate::wire::text::padded;
use crate::wire::volume::{VolumeInfo, VolumeName, VolumeNumber, VolumeUsage};
use crate::wire::{Codec, Completion, Pstr};

/// Sectors of 512 bytes in a block of 4 KiB.
const SECTORS_PER_BLOCK: u8 = 8;
const BLOCK: u64 = 4096;
/// Effective rights on a writable volume: all except granting rights, because trustees are not stored.
const RIGHTS: u8 = 0xDF;
/// Effective rights on a read-only volume: read, open and search.
const READ_ONLY_RIGHTS: u8 = 0x45;

/// The root of a volume by name.
pub fn root<V: Volume>(shared: &Shared<V>, name: &[u8]) -> VolumeResult<VolumeNode> {
    let number = shared.volumes.iter().position(|(known, _)| known.eq_ignore_ascii_case(name));
    let volume = number.and_then(|number| u8::try_from(number).ok()).ok_or(Completion::NoSuchVolume)?;
    Ok(VolumeNode { volume, node: shared.volume(volume)?.root() })
}

/// Effective rights of a user on a volume. They are the same in all of its directories.
pub fn rights<V: Volume>(shared: &Shared<V>, volume: u8) -> VolumeResult<u8> {
    Ok(if shared.volume(volume)?.is_read_only() { READ_ONLY_RIGHTS } else { RIGHTS })
}

/// 0x16/0x05.
pub fn number<V: Volume>(shared: &Shared<V>, name: &[u8], out: &mut Vec<u8>) -> VolumeResult<()> {
    let volume = root(shared, name)?.volume;
    VolumeNumber::put(&VolumeNumber { volume }, out);
    Ok(())
}

/// 0x16/0x06: the name is empty if the volume does not exist.
pub fn name<V>(shared: &Shared<V>, volume: u8, out: &mut Vec<u8>) {
    let known = shared.volumes.get(usize::from(volume)).and_then(|(name, _)| Pstr::new(name).ok());
    VolumeName::put(&VolumeName { name: known.unwrap_or_default() }, out);
}

/// 0x16/0x2C.
pub fn usage<V: Volume>(shared: &Shared<V>, volume: u8, out: &mut Vec<u8>) -> VolumeResult<()> {
    VolumeUsage::put(&usage_of(shared, volume)?, out);
    Ok(())
}

/// 0x16/0x2D: no directory has a limit of its own.
pub fn directory_space<V: Volume>(shared: &Shared<V>, volume: u8, out: &mut Vec<u8>) -> VolumeResult<()> {
    let usage = usage_of(shared, volume)?;
    let space = DirectorySpace {
        total_blocks: usage.total_blocks,
        free_blocks: usage.free_blocks,
        total_entries: usage.total_entries,
        free_entries: usage.free_entries,
        reserved: 0,
        sectors_per_block: usage.sectors_per_block,
        volume: usage.name,
    };
    DirectorySpace::put(&space, out);
    Ok(())
}

fn usage_of<V: Volume>(shared: &Shared<V>, volume: u8) -> VolumeResult<VolumeUsage<'_>> {
    let space = shared.volume(volume)?.space()?;
    let blocks = |bytes: u64| u32::try_from(bytes / BLOCK).unwrap_or(u32::MAX);
    // Clients show larger numbers as negative ones.
    let entries = |count: u64| count.min(i32::MAX as u64) as u32;
    let name = shared.volumes.get(usize::from(volume)).and_then(|(name, _)| Pstr::new(name).ok());
    Ok(VolumeUsage {
        total_blocks: blocks(space.total),
        free_blocks: blocks(space.free),
        purgeable_blocks: 0,
        not_yet_purgeable_blocks: 0,
        total_entries: entries(space.total_entries),
        free_entries: entries(space.free_entries),
        reserved: 0,
        sectors_per_block: SECTORS_PER_BLOCK,
        name: name.unwrap_or_default(),
    })
}

/// 0x12 and 0x16/0x15.
pub fn info<V: Volume>(shared: &Shared<V>, volume: u8, out: &mut Vec<u8>) -> VolumeResult<()> {
    let space = shared.volume(volume)?.space()?;
    let (name, _) = &shared.volumes[usize::from(volume)];
    let name = padded(name).map_err(|_| Completion::NoSuchVolume)?;
    // Clients show larger numbers as negative ones.
    let slots = |count: u64| count.min(i16::MAX as u64) as u16;
    let info = VolumeInfo {
        slots: slots(space.total_entries),
        free_slots: slots(space.free_entries),
        ..VolumeInfo::of_space(space.total, space.free, name)
    };
    VolumeInfo::put(&info, out);
    Ok(())
}

/// 0x16/0x12, 0x16/0x13 and 0x16/0x16; `task` owns a temporary handle.
pub fn allocate<V: Volume>(
    shared: &Shared<V>,
    connection: &mut Connection,
    (base, path): (u8, &[u8]),
    task: Option<u8>,
    out: &mut Vec<u8>,
) -> VolumeResult<()> {
    let directory = shared.directory(&shared.resolve_path(connection, base, path)?)?;
    let handle = connection.add_handle(directory, task)?;
    AllocatedHandle::put(&AllocatedHandle { handle, rights: rights(shared, directory.volume)? }, out);
    Ok(())
}
