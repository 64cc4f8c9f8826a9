//! Calls on names: open, create, delete, rename and list; free space of a volume.

use super::exchange::{Client, unless, wire};
use super::transport::Transport;
use super::{ClientError, File};
use crate::wire::dos::{access, attribute};
use crate::wire::handle_path::{Components, PathStart};
use crate::wire::name_space::{Delete, GetNameSpaces, NameSpaces, OpenCreate, Opened, Rename, mode, space};
use crate::wire::volume::{GetVolumeNumber, GetVolumeUsage, VolumeNumber, VolumeUsage};
use crate::wire::{Codec, Completion, HandlePath, Info, PathPair, Pstr, Reader, ReturnMask, WireError};

/// Search attributes: files, including hidden and system files.
const FILES: u16 = 0x0006;
/// Search attributes: directories only.
const DIRECTORIES: u16 = 0x0016;
/// Search attributes: files and directories.
pub(super) const EVERYTHING: u16 = 0x8006;
/// A volume and the components below it, in one name space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    pub(super) space: u8,
    packed: Vec<u8>,
}

impl Path {
    /// Builds a path from components, the volume first; `space` is one of [`space`].
    pub fn new<'n>(space: u8, names: impl IntoIterator<Item = &'n [u8]>) -> Result<Self, WireError> {
        Ok(Self { space, packed: Components::pack(names)? })
    }

    /// Parses `VOLUME:DIRECTORY\FILE` in the DOS name space.
    pub fn dos(path: &str) -> Result<Self, WireError> {
        let (volume, rest) = path.split_once(':').unwrap_or((path, ""));
        let names = rest.split(['\\', '/']).filter(|name| !name.is_empty());
        Self::new(space::DOS, std::iter::once(volume).chain(names).map(str::as_bytes))
    }

    /// The components, the volume first.
    pub(super) fn components(&self) -> Result<Components<'_>, WireError> {
        Components::decode(&self.packed)
    }

    pub(super) fn absolute(&self) -> Result<HandlePath<'_>, WireError> {
        Ok(HandlePath { start: PathStart::NONE, components: self.components()? })
    }
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Opens an existing file for reading.
    Read,
    /// Opens an existing file for reading and writing.
    ReadWrite,
    /// Creates a file and opens it for reading and writing; fails if the name exists.
    CreateNew,
    /// Creates or truncates a file and opens it for reading and writing.
    Create,
}

/// Type and size of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryInfo {
    /// True for a directory.
    pub directory: bool,
    /// Bytes of a file; [`u32::MAX`] if the size exceeds 32 bits.
    pub size: u32,
}

impl From<&Info> for EntryInfo {
    fn from(info: &Info) -> Self {
        let directory = info.attributes & attribute::DIRECTORY != 0;
        Self { directory, size: if directory { 0 } else { info.size } }
    }
}

/// Space of a volume in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeSpace {
    /// Total space.
    pub total: u64,
    /// Free space.
    pub free: u64,
}

impl<C: Transport> Client<C> {
    /// Opens or creates a file. With `through`, the server writes data to disk before it replies.
    pub async fn open(
        &mut self,
        path: &Path,
        how: Access,
        through: bool,
    ) -> Result<(File, EntryInfo), ClientError> {
        self.open_denying(path, how, if through { access::WRITE_THROUGH } else { 0 }).await
    }

    /// Opens a file with further bits of [`access`], such as those that deny access to others.
    pub async fn open_denying(
        &mut self,
        path: &Path,
        how: Access,
        denied: u16,
    ) -> Result<(File, EntryInfo), ClientError> {
        const STEP: &str = "open";
        let read_only = how == Access::Read;
        let rights = if read_only { access::READ } else { access::READ | access::WRITE };
        let mode = match how {
            Access::Read | Access::ReadWrite => mode::OPEN,
            Access::CreateNew => mode::CREATE,
            Access::Create => mode::CREATE | mode::REPLACE,
        };
        let call = open_create(path, mode, 0, rights | denied).map_err(wire(STEP))?;
        let data = self.call(STEP, &call.into()).await?;
        let opened = Opened::get(call.mask, &mut Reader::new(data)).map_err(wire(STEP))?;
        Ok((File(opened.file), EntryInfo::from(&opened.entry.info)))
    }

