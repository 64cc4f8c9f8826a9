//! The volume as a share of the crate `smb-server`.

use std::sync::Arc;

use async_trait::async_trait;
use smb_server::{
    BackendCapabilities, Handle, OpenAction, OpenIntent, OpenOptions, ShareBackend, SmbError, SmbPath,
    SmbResult, VolumeInfo,
};

use crate::name::check_portable_name;
use crate::smb::file_info::is_read_only;
use crate::smb::open_file::OpenFile;
use crate::smb::read_buffers::ReadBuffers;
use crate::smb::resolve::{ResolvedPath, resolve};
use crate::smb::volume_call::{VolumeCall, smb_error, smb_result};
use crate::{Attributes, SetAttributes, Volume, VolumeError};

/// Size of an allocation unit in replies, in bytes.
const UNIT_BYTES: u64 = 4096;

/// A share over a volume.
pub(super) struct VolumeShare {
    volume: VolumeCall,
    buffers: ReadBuffers,
    read_only: bool,
}

impl VolumeShare {
    /// Creates a share of `volume`.
    pub(super) fn new(volume: Arc<dyn Volume>, read_only: bool) -> Self {
        Self { volume: VolumeCall::new(volume), buffers: ReadBuffers::default(), read_only }
    }
}

#[async_trait]
impl ShareBackend for VolumeShare {
    async fn open(&self, path: &SmbPath, options: OpenOptions) -> SmbResult<(Box<dyn Handle>, OpenAction)> {
        let path = path.clone();
        let (place, found, action) = self.volume.run(move |volume| open(volume, &path, options)).await?;
        let file = OpenFile {
            volume: self.volume.clone(),
            buffers: self.buffers.clone(),
            node: found.node,
            parent: place.directory,
            name: place.name,
            directory: found.directory,
            writable: options.write,
        };
        Ok((Box::new(file), action))
    }

    async fn unlink(&self, path: &SmbPath) -> SmbResult<()> {
        let path = path.clone();
        self.volume.run(move |volume| unlink(volume, &path)).await
    }

    async fn rename(&self, from: &SmbPath, to: &SmbPath, replace_if_exists: bool) -> SmbResult<()> {
        let from = from.clone();
        let to = to.clone();
        self.volume.run(move |volume| rename(volume, &from, &to, replace_if_exists)).await
    }

    fn capabilities(&self) -> BackendCapabilities {
        let mut capabilities = BackendCapabilities::default();
        capabilities.is_read_only = self.read_only;
        capabilities
    }

    async fn volume_info(&self) -> SmbResult<VolumeInfo> {
        let space = self.volume.run(|volume| smb_result(volume.space())).await?;
        let mut info = VolumeInfo::default();
        info.total_allocation_units = space.total_bytes / UNIT_BYTES;
        info.caller_available_allocation_units = space.free_bytes / UNIT_BYTES;
        info.actual_available_allocation_units = space.free_bytes / UNIT_BYTES;
        info.bytes_per_sector = UNIT_BYTES as u32;
        Ok(info)
    }
}

/// Opens, creates or truncates.
fn open(
    volume: &dyn Volume,
    path: &SmbPath,
    options: OpenOptions,
) -> SmbResult<(ResolvedPath, Attributes, OpenAction)> {
    loop {
        let place = resolve(volume, path)?;
        if let Some(found) = place.found.clone() {
            let action = open_existing(volume, &found, options)?;
            return Ok((place, found, action));
        }
        if !matches!(
            options.intent,
            OpenIntent::Create | OpenIntent::OpenOrCreate | OpenIntent::OverwriteOrCreate
        ) {
            return Err(SmbError::NotFound);
        }
        smb_result(check_portable_name(&place.name))?;
        let made = if options.directory {
            volume.make_directory(place.directory, &place.name, 0o755)
        } else {
            volume.create(place.directory, &place.name, 0o644)
        };
        match made {
            Ok(made) => return Ok((place, made, OpenAction::Created)),
            // Another client created it in the meantime.
            Err(VolumeError::Exists) if options.intent != OpenIntent::Create => {}
            Err(error) => return Err(smb_error(error)),
        }
    }
}

fn open_existing(volume: &dyn Volume, found: &Attributes, options: OpenOptions) -> SmbResult<OpenAction> {
    if options.directory && !found.directory {
        return Err(SmbError::NotADirectory);
    }
    if options.non_directory && found.directory {
        return Err(SmbError::IsDirectory);
    }
    if options.write && is_read_only(found) {
        return Err(SmbError::AccessDenied);
    }
    match options.intent {
        OpenIntent::Create => Err(SmbError::Exists),
        OpenIntent::Truncate | OpenIntent::OverwriteOrCreate => {
            let empty = SetAttributes { size: Some(0), ..SetAttributes::default() };
            smb_result(volume.set_attributes(found.node, &empty))?;
            Ok(OpenAction::Overwritten)
        }
        _ => Ok(OpenAction::Opened),
    }
}

fn unlink(volume: &dyn Volume, path: &SmbPath) -> SmbResult<()> {
    let place = resolve(volume, path)?;
    let found = place.found.ok_or(SmbError::NotFound)?;
    smb_result(if found.directory {
        volume.remove_directory(place.directory, &place.name)
    } else {
        volume.remove(place.directory, &place.name)
    })
}

fn rename(volume: &dyn Volume, from: &SmbPath, to: &SmbPath, replace: bool) -> SmbResult<()> {
    let from = resolve(volume, from)?;
    let new_name = to.file_name().ok_or(SmbError::AccessDenied)?;
    smb_result(check_portable_name(new_name))?;
    let to = resolve(volume, to)?;
    let moved = from.found.ok_or(SmbError::NotFound)?;
    if let Some(old) = to.found.filter(|old| old.node != moved.node) {
        if !replace {
            return Err(SmbError::Exists);
        }
        if old.directory || moved.directory {
            return Err(SmbError::AccessDenied);
        }
        if to.name != new_name {
            // The target exists with other case: both names must not remain.
            smb_result(volume.remove(to.directory, &to.name))?;
        }
    }
    smb_result(volume.rename(from.directory, &from.name, to.directory, new_name))
}
