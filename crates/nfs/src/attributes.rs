//! File attributes of NFSv3 (RFC 1813, 2.5 and 2.6), read and written.

use crate::xdr::{Reader, Writer, XdrError};

/// Bytes of `fattr3` on the wire.
pub const ATTRIBUTE_BYTES: usize = 84;

/// Kind of a file (RFC 1813, 2.5.5: `ftype3`), as far as this crate distinguishes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// `NF3REG`.
    Regular,
    /// `NF3DIR`.
    Directory,
    /// Devices, links, sockets: its number.
    Other(u32),
}

impl FileKind {
    /// The kind in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Regular => "a file",
            Self::Directory => "a directory",
            Self::Other(3) => "a block device",
            Self::Other(4) => "a character device",
            Self::Other(5) => "a symbolic link, which sharebench does not follow",
            Self::Other(6) => "a socket",
            Self::Other(7) => "a named pipe",
            Self::Other(_) => "a special file",
        }
    }

    /// Why a walk cannot continue at the name of a node of this kind.
    pub fn not_a_directory(self, name: &str) -> String {
        format!("'{name}' is not a directory but {}", self.name())
    }

    const fn code(self) -> u32 {
        match self {
            Self::Regular => 1,
            Self::Directory => 2,
            Self::Other(code) => code,
        }
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        match reader.u32()? {
            1 => Ok(Self::Regular),
            2 => Ok(Self::Directory),
            value if (3..=7).contains(&value) || reader.is_of_capture() => Ok(Self::Other(value)),
            value => Err(XdrError::BadValue { field: "file type", value }),
        }
    }
}

/// Seconds and nanoseconds since 1970 (RFC 1813, 2.5.4: `nfstime3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct NfsTime {
    /// Seconds.
    pub seconds: u32,
    /// Nanoseconds.
    pub nanos: u32,
}

impl NfsTime {
    /// Decodes it.
    pub fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        Ok(Self { seconds: reader.u32()?, nanos: reader.u32()? })
    }

    /// Encodes it.
    pub fn put(self, writer: &mut Writer) {
        writer.u32(self.seconds);
        writer.u32(self.nanos);
    }
}

/// Attributes of a file (RFC 1813, 2.5.5: `fattr3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileAttributes {
    /// Kind of the file.
    pub kind: FileKind,
    /// Permission bits.
    pub mode: u32,
    /// Number of names.
    pub links: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Length in bytes.
    pub size: u64,
    /// Allocated bytes.
    pub used: u64,
    /// File system.
    pub fsid: u64,
    /// Number of the file in its file system.
    pub file_id: u64,
    /// Last access.
    pub accessed: NfsTime,
    /// Last change of content.
    pub modified: NfsTime,
    /// Last change of attributes.
    pub changed: NfsTime,
}

impl FileAttributes {
    /// Decodes them.
    pub fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        let kind = FileKind::get(reader)?;
        let mode = reader.u32()?;
        let links = reader.u32()?;
        let uid = reader.u32()?;
        let gid = reader.u32()?;
        let size = reader.u64()?;
        let used = reader.u64()?;
        // The device numbers.
        reader.u64()?;
        Ok(Self {
            kind,
            mode,
            links,
            uid,
            gid,
            size,
            used,
            fsid: reader.u64()?,
            file_id: reader.u64()?,
            accessed: NfsTime::get(reader)?,
            modified: NfsTime::get(reader)?,
            changed: NfsTime::get(reader)?,
        })
    }

    /// Decodes `post_op_attr` (RFC 1813, 2.6).
    pub fn get_optional(reader: &mut Reader<'_>) -> Result<Option<Self>, XdrError> {
        reader.boolean("attributes follow")?.then(|| Self::get(reader)).transpose()
    }

    /// Encodes them.
    pub fn put(&self, writer: &mut Writer) {
        // Nearly every reply of the server holds attributes, so they are written into reserved space at once
        // instead of by 16 checked appends.
        let space = writer.spare(ATTRIBUTE_BYTES);
        let times = [self.accessed, self.modified, self.changed];
        let head = [self.kind.code(), self.mode, self.links, self.uid, self.gid];
        let long = [self.size, self.used, 0, self.fsid, self.file_id];
        let words = head.into_iter().map(u32::to_be_bytes);
        let (front, back) = space.split_at_mut(20);
        front.chunks_exact_mut(4).zip(words).for_each(|(place, word)| place.copy_from_slice(&word));
        let (middle, end) = back.split_at_mut(40);
        let longs = long.into_iter().map(u64::to_be_bytes);
        middle.chunks_exact_mut(8).zip(longs).for_each(|(place, word)| place.copy_from_slice(&word));
        let times = times.into_iter().flat_map(|time| [time.seconds, time.nanos]).map(u32::to_be_bytes);
        end.chunks_exact_mut(4).zip(times).for_each(|(place, word)| place.copy_from_slice(&word));
        writer.advance(ATTRIBUTE_BYTES);
    }
}

/// Skips `post_op_attr` without decoding it, because the reply of a READ needs none of it.
#[inline]
pub fn skip_optional(reader: &mut Reader<'_>) -> Result<(), XdrError> {
    if reader.boolean("attributes follow")? {
        reader.take(ATTRIBUTE_BYTES)?;
    }
    Ok(())
}

/// Attributes of a file before an operation changed it (RFC 1813, 2.6: `wcc_attr`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttributesBefore {
    /// Length in bytes.
    pub size: u64,
    /// Last change of content.
    pub modified: NfsTime,
    /// Last change of attributes.
    pub changed: NfsTime,
}

