//! Operations of minor version 2 (RFC 7862, 15).

use crate::protocol::StableHow;
use crate::results::WriteVerifier;
use crate::v4::bitmap::Bitmap;
use crate::v4::client_id::NetworkAddress;
use crate::v4::data::StateId;
use crate::v4::item::{Item, Opaque, enumeration, message};
use crate::v4::list::List;
use crate::xdr::{Reader, Writer, XdrError};

message! {
    /// Arguments of `ALLOCATE` and of `DEALLOCATE`.
    Range {
        /// The open file.
        state: StateId,
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    }
}

enumeration! {
    /// What `SEEK` looks for, and what a segment of `READ_PLUS` is (`data_content4`).
    Content, "data content" {
        /// `NFS4_CONTENT_DATA`.
        Data = 0,
        /// `NFS4_CONTENT_HOLE`.
        Hole = 1,
    }
}

message! {
    /// Arguments of `SEEK`.
    Seek {
        /// The open file.
        state: StateId,
        /// Where the search begins.
        offset: u64,
        /// What is sought.
        what: Content,
    }
}

message! {
    /// Result of `SEEK`.
    Found {
        /// Nothing was found before the end of the file.
        eof: bool,
        /// Where it was found.
        offset: u64,
    }
}

/// A server of a copy between servers (`netloc4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerLocation<'a> {
    /// `NL4_NAME`.
    Name(Opaque<'a, 1024>),
    /// `NL4_URL`.
    Url(Opaque<'a, 1024>),
    /// `NL4_NETADDR`.
    Address(NetworkAddress<'a>),
}

impl<'a> Item<'a> for ServerLocation<'a> {
    fn get(reader: &mut Reader<'a>) -> Result<Self, XdrError> {
        match reader.u32()? {
            1 => Item::get(reader).map(Self::Name),
            2 => Item::get(reader).map(Self::Url),
            3 => Item::get(reader).map(Self::Address),
            value => Err(XdrError::BadValue { field: "netloc_type4", value }),
        }
    }

    fn put(&self, writer: &mut Writer) {
        match self {
            Self::Name(name) => {
                writer.u32(1);
                name.put(writer);
            }
            Self::Url(url) => {
                writer.u32(2);
                url.put(writer);
            }
            Self::Address(address) => {
                writer.u32(3);
                address.put(writer);
            }
        }
    }
}

message! {
    /// Arguments of `COPY`, from the saved to the current handle.
    Copy<'a> {
        /// The source, open for reading.
        source_state: StateId,
        /// The destination, open for writing.
        destination_state: StateId,
        /// First byte in the source.
        source_offset: u64,
        /// First byte in the destination.
        destination_offset: u64,
        /// Bytes; 0 up to the end of the source.
        count: u64,
        /// Bytes are copied in order.
        consecutive: bool,
        /// The reply follows the copy.
        synchronous: bool,
        /// The source's server; none for the same server.
        source_servers: List<'a, ServerLocation<'a>, 16>,
    }
}

message! {
    /// How a server copies (`copy_requirements4`): part of the result, and the result with `NFS4ERR_OFFLOAD_NO_REQS`.
    CopyRequirements {
        /// Bytes are copied in order.
        consecutive: bool,
        /// The reply follows the copy.
        synchronous: bool,
    }
}

message! {
    /// Result of `COPY`.
    Copied {
        /// Identifies an asynchronous copy; none if the copy is complete (`write_response4`).
        callback: Option<StateId>,
        /// Bytes copied so far.
        count: u64,
        /// How durably they are stored.
        committed: StableHow,
        /// Identifies the boot of the server.
        verifier: WriteVerifier,
        /// How the server copied.
        requirements: CopyRequirements,
    }
}

message! {
    /// Arguments of `CLONE`, from the saved to the current handle.
    Clone4 {
        /// The source, open for reading.
        source_state: StateId,
        /// The destination, open for writing.
        destination_state: StateId,
        /// First byte in the source.
        source_offset: u64,
        /// First byte in the destination.
        destination_offset: u64,
        /// Bytes; 0 up to the end of the source.
        count: u64,
    }
}

message! {
    /// Head of the result of `READ_PLUS`; `count` segments follow, each a [`Segment`]. Its arguments are
    /// [`super::data::Read`].
    SegmentsHead {
        /// True if the segments reach the end of the file.
        eof: bool,
        /// Number of segments. It comes from the peer: never allocate memory for that many.
        count: u32,
    }
}

/// A segment of the result of `READ_PLUS` (`read_plus_content`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Data.
    Data {
        /// First byte.
        offset: u64,
        /// The data.
        data: &'a [u8],
    },
    /// Zeros that are not transferred.
    Hole {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
}

impl<'a> Item<'a> for Segment<'a> {
    fn get(reader: &mut Reader<'a>) -> Result<Self, XdrError> {
        let content = Content::get(reader)?;
        let offset = reader.u64()?;
        Ok(match content {
            // The message limits the length.
            Content::Data => Self::Data { offset, data: reader.opaque("data", reader.rest().len())? },
            Content::Hole => Self::Hole { offset, length: reader.u64()? },
        })
    }

    fn put(&self, writer: &mut Writer) {
        match self {
            Self::Data { offset, data } => {
                Content::Data.put(writer);
                writer.u64(*offset);
                writer.opaque(data);
            }
            Self::Hole { offset, length } => {
                Content::Hole.put(writer);
                writer.u64(*offset);
                writer.u64(*length);
            }
        }
    }
}

message! {
    /// Arguments of `IO_ADVISE`; its result is the [`Bitmap`] of the hints that the server uses.
    IoAdvise {
        /// The open file.
        state: StateId,
        /// First byte.
        offset: u64,
        /// Bytes.
        count: u64,
        /// `IO_ADVISE4_*`.
        hints: Bitmap,
    }
}

message! {
    /// Arguments of `OFFLOAD_CANCEL` and of `OFFLOAD_STATUS`.
    Offload {
        /// The asynchronous copy.
        state: StateId,
    }
}

message! {
    /// Result of `OFFLOAD_STATUS`.
    OffloadState {
        /// Bytes copied so far.
        count: u64,
        /// Status of the copy, if it has ended.
        complete: Option<u32>,
    }
}
