//! Locks on byte ranges of open files, and sets of them (docs/protocols/ncp.md 3.3).

use super::bytes::message;
use super::{Be16, Be32, Codec, FileHandle, Reader, U8, WireError};

/// Values of the flag of a lock call.
#[expect(missing_docs, reason = "the names are the field's")]
pub mod flag {
    pub const LOG_ONLY: u8 = 0;
    pub const EXCLUSIVE: u8 = 1;
    pub const SHARED: u8 = 3;
}

message! {
    [
        /// 0x1A: logs a range, and locks it if the flag says so (docs/protocols/ncp.md 3.3).
        LockRecord,
        /// 0x6D: the newer form of [`LockRecord`] (docs/protocols/ncp.md 3.3).
        LockRecordNew,
    ] {
        /// See [`flag`].
        flag: u8 as U8,
        /// The open file.
        file: FileHandle as FileHandle,
        /// First byte of the range.
        start: u32 as Be32,
        /// Bytes of the range.
        length: u32 as Be32,
        /// Timeout in ticks of 1/18 s; 0 does not wait.
        timeout: u16 as Be16,
    }
}

/// A range of an open file to unlock. libncp omits the reserved first byte, so a call of 14 bytes is accepted as well
/// (docs/protocols/ncp.md 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Range {
    /// The open file.
    pub file: FileHandle,
    /// First byte of the range.
    pub start: u32,
    /// Bytes of the range.
    pub length: u32,
}

impl Codec<'_> for Range {
    type Value = Self;

    fn put(value: &Self, out: &mut Vec<u8>) {
        out.push(0);
        FileHandle::put(&value.file, out);
        Be32::put(&value.start, out);
        Be32::put(&value.length, out);
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        if reader.rest().len() != 14 {
            reader.get::<U8>()?;
        }
        Ok(Self {
            file: reader.get::<FileHandle>()?,
            start: reader.get::<Be32>()?,
            length: reader.get::<Be32>()?,
        })
    }
}

message! {
    /// 0x1C: unlocks a range and keeps it logged (docs/protocols/ncp.md 3.3).
    ReleaseRecord {
        /// The range.
        range: Range as Range,
    }
}

message! {
    /// 0x1E: unlocks a range and removes it from the log (docs/protocols/ncp.md 3.3).
    ClearRecord {
        /// The range.
        range: Range as Range,
    }
}

message! {
    [
        /// 0x1B: locks all logged ranges of the task (docs/protocols/ncp.md 3.3).
        LockRecordSet,
        /// 0x6E: the newer form of [`LockRecordSet`] (docs/protocols/ncp.md 3.3).
        LockRecordSetNew,
    ] {
        /// See [`flag`].
        flag: u8 as U8,
        /// Timeout in ticks of 1/18 s; 0 does not wait.
        timeout: u16 as Be16,
    }
}

message! {
    /// 0x1D: unlocks all logged ranges of the task (docs/protocols/ncp.md 3.3).
    ReleaseRecordSet {}
}

message! {
    /// 0x1F: unlocks all logged ranges of the task and clears the log (docs/protocols/ncp.md 3.3).
    ClearRecordSet {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::{bytes, hex};

    const FILE: FileHandle = FileHandle([0, 0, 1, 0, 0, 0]);

    /// docs/protocols/ncp.md 3.3; mars-server-ipx-in-udp-with-burst.pcap, frame 63.
    #[test]
    fn lock_calls_match_captures() {
        let wire = hex("01 000001000000 00000000 00000064 0000");
        let lock = LockRecord { flag: flag::EXCLUSIVE, file: FILE, start: 0, length: 100, timeout: 0 };
        assert_eq!(bytes::<LockRecord>(&lock), wire);
        let lock = LockRecordNew { flag: flag::EXCLUSIVE, file: FILE, start: 0, length: 100, timeout: 0 };
        assert_eq!(bytes::<LockRecordNew>(&lock), wire);
    }

    /// docs/protocols/ncp.md 3.3; mars-server-ipx-in-udp-with-burst.pcap, frame 65;
    /// libncp-client-udp-tcp-unsigned.pcap, frame 51.
    #[test]
    fn clear_call_decodes_with_and_without_reserved_byte() {
        let range = Range { file: FILE, start: 0, length: 100 };
        let wire = hex("00 000001000000 00000000 00000064");
        assert_eq!(bytes::<ClearRecord>(&ClearRecord { range }), wire);
        assert_eq!(bytes::<ReleaseRecord>(&ReleaseRecord { range }), wire);
        assert_eq!(ClearRecord::decode(&wire[1..]), Ok(ClearRecord { range }));
        assert_eq!(ReleaseRecord::decode(&wire), Ok(ReleaseRecord { range }));
        assert!(ClearRecord::decode(&wire[2..]).is_err());
    }

    /// docs/protocols/ncp.md 3.3: from the description alone.
    #[test]
    fn lock_set_calls_match_the_document() {
        let set = LockRecordSet { flag: flag::SHARED, timeout: 18 };
        assert_eq!(bytes::<LockRecordSet>(&set), hex("030012"));
        let set = LockRecordSetNew { flag: flag::SHARED, timeout: 18 };
        assert_eq!(bytes::<LockRecordSetNew>(&set), hex("030012"));
        assert!(bytes::<ReleaseRecordSet>(&ReleaseRecordSet {}).is_empty());
        assert!(bytes::<ClearRecordSet>(&ClearRecordSet {}).is_empty());
    }
}