impl AttributesBefore {
    /// Decodes `pre_op_attr`, the first half of `wcc_data`; the second half is [`FileAttributes::get_optional`].
    pub fn get_optional(reader: &mut Reader<'_>) -> Result<Option<Self>, XdrError> {
        if !reader.boolean("attributes before follow")? {
            return Ok(None);
        }
        let size = reader.u64()?;
        Ok(Some(Self { size, modified: NfsTime::get(reader)?, changed: NfsTime::get(reader)? }))
    }
}

/// Skips `wcc_data` (RFC 1813, 2.6).
#[inline]
pub fn skip_wcc(reader: &mut Reader<'_>) -> Result<(), XdrError> {
    if reader.boolean("attributes before follow")? {
        // Size, mtime, ctime.
        reader.take(24)?;
    }
    skip_optional(reader)
}

/// A time to set (RFC 1813, 2.5.3: `set_atime`, `set_mtime`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetTime {
    /// The server's clock.
    ServerTime,
    /// The client's choice.
    ClientTime(NfsTime),
}

/// Attributes to set (RFC 1813, 2.5.3: `sattr3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SetFileAttributes {
    /// Permission bits.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Length.
    pub size: Option<u64>,
    /// Last access.
    pub accessed: Option<SetTime>,
    /// Last change of content.
    pub modified: Option<SetTime>,
}

impl SetFileAttributes {
    /// Decodes them.
    pub fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        let set = Self::get_up_to_size(reader)?;
        Ok(Self { accessed: get_set_time(reader)?, modified: get_set_time(reader)?, ..set })
    }

    /// Decodes all but the times, which follow: a captured message may end before them.
    pub fn get_up_to_size(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        let mut word = |field| -> Result<Option<u32>, XdrError> {
            reader.boolean(field)?.then(|| reader.u32()).transpose()
        };
        let mode = word("set mode")?;
        let uid = word("set uid")?;
        let gid = word("set gid")?;
        let size = reader.boolean("set size")?.then(|| reader.u64()).transpose()?;
        Ok(Self { mode, uid, gid, size, ..Self::default() })
    }

    /// Encodes them.
    pub fn put(&self, writer: &mut Writer) {
        for word in [self.mode, self.uid, self.gid] {
            writer.boolean(word.is_some());
            if let Some(word) = word {
                writer.u32(word);
            }
        }
        writer.boolean(self.size.is_some());
        if let Some(size) = self.size {
            writer.u64(size);
        }
        for time in [self.accessed, self.modified] {
            match time {
                None => writer.u32(0),
                Some(SetTime::ServerTime) => writer.u32(1),
                Some(SetTime::ClientTime(time)) => {
                    writer.u32(2);
                    time.put(writer);
                }
            }
        }
    }
}

fn get_set_time(reader: &mut Reader<'_>) -> Result<Option<SetTime>, XdrError> {
    match reader.u32()? {
        0 => Ok(None),
        1 => Ok(Some(SetTime::ServerTime)),
        2 => Ok(Some(SetTime::ClientTime(NfsTime::get(reader)?))),
        value => Err(XdrError::BadValue { field: "time_how", value }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes() -> FileAttributes {
        let time = |seconds| NfsTime { seconds, nanos: 9 };
        FileAttributes {
            kind: FileKind::Regular,
            mode: 0o644,
            links: 1,
            uid: 2,
            gid: 3,
            size: 1 << 40,
            used: 5,
            fsid: 6,
            file_id: 7,
            accessed: time(10),
            modified: time(11),
            changed: time(12),
        }
    }

    #[test]
    fn fattr3_is_84_bytes_in_the_order_of_rfc_1813_section_2_5_5() {
        let mut writer = Writer::default();
        attributes().put(&mut writer);
        let bytes = writer.as_slice();
        assert_eq!(bytes.len(), ATTRIBUTE_BYTES);
        assert_eq!(bytes[..8], [0, 0, 0, 1, 0, 0, 1, 0o244]);
        assert_eq!(bytes[20..28], (1u64 << 40).to_be_bytes());
        assert_eq!(bytes[76..], [0, 0, 0, 12, 0, 0, 0, 9]);
        assert_eq!(FileAttributes::get(&mut Reader::new(bytes)), Ok(attributes()));
    }

    #[test]
    fn wcc_data_has_size_and_times_before_the_attributes_after_it() {
        let mut writer = Writer::default();
        // RFC 1813, 2.6: attributes before, size, mtime, ctime; attributes after.
        writer.words(&[1, 0, 7, 1, 2, 3, 4, 1]);
        attributes().put(&mut writer);
        let mut reader = Reader::new(writer.as_slice());
        let [modified, changed] = [(1, 2), (3, 4)].map(|(seconds, nanos)| NfsTime { seconds, nanos });
        let before = AttributesBefore { size: 7, modified, changed };
        assert_eq!(AttributesBefore::get_optional(&mut reader), Ok(Some(before)));
        assert_eq!(FileAttributes::get_optional(&mut reader), Ok(Some(attributes())));
        let mut whole = Reader::new(writer.as_slice());
        assert_eq!((skip_wcc(&mut whole), whole.rest().len()), (Ok(()), 0));
        assert_eq!(AttributesBefore::get_optional(&mut Reader::new(&[0; 4])), Ok(None));
    }

    #[test]
    fn sattr3_round_trips() {
        let some = SetFileAttributes {
            mode: Some(0o600),
            uid: None,
            gid: Some(4),
            size: Some(1 << 33),
            accessed: Some(SetTime::ServerTime),
            modified: Some(SetTime::ClientTime(NfsTime { seconds: 1, nanos: 2 })),
        };
        for set in [some, SetFileAttributes::default()] {
            let mut writer = Writer::default();
            set.put(&mut writer);
            let mut reader = Reader::new(writer.as_slice());
            assert_eq!(SetFileAttributes::get(&mut reader), Ok(set));
            assert!(reader.rest().is_empty());
        }
    }
}