    /// Creates a directory.
    pub async fn make_directory(&mut self, path: &Path) -> Result<(), ClientError> {
        const STEP: &str = "make directory";
        let call = open_create(path, mode::CREATE, attribute::DIRECTORY, 0).map_err(wire(STEP))?;
        self.call(STEP, &call.into()).await.map(|_| ())
    }

    /// The type and size of a name.
    pub async fn entry_info(&mut self, path: &Path) -> Result<EntryInfo, ClientError> {
        self.info(path).await.map(|info| EntryInfo::from(&info))
    }

    /// Deletes a file.
    pub async fn delete(&mut self, path: &Path) -> Result<(), ClientError> {
        self.delete_as("delete", path, FILES).await
    }

    /// Deletes an empty directory.
    pub async fn remove_directory(&mut self, path: &Path) -> Result<(), ClientError> {
        self.delete_as("remove directory", path, DIRECTORIES).await
    }

    async fn delete_as(&mut self, step: &'static str, path: &Path, search: u16) -> Result<(), ClientError> {
        let call = Delete { space: path.space, search, path: path.absolute().map_err(wire(step))? };
        self.call(step, &call.into()).await.map(|_| ())
    }

    /// Renames a file or directory, also into another directory of the volume. The new name must be free.
    pub async fn rename(&mut self, from: &Path, to: &Path) -> Result<(), ClientError> {
        const STEP: &str = "rename";
        let paths =
            PathPair { from: from.absolute().map_err(wire(STEP))?, to: to.absolute().map_err(wire(STEP))? };
        let call = Rename { space: from.space, flag: 1, search: EVERYTHING, paths };
        self.call(STEP, &call.into()).await.map(|_| ())
    }

    /// Ids of the name spaces that the volume has loaded, see [`space`]: DOS alone where the server does not know the
    /// call.
    pub async fn name_spaces(&mut self, volume: &str) -> Result<Vec<u8>, ClientError> {
        const STEP: &str = "name spaces";
        let volume = self.volume_number(volume).await?;
        let spaces = self.ask::<NameSpaces<'_>>(STEP, &GetNameSpaces { volume }.into()).await;
        Ok(match unless(spaces, &[Completion::UnknownFunction])? {
            Some(spaces) => spaces.ids.iter().take(usize::from(spaces.count)).copied().collect(),
            None => vec![space::DOS],
        })
    }

    async fn volume_number(&mut self, volume: &str) -> Result<u8, ClientError> {
        const STEP: &str = "volume number";
        let name = Pstr::new(volume.as_bytes()).map_err(wire(STEP))?;
        let VolumeNumber { volume } = self.ask(STEP, &GetVolumeNumber { name }.into()).await?;
        Ok(volume)
    }

    /// Total and free space of a volume.
    pub async fn volume_space(&mut self, volume: &str) -> Result<VolumeSpace, ClientError> {
        const STEP: &str = "volume usage";
        let volume = self.volume_number(volume).await?;
        let usage: VolumeUsage<'_> = self.ask(STEP, &GetVolumeUsage { volume }.into()).await?;
        Ok(VolumeSpace { total: usage.bytes(usage.total_blocks), free: usage.bytes(usage.free_blocks) })
    }
}

fn open_create(path: &Path, mode: u8, attributes: u32, access: u16) -> Result<OpenCreate<'_>, WireError> {
    Ok(OpenCreate {
        space: path.space,
        mode,
        search: EVERYTHING,
        mask: ReturnMask::ALL,
        extended: 0,
        attributes,
        access,
        path: path.absolute()?,
    })
}
