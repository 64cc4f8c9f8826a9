//! Embedded file servers over one volume.

mod volume;

pub use volume::{
    Attributes, DirectoryEntry, NodeId, ROOT, SetAttributes, Volume, VolumeError, VolumeResult, VolumeSpace,
};
