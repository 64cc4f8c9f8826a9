//! Calls of family 0x57 on paths (docs/protocols/ncp.md 3.4).

use super::entry_filter::EntryFilter;
use super::execute::Execution;
use super::names::NameSpace;
use super::replies::named;
use super::volume::{Entry, Volume, VolumeResult};
use crate::wire::info::extended;
use crate::wire::name_space::{
    AllocateHandle, DirectoryBase, EntryRights, FullPath, GetDirectoryBase, GetEntryRights, GetFullPath,
    NameSpaceHandle, NameSpaces, ObtainInfo, PATH_OF_FILE, WHOLE_PATH,
};
use crate::wire::{Codec, Completion, HandlePath, NameSpaceCall, Pstr};

/// Most bytes of the components of a path in one reply: clients have a buffer of that size.
const MAX_COMPONENTS: usize = 512;

/// An entry and its volume.
struct EntryOnVolume {
    volume: u8,
    entry: Entry,
}

/// Refuses requests for replies in the new style, which are not implemented.
const fn old_style(form: u16) -> VolumeResult<()> {
    if form & extended::NEW_STYLE == 0 { Ok(()) } else { Err(Completion::UnknownFunction) }
}

impl<V: Volume> Execution<'_, V> {
    /// Calls on files and directories by a path in a name space.
    pub fn name_space_call(&mut self, call: &NameSpaceCall<'_>) -> VolumeResult<()> {
        match call {
            NameSpaceCall::OpenCreate(call) => {
                old_style(call.extended)?;
                self.open_create(call)
            }
            NameSpaceCall::ObtainInfo(call) => {
                old_style(call.extended)?;
                self.obtain_info(call)
            }
            NameSpaceCall::InitSearch(call) => self.init_search(call),
            NameSpaceCall::SearchNext(call) => {
                old_style(call.extended)?;
                self.search_next(call)
            }
            NameSpaceCall::SearchSet(call) => {
                old_style(call.extended)?;
                self.search_set(call)
            }
            NameSpaceCall::Rename(call) => {
                let from = self.path_in(call.space, &call.paths.from)?;
                let to = self.path_in(call.space, &call.paths.to)?;
                self.rename(&from, &to, EntryFilter::of_name_space(call.search))
            }
            NameSpaceCall::ScanTrustees(call) => {
                self.shared.entry(&self.path_in(call.space, &call.path)?)?;
                // Trustees are not stored: all users have the same rights. The code means that there are no more.
                Err(Completion::InvalidPath)
            }
            NameSpaceCall::GetFullPath(call) => self.full_path(call),
            NameSpaceCall::GetEntryRights(call) => {
                old_style(call.extended)?;
                self.entry_rights(call)
            }
            NameSpaceCall::ModifyInfo(call) => self.modify_info(call),
            NameSpaceCall::Delete(call) => {
                let place = self.path_in(call.space, &call.path)?;
                self.remove(&place, EntryFilter::of_name_space(call.search))
            }
            NameSpaceCall::AllocateHandle(call) => self.allocate_in(call),
            NameSpaceCall::GetDirectoryBase(call) => self.directory_base(call),
            NameSpaceCall::GetNameSpaces(call) => {
                let ids = NameSpace::ids(self.shared.volume(call.volume)?.has_long_names());
                self.reply(&NameSpaces { count: ids.len() as u16, ids })
            }
        }
    }

    /// 87/6 (docs/protocols/ncp.md 3.4). The root of a volume has no name in the reply.
    fn obtain_info(&mut self, call: &ObtainInfo<'_>) -> VolumeResult<()> {
        let found = self.obtained(call.space, call.answer_space, call.search, &call.path)?;
        named(self.shared, &found.entry, found.volume, call.mask).put(self.out);
        Ok(())
    }

    /// 87/29 (docs/protocols/ncp.md 3.4).
    fn entry_rights(&mut self, call: &GetEntryRights<'_>) -> VolumeResult<()> {
        let found = self.obtained(call.space, call.answer_space, call.search, &call.path)?;
        let rights = self.shared.rights(found.volume)?.into();
        let entry = named(self.shared, &found.entry, found.volume, call.mask);
        EntryRights { rights, entry }.put(self.out);
        Ok(())
    }

    /// The entry of a path, with its name in the second name space.
    fn obtained(
        &self,
        space: u8,
        answer_space: u8,
        search: u16,
        path: &HandlePath<'_>,
    ) -> VolumeResult<EntryOnVolume> {
        let place = self.path_in(space, path)?;
        let volume = place.directory.volume;
        let mut entry = self.shared.entry(&place)?;
        if !EntryFilter::of_name_space(search).shows(&entry) {
            return Err(Completion::Failure);
        }
        entry.name = self.shared.name_space(volume, answer_space)?.shown(&entry.name);
        Ok(EntryOnVolume { volume, entry })
    }

    /// 87/12 (docs/protocols/ncp.md 3.4).
    fn allocate_in(&mut self, call: &AllocateHandle<'_>) -> VolumeResult<()> {
        let directory = self.shared.directory(&self.path_in(call.space, &call.path)?)?;
        let handle = self.connection.add_handle(directory, (call.mode != 0).then_some(self.task))?;
        self.reply(&NameSpaceHandle { handle, volume: directory.volume, reserved: 0 })
    }

    /// 87/22 (docs/protocols/ncp.md 3.4).
    fn directory_base(&mut self, call: &GetDirectoryBase<'_>) -> VolumeResult<()> {
        let place = self.path_in(call.space, &call.path)?;
        let volume = place.directory.volume;
        self.shared.name_space(volume, call.answer_space)?;
        let base = self.shared.entry(&place)?.node;
        self.reply(&DirectoryBase { base, dos_base: base, volume })
    }

    /// 87/28 (docs/protocols/ncp.md 3.4). A path that is longer than a reply is continued at the directory of its cookie.
    fn full_path(&mut self, call: &GetFullPath<'_>) -> VolumeResult<()> {
        let place = self.path_in(call.space, &call.path)?;
        let number = place.directory.volume;
        let space = self.shared.name_space(number, call.answer_space)?;
        let volume = self.shared.volume(number)?;
        let entry = self.shared.entry(&place)?;
        let mut node = if call.next == WHOLE_PATH { entry.node } else { call.next };
        let mut components = Vec::new();
        let mut count = 0;
        while node != volume.root() {
            let (parent, name) = volume.place(node)?;
            let name = space.shown(&name);
            if components.len() + 1 + name.len() > MAX_COMPONENTS {
                break;
            }
            Pstr::put(&Pstr::new(&name).map_err(|_| Completion::InvalidPath)?, &mut components);
            count += 1;
            node = parent;
        }
        let name = self.shared.volume_name(number);
        let is_whole = node == volume.root() && components.len() + 1 + name.len() <= MAX_COMPONENTS;
        if is_whole {
            Pstr::put(&Pstr::new(name).map_err(|_| Completion::InvalidPath)?, &mut components);
            count += 1;
        }
        let (volume, next) = if is_whole { (WHOLE_PATH, WHOLE_PATH) } else { (u32::from(number), node) };
        let flags = if entry.directory { 0 } else { PATH_OF_FILE };
        let size = components.len() as u16;
        self.reply(&FullPath { flags, volume, next, size, count, components: &components })
    }
}
