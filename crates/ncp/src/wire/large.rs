//! Calls with 64-bit offsets; the server information states whether a server supports them (docs/protocols/ncp.md
//! 3.5).

use super::bytes::message;
use super::{Be16, Be32, Be64, Codec, FileHandle, Le32, Le64, Payload, Reader, ShortHandle, WireError};

message! {
    /// 87/64: reads; the reply is [`crate::wire::ReadReply`] (docs/protocols/ncp.md 3.5).
    ReadLarge {
        /// The open file.
        file: ShortHandle as ShortHandle,
        /// Offset in bytes.
        offset: u64 as Be64,
        /// Count in bytes.
        count: u16 as Be16,
    }
}

message! {
    /// 87/65: writes (docs/protocols/ncp.md 3.5).
    WriteLarge<'a> {
        /// The open file.
        file: ShortHandle as ShortHandle,
        /// Offset in bytes.
        offset: u64 as Be64,
        /// The data.
        data: Payload<'a> as Payload<'a>,
    }
}

message! {
    /// 87/66: requests [`LargeSize`] (docs/protocols/ncp.md 3.5).
    GetLargeSize {
        /// The open file.
        file: ShortHandle as ShortHandle,
    }
}

message! {
    /// Reply to 87/66; little-endian, as libncp reads it (docs/protocols/ncp.md 3.5).
    LargeSize {
        /// Bytes of the file.
        size: u64 as Le64,
    }
}

message! {
    /// 87/67: logs a range, and locks it if the flag says so. The flag is little-endian, as libncp sends it
    /// (docs/protocols/ncp.md 3.5).
    LockLarge {
        /// See [`super::lock::flag`].
        flag: u32 as Le32,
        /// The open file.
        file: ShortHandle as ShortHandle,
        /// First byte of the range.
        start: u64 as Be64,
        /// Bytes of the range.
        length: u64 as Be64,
        /// Timeout in ticks of 1/18 s; 0 does not wait.
        timeout: u32 as Be32,
    }
}

message! {
    [
        /// 87/68: unlocks a range and keeps it logged (docs/protocols/ncp.md 3.5).
        ReleaseLarge,
        /// 87/69: unlocks a range and removes it from the log (docs/protocols/ncp.md 3.5).
        ClearLarge,
    ] {
        /// The open file.
        file: ShortHandle as ShortHandle,
        /// First byte of the range.
        start: u64 as Be64,
        /// Bytes of the range.
        length: u64 as Be64,
    }
}

message! {
    /// 87/70: copies data between two files on the server (docs/protocols/ncp.md 3.5).
    CopyLarge {
        /// Source file.
        source: FileHandle as FileHandle,
        /// Target file.
        target: FileHandle as FileHandle,
        /// Source offset in bytes.
        source_offset: u64 as Be64,
        /// Target offset in bytes.
        target_offset: u64 as Be64,
        /// Count in bytes.
        count: u64 as Be64,
    }
}

message! {
    /// Reply to 87/70 (docs/protocols/ncp.md 3.5).
    CopiedLarge {
        /// Bytes copied.
        count: u64 as Be64,
    }
}

message! {
    /// 87/72: reads; the reply is [`LongData`] (docs/protocols/ncp.md 3.5).
    ReadLong {
        /// The open file.
        file: ShortHandle as ShortHandle,
        /// Offset in bytes.
        offset: u64 as Be64,
        /// Count in bytes.
        count: u32 as Be32,
    }
}

message! {
    /// 87/73: writes (docs/protocols/ncp.md 3.5).
    WriteLong<'a> {
        /// The open file.
        file: ShortHandle as ShortHandle,
        /// Offset in bytes.
        offset: u64 as Be64,
        /// The data.
        data: LongData<'a> as LongData<'a>,
    }
}

/// File data after its big-endian count of four bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct LongData<'a>(pub &'a [u8]);

impl<'a> Codec<'a> for LongData<'a> {
    type Value = Self;

    fn put(value: &Self, out: &mut Vec<u8>) {
        // No message approaches 4 GiB.
        Be32::put(&(value.0.len() as u32), out);
        out.extend_from_slice(value.0);
    }

    fn get(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let len = reader.get::<Be32>()?;
        reader.take(len as usize).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::{bytes, hex};

    const FILE: ShortHandle = ShortHandle([1, 0, 0, 0]);

    /// docs/protocols/ncp.md 3.5; libncp-client-udp-tcp-signed.pcap, frames 47, 49, 45 and 46: one byte beyond 4 GiB.
    #[test]
    fn calls_have_offsets_beyond_4_gib() {
        let read = ReadLarge { file: FILE, offset: (1 << 32) + 1, count: 100 };
        assert_eq!(bytes::<ReadLarge>(&read), hex("01000000 0000000100000001 0064"));
        let write = WriteLarge { file: FILE, offset: (1 << 32) + 1, data: Payload::new(&[7]).unwrap() };
        assert_eq!(bytes::<WriteLarge>(&write), hex("01000000 0000000100000001 0001 07"));
        assert_eq!(bytes::<GetLargeSize>(&GetLargeSize { file: FILE }), hex("01000000"));
        assert_eq!(LargeSize::decode(&hex("8813000000000000")), Ok(LargeSize { size: 5000 }));
    }

    /// docs/protocols/ncp.md 3.5; libncp-client-udp-tcp-signed.pcap, frames 51 and 53.
    #[test]
    fn lock_and_release_calls_match_captures() {
        let lock = LockLarge { flag: 1, file: FILE, start: 0, length: 100, timeout: 0 };
        assert_eq!(
            bytes::<LockLarge>(&lock),
            hex("01000000 01000000 0000000000000000 0000000000000064 00000000")
        );
        let wire = hex("01000000 0000000000000000 0000000000000064");
        assert_eq!(bytes::<ClearLarge>(&ClearLarge { file: FILE, start: 0, length: 100 }), wire);
        assert_eq!(bytes::<ReleaseLarge>(&ReleaseLarge { file: FILE, start: 0, length: 100 }), wire);
    }

    /// docs/protocols/ncp.md 3.5: 70, 72 and 73, from the description alone.
    #[test]
    fn long_calls_have_counts_of_four_and_eight_bytes() {
        let file = FileHandle::of_server(FILE);
        let copy = CopyLarge { source: file, target: file, source_offset: 1, target_offset: 2, count: 3 };
        let wire = hex("000001000000 000001000000 0000000000000001 0000000000000002 0000000000000003");
        assert_eq!(bytes::<CopyLarge>(&copy), wire);
        assert_eq!(CopiedLarge::decode(&hex("0000000100000000")), Ok(CopiedLarge { count: 1 << 32 }));
        let read = ReadLong { file: FILE, offset: 1 << 32, count: 0x1_0000 };
        assert_eq!(bytes::<ReadLong>(&read), hex("01000000 0000000100000000 00010000"));
        let write = WriteLong { file: FILE, offset: 1, data: LongData(b"ab") };
        let wire = hex("01000000 0000000000000001 00000002 6162");
        assert_eq!(bytes::<WriteLong>(&write), wire);
        assert_eq!(WriteLong::decode(&wire), Ok(write));
        assert!(LongData::decode(&hex("ffffffff 6162")).is_err());
    }
}
