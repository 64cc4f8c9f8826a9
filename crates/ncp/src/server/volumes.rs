//! Calls on volumes, and their space and rights (docs/protocols/ncp.md 2.6).

use super::execute::Execution;
use super::shared::Shared;
use super::volume::{Volume, VolumeResult};
use crate::wire::directory::DirectorySpace;
use crate::wire::text::padded;
use crate::wire::volume::{VolumeInfo, VolumeName, VolumeNumber, VolumeUsage};
use crate::wire::{Completion, Pstr, VolumeCall};

/// Sectors of 512 bytes in a block of 4 KiB.
const SECTORS_PER_BLOCK: u8 = 8;
const BLOCK: u64 = 4096;
/// Effective rights on a writable volume: all except granting rights, because trustees are not stored.
const RIGHTS: u8 = 0xDF;
/// Effective rights on a read-only volume: read, open and search.
const READ_ONLY_RIGHTS: u8 = 0x45;

impl<V: Volume> Execution<'_, V> {
    /// Calls on volumes by number or name.
    pub fn volume_call(&mut self, call: &VolumeCall<'_>) -> VolumeResult<()> {
        match call {
            VolumeCall::GetVolumeNumber(call) => {
                let volume = self.shared.root(&call.name)?.volume;
                self.reply(&VolumeNumber { volume })
            }
            // The name is empty if the volume does not exist.
            VolumeCall::GetVolumeName(call) => {
                let name = Pstr::new(self.shared.volume_name(call.volume)).unwrap_or_default();
                self.reply(&VolumeName { name })
            }
            VolumeCall::GetVolumeUsage(call) => self.reply(&self.shared.usage(call.volume)?),
            VolumeCall::GetVolumeInfo(call) => self.reply(&self.shared.info(call.volume)?),
        }
    }
}

impl<V: Volume> Shared<V> {
    /// Effective rights of a user on a volume. They are the same in all of its directories.
    pub fn rights(&self, volume: u8) -> VolumeResult<u8> {
        Ok(if self.volume(volume)?.is_read_only() { READ_ONLY_RIGHTS } else { RIGHTS })
    }

    /// The reply to 0x16/0x2C.
    fn usage(&self, volume: u8) -> VolumeResult<VolumeUsage<'_>> {
        let space = self.volume(volume)?.space()?;
        let blocks = |bytes: u64| u32::try_from(bytes / BLOCK).unwrap_or(u32::MAX);
        // Clients show larger numbers as negative ones.
        let entries = |count: u64| count.min(i32::MAX as u64) as u32;
        Ok(VolumeUsage {
            total_blocks: blocks(space.total),
            free_blocks: blocks(space.free),
            purgeable_blocks: 0,
            not_yet_purgeable_blocks: 0,
            total_entries: entries(space.total_entries),
            free_entries: entries(space.free_entries),
            reserved: 0,
            sectors_per_block: SECTORS_PER_BLOCK,
            name: Pstr::new(self.volume_name(volume)).unwrap_or_default(),
        })
    }

    /// The reply to 0x16/0x2D: no directory has a limit of its own.
    pub fn directory_space(&self, volume: u8) -> VolumeResult<DirectorySpace<'_>> {
        let usage = self.usage(volume)?;
        Ok(DirectorySpace {
            total_blocks: usage.total_blocks,
            free_blocks: usage.free_blocks,
            total_entries: usage.total_entries,
            free_entries: usage.free_entries,
            reserved: 0,
            sectors_per_block: usage.sectors_per_block,
            volume: usage.name,
        })
    }

    /// The reply to 0x12 and 0x16/0x15.
    pub fn info(&self, volume: u8) -> VolumeResult<VolumeInfo> {
        let space = self.volume(volume)?.space()?;
        let name = padded(self.volume_name(volume)).map_err(|_| Completion::NoSuchVolume)?;
        // Clients show larger numbers as negative ones.
        let slots = |count: u64| count.min(i16::MAX as u64) as u16;
        Ok(VolumeInfo {
            slots: slots(space.total_entries),
            free_slots: slots(space.free_entries),
            ..VolumeInfo::of_space(space.total, space.free, name)
        })
    }
}
