//! File information: reading and changing attributes and timestamps; server-side copies.

use super::exchange::{Client, wire};
use super::files::near;
use super::transport::Transport;
use super::{ClientError, File, Path};
use crate::wire::dos::attribute;
use crate::wire::file::{CopiedBytes, CopyFile};
use crate::wire::large::{CopiedLarge, CopyLarge};
use crate::wire::name_space::{ModifyInfo, ObtainInfo, change};
use crate::wire::{DosTime, FileHandle, Info, NamedInfo, Reader, ReturnMask};

/// A change of file information; fields that are none stay unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Modification {
    /// Whether the file is protected from writing, renaming and deleting.
    pub read_only: Option<bool>,
    /// All attributes, instead of `read_only`; see [`attribute`].
    pub attributes: Option<u32>,
    /// Creation time.
    pub created: Option<DosTime>,
    /// Time of the last modification.
    pub modified: Option<DosTime>,
    /// DOS date of the last access.
    pub accessed: Option<u16>,
}

/// A position in an open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePosition {
    /// The file.
    pub file: File,
    /// Offset in bytes.
    pub offset: u64,
}

impl<C: Transport> Client<C> {
    /// All information that the server has about a name.
    pub async fn info(&mut self, path: &Path) -> Result<Info, ClientError> {
        const STEP: &str = "obtain information";
        let call = ObtainInfo {
            space: path.space,
            answer_space: path.space,
            search: super::names::EVERYTHING,
            mask: ReturnMask::ALL,
            extended: 0,
            path: path.absolute().map_err(wire(STEP))?,
        };
        let data = self.call(STEP, &call.into()).await?;
        NamedInfo::get(call.mask, &mut Reader::new(data)).map(|named| named.info).map_err(wire(STEP))
    }

    /// Changes the information of a file.
    pub async fn modify(&mut self, path: &Path, wanted: &Modification) -> Result<(), ClientError> {
        const STEP: &str = "modify information";
        let bit = |is: bool, bits: u32| if is { bits } else { 0 };
        let sets_attributes = wanted.read_only.is_some() || wanted.attributes.is_some();
        let read_only = bit(wanted.read_only == Some(true), attribute::READ_ONLY);
        let mask = bit(sets_attributes, change::ATTRIBUTES)
            | bit(wanted.created.is_some(), change::CREATED_DATE | change::CREATED_TIME)
            | bit(wanted.modified.is_some(), change::MODIFIED_DATE | change::MODIFIED_TIME)
            | bit(wanted.accessed.is_some(), change::ACCESSED);
        let call = ModifyInfo {
            space: path.space,
            search: super::names::EVERYTHING,
            change: mask,
            attributes: wanted.attributes.unwrap_or(read_only),
            created: wanted.created.unwrap_or_default(),
            creator: 0,
            modified: wanted.modified.unwrap_or_default(),
            modifier: 0,
            archived: DosTime::default(),
            archiver: 0,
            accessed: wanted.accessed.unwrap_or_default(),
            grant: 0,
            revoke: 0,
            max_space: 0,
            path: path.absolute().map_err(wire(STEP))?,
        };
        self.call(STEP, &call.into()).await.map(|_| ())
    }

    /// Copies data between two files on the server. Returns the number of bytes copied, which may be less than
    /// `count`.
    pub async fn copy(
        &mut self,
        source: FilePosition,
        target: FilePosition,
        count: u32,
    ) -> Result<u64, ClientError> {
        const STEP: &str = "copy";
        let FilePosition { file: source, offset: source_offset } = source;
        let FilePosition { file: target, offset: target_offset } = target;
        let source = FileHandle::of_name_space(source.0);
        let target = FileHandle::of_name_space(target.0);
        if self.large {
            let call = CopyLarge { source, target, source_offset, target_offset, count: u64::from(count) };
            let CopiedLarge { count } = self.ask(STEP, &call.into()).await?;
            return Ok(count);
        }
        let source_offset = near(STEP, source_offset)?;
        let target_offset = near(STEP, target_offset)?;
        let call = CopyFile { source, target, source_offset, target_offset, count };
        let CopiedBytes { count } = self.ask(STEP, &call.into()).await?;
        Ok(count.into())
    }
}
