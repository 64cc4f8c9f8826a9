//! Results of NFSv3 procedures, decoded for a client (RFC 1813, 3.3).

use crate::attributes::{FileAttributes, skip_optional, skip_wcc};
use crate::protocol::{FileHandle, StableHow};
use crate::status::NfsStatus;
use crate::xdr::{Reader, XdrError};

/// Write verifier of a server. It changes if the server may have lost unstable writes (RFC 1813, 3.3.7).
pub type WriteVerifier = [u8; 8];

/// Decodes the status at the front of every result (RFC 1813, 2.6).
#[inline]
pub fn get_status(reader: &mut Reader<'_>) -> Result<Result<(), NfsStatus>, XdrError> {
    Ok(NfsStatus::from_code(reader.u32()?).map_or(Ok(()), Err))
}

/// Head of a successful READ (RFC 1813, 3.3.6: `READ3resok`), up to the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadHead {
    /// Bytes read.
    pub count: u32,
    /// True if they reach the end of the file.
    pub eof: bool,
}

impl ReadHead {
    /// Decodes it; the data follow, padded. A length other than the count is an error.
    #[inline]
    pub fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        skip_optional(reader)?;
        let count = reader.u32()?;
        let eof = reader.boolean("eof")?;
        match reader.u32()? {
            len if len == count => Ok(Self { count, eof }),
            value => Err(XdrError::BadValue { field: "READ data length", value }),
        }
    }
}

/// A successful WRITE (RFC 1813, 3.3.7: `WRITE3resok`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Number of bytes written.
    pub count: u32,
    /// How durably they are stored.
    pub committed: StableHow,
    /// Write verifier of the server.
    pub verifier: WriteVerifier,
}

impl Written {
    /// Decodes it.
    #[inline]
    pub fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        skip_wcc(reader)?;
        Ok(Self { count: reader.u32()?, committed: StableHow::get(reader)?, verifier: reader.array()? })
    }
}

/// Decodes a successful COMMIT (RFC 1813, 3.3.21: `COMMIT3resok`).
pub fn get_commit(reader: &mut Reader<'_>) -> Result<WriteVerifier, XdrError> {
    skip_wcc(reader)?;
    reader.array()
}

/// A successful LOOKUP (RFC 1813, 3.3.3) or, with the handle optional, CREATE and MKDIR (3.3.8, 3.3.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The object.
    pub handle: Option<FileHandle>,
    /// Its attributes.
    pub attributes: Option<FileAttributes>,
}

impl Found {
    /// Decodes `LOOKUP3resok`.
    pub fn get_lookup(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        let handle = Some(FileHandle::get(reader)?);
        let attributes = FileAttributes::get_optional(reader)?;
        skip_optional(reader)?;
        Ok(Self { handle, attributes })
    }

    /// Decodes `CREATE3resok` or `MKDIR3resok`.
    pub fn get_created(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        let handle = FileHandle::get_optional(reader)?;
        let attributes = FileAttributes::get_optional(reader)?;
        skip_wcc(reader)?;
        Ok(Self { handle, attributes })
    }
}

/// Limits of a file system (RFC 1813, 3.3.19: `FSINFO3resok`), in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FsInfo {
    /// Largest READ.
    pub read_max: u32,
    /// Preferred READ.
    pub read_preferred: u32,
    /// Largest WRITE.
    pub write_max: u32,
    /// Preferred WRITE.
    pub write_preferred: u32,
    /// Preferred READDIR.
    pub directory_preferred: u32,
    /// Largest file.
    pub max_file_size: u64,
}

impl FsInfo {
    /// The limits of a transport whose messages carry at most this many bytes of data.
    #[must_use]
    pub fn at_most(self, bytes: u32) -> Self {
        Self {
            read_max: self.read_max.min(bytes),
            read_preferred: self.read_preferred.min(bytes),
            write_max: self.write_max.min(bytes),
            write_preferred: self.write_preferred.min(bytes),
            directory_preferred: self.directory_preferred.min(bytes),
            ..self
        }
    }

    /// Decodes it.
    pub fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        skip_optional(reader)?;
        let read_max = reader.u32()?;
        let read_preferred = reader.u32()?;
        reader.u32()?;
        let write_max = reader.u32()?;
        let write_preferred = reader.u32()?;
        reader.u32()?;
        Ok(Self {
            read_max,
            read_preferred,
            write_max,
            write_preferred,
            directory_preferred: reader.u32()?,
            max_file_size: reader.u64()?,
        })
    }
}

