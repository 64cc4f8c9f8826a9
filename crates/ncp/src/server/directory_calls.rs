//! Calls on directory handles, and on directories by a classic path (docs/protocols/ncp.md 2.6).

use super::entry_filter::EntryFilter;
use super::execute::Execution;
use super::paths::ResolvedPath;
use super::volume::{Volume, VolumeResult};
use crate::wire::directory::{
    AllocatePermanent, AllocateSpecial, AllocateTemporary, AllocatedHandle, EffectiveRights, HandlePathText,
};
use crate::wire::{Completion, DirectoryCall, Pstr};

impl<V: Volume> Execution<'_, V> {
    /// Calls on directory handles, and on directories by a classic path.
    pub fn directory_call(&mut self, call: &DirectoryCall<'_>) -> VolumeResult<()> {
        match call {
            DirectoryCall::AllocatePermanent(AllocatePermanent { base, path, .. }) => {
                self.allocate_handle(*base, path, None)
            }
            DirectoryCall::AllocateTemporary(AllocateTemporary { base, path, .. })
            | DirectoryCall::AllocateSpecial(AllocateSpecial { base, path, .. }) => {
                self.allocate_handle(*base, path, Some(self.task))
            }
            DirectoryCall::SetHandle(call) => {
                let directory = self.directory(call.base, &call.path)?;
                self.connection.set_handle(call.target, directory)
            }
            DirectoryCall::GetHandlePath(call) => {
                let path = self.shared.text(self.connection.handle(call.handle)?)?;
                let path = Pstr::new(&path).map_err(|_| Completion::InvalidPath)?;
                self.reply(&HandlePathText { path })
            }
            DirectoryCall::FreeHandle(call) => self.connection.free_handle(call.handle),
            DirectoryCall::GetVolumeInfoOfHandle(call) => {
                let volume = self.connection.handle(call.handle)?.volume;
                self.reply(&self.shared.info(volume)?)
            }
            DirectoryCall::GetDirectorySpace(call) => {
                let volume = self.connection.handle(call.handle)?.volume;
                self.reply(&self.shared.directory_space(volume)?)
            }
            DirectoryCall::GetEffectiveRights(call) => {
                let directory = self.directory(call.base, &call.path)?;
                let rights = self.shared.rights(directory.volume)?;
                self.reply(&EffectiveRights { rights })
            }
            DirectoryCall::MakeDirectory(call) => {
                self.shared.make_directory(&self.path(call.base, &call.path)?).map(drop)
            }
            DirectoryCall::RemoveDirectory(call) => {
                self.remove(&self.path(call.base, &call.path)?, EntryFilter::DIRECTORIES)
            }
            DirectoryCall::RenameDirectory(call) => {
                let from = self.path(call.base, &call.path)?;
                if !self.shared.entry(&from)?.directory {
                    return Err(Completion::InvalidPath);
                }
                let name = Some(from.space.checked(&call.name)?);
                let to = ResolvedPath { name, ..from.clone() };
                self.rename(&from, &to, EntryFilter::DIRECTORIES)
            }
        }
    }

    /// 0x16/0x12, 0x16/0x13 and 0x16/0x16; `task` owns a temporary handle.
    fn allocate_handle(&mut self, base: u8, path: &[u8], task: Option<u8>) -> VolumeResult<()> {
        let directory = self.directory(base, path)?;
        let handle = self.connection.add_handle(directory, task)?;
        let rights = self.shared.rights(directory.volume)?;
        self.reply(&AllocatedHandle { handle, rights })
    }
}