/// Space of a file system in bytes (RFC 1813, 3.3.18: `FSSTAT3resok`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FsStat {
    /// Its size.
    pub total: u64,
    /// Bytes available to this user.
    pub available: u64,
}

impl FsStat {
    /// Decodes it.
    pub fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        skip_optional(reader)?;
        let total = reader.u64()?;
        // Free bytes, some of which may be reserved.
        reader.u64()?;
        Ok(Self { total, available: reader.u64()? })
    }
}

/// One entry of READDIRPLUS (RFC 1813, 3.3.17: `entryplus3`) or, without attributes and handle, of READDIR (3.3.16:
/// `entry3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedEntry<'a> {
    /// Its name, in the server's encoding.
    pub name: &'a [u8],
    /// Cookie that continues the listing after this entry.
    pub cookie: u64,
    /// Its attributes.
    pub attributes: Option<FileAttributes>,
    /// Its handle.
    pub handle: Option<FileHandle>,
}

/// Passes every entry of a successful READDIRPLUS (RFC 1813, 3.3.17: `READDIRPLUS3resok`) or READDIR (3.3.16:
/// `READDIR3resok`) to `each`. Returns the cookie verifier, and true at the end of the directory.
pub fn get_listing<'a>(
    reader: &mut Reader<'a>,
    plus: bool,
    mut each: impl FnMut(ListedEntry<'a>),
) -> Result<([u8; 8], bool), XdrError> {
    skip_optional(reader)?;
    let verifier = reader.array()?;
    while reader.boolean("entry follows")? {
        // The file's number.
        reader.u64()?;
        // The message limits the length of a name.
        let name = reader.opaque("name", reader.rest().len())?;
        let cookie = reader.u64()?;
        let attributes = if plus { FileAttributes::get_optional(reader)? } else { None };
        let handle = if plus { FileHandle::get_optional(reader)? } else { None };
        each(ListedEntry { name, cookie, attributes, handle });
    }
    Ok((verifier, reader.boolean("end of directory")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdr::Writer;
    use proptest::prelude::*;

    #[test]
    fn a_read_head_without_attributes_is_16_bytes() {
        let mut writer = Writer::default();
        // RFC 1813, 3.3.6: no attributes, count, eof, length of the data.
        writer.words(&[0, 5, 1, 5]);
        let head = ReadHead::get(&mut Reader::new(writer.as_slice())).unwrap();
        assert_eq!(head, ReadHead { count: 5, eof: true });
        writer.patch(12, 6);
        assert!(ReadHead::get(&mut Reader::new(writer.as_slice())).is_err());
    }

    #[test]
    fn fsinfo_takes_its_fields_in_the_order_of_rfc_1813_section_3_3_19() {
        let mut writer = Writer::default();
        (0..8).for_each(|word| writer.u32(word));
        writer.u64(1 << 50);
        let info = FsInfo::get(&mut Reader::new(writer.as_slice())).unwrap();
        assert_eq!((info.read_max, info.read_preferred), (1, 2));
        assert_eq!((info.write_max, info.write_preferred), (4, 5));
        assert_eq!((info.directory_preferred, info.max_file_size), (7, 1 << 50));
    }

    proptest! {
        #[test]
        fn garbage_results_cause_no_panic(
            bytes in proptest::collection::vec(prop_oneof![3 => Just(0u8), 1 => Just(1u8), 2 => any::<u8>()], 0..300),
        ) {
            let reader = Reader::new(&bytes);
            let _ = get_status(&mut reader.clone());
            let _ = ReadHead::get(&mut reader.clone());
            let _ = Written::get(&mut reader.clone());
            let _ = get_commit(&mut reader.clone());
            let _ = Found::get_lookup(&mut reader.clone());
            let _ = Found::get_created(&mut reader.clone());
            let _ = FsInfo::get(&mut reader.clone());
            let _ = FsStat::get(&mut reader.clone());
            for plus in [false, true] {
                let mut total = 0;
                let _ = get_listing(&mut reader.clone(), plus, |entry| total += entry.name.len());
                prop_assert!(total <= bytes.len());
            }
        }
    }
}
