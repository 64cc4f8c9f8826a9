//! Classic file calls on open files and on names (docs/protocols/ncp.md 3.2).

use super::bytes::message;
use super::dos::BeTimeDate;
use super::{After, Be16, Be32, DosTime, FileHandle, Payload, Pstr, Raw, U8};

message! {
    [
        /// 0x3B: commits a file; the reply follows when the data is on disk (docs/protocols/ncp.md 3.2).
        CommitFile,
        /// 0x3D: the older form of [`CommitFile`] (docs/protocols/ncp.md 3.2).
        CommitFileOld,
        /// 0x42: closes a file (docs/protocols/ncp.md 3.2).
        CloseFile,
        /// 0x47: requests [`FileSize`] (docs/protocols/ncp.md 3.2).
        GetFileSize,
    ] {
        /// The open file.
        file: FileHandle as After<1, FileHandle>,
    }
}

message! {
    /// Reply to 0x47 (docs/protocols/ncp.md 3.2).
    FileSize {
        /// Bytes of the file.
        size: u32 as Be32,
    }
}

message! {
    /// 0x48: reads; the reply is [`crate::wire::ReadReply`] (docs/protocols/ncp.md 3.2).
    ReadFile {
        /// The open file.
        file: FileHandle as After<1, FileHandle>,
        /// Offset in bytes.
        offset: u32 as Be32,
        /// Count in bytes.
        count: u16 as Be16,
    }
}

message! {
    /// 0x49: writes; a write of 0 bytes sets the file size to the offset (docs/protocols/ncp.md 3.2).
    WriteFile<'a> {
        /// The open file.
        file: FileHandle as After<1, FileHandle>,
        /// Offset in bytes.
        offset: u32 as Be32,
        /// The data.
        data: Payload<'a> as Payload<'a>,
    }
}

message! {
    /// 0x4A: copies data between two files on the server (docs/protocols/ncp.md 3.2).
    CopyFile {
        /// Source file.
        source: FileHandle as After<1, FileHandle>,
        /// Target file.
        target: FileHandle as FileHandle,
        /// Source offset in bytes.
        source_offset: u32 as Be32,
        /// Target offset in bytes.
        target_offset: u32 as Be32,
        /// Count in bytes.
        count: u32 as Be32,
    }
}

message! {
    /// Reply to 0x4A (docs/protocols/ncp.md 3.2).
    CopiedBytes {
        /// Bytes copied.
        count: u32 as Be32,
    }
}

message! {
    /// 0x4B: sets the modification time (docs/protocols/ncp.md 3.2).
    SetFileTime {
        /// The open file.
        file: FileHandle as After<1, FileHandle>,
        /// The new time.
        modified: DosTime as BeTimeDate,
    }
}

message! {
    /// 0x4C: opens a file (docs/protocols/ncp.md 3.2).
    OpenFile<'a> {
        /// Directory handle.
        directory: u8 as U8,
        /// Search attributes.
        search: u8 as U8,
        /// Requested access.
        access: u8 as U8,
        /// Path.
        path: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    [
        /// 0x43: creates and opens a file; an existing file is overwritten (docs/protocols/ncp.md 3.2).
        CreateFile<'a>,
        /// 0x4D: creates and opens a file; fails if it exists (docs/protocols/ncp.md 3.2).
        CreateNewFile<'a>,
    ] {
        /// Directory handle.
        directory: u8 as U8,
        /// Attributes of the new file.
        attributes: u8 as U8,
        /// Path.
        path: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// 0x54: opens or creates a file (docs/protocols/ncp.md 3.2).
    OpenOrCreateFile<'a> {
        /// Directory handle.
        directory: u8 as U8,
        /// Search attributes, and attributes of a new file.
        attributes: u8 as U8,
        /// Requested access.
        access: u8 as U8,
        /// Action: 1 open, 2 replace, 8 create.
        action: u8 as U8,
        /// Path.
        path: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// Reply to 0x43, 0x4C, 0x4D and 0x54: handle and [`FileEntry`] (docs/protocols/ncp.md 3.2).
    OpenedFile {
        /// The open file.
        file: FileHandle as FileHandle,
        /// Name and information of the file.
        entry: FileEntry as After<2, FileEntry>,
    }
}

message! {
    /// A file in the classic calls (docs/protocols/ncp.md 3.2).
    FileEntry {
        /// DOS name, padded with NUL.
        name: [u8; 14] as Raw<14>,
        /// Attributes.
        attributes: u8 as U8,
        /// Execute type; 0.
        execute: u8 as U8,
        /// Bytes of the file.
        size: u32 as Be32,
        /// DOS date of creation.
        created: u16 as Be16,
        /// DOS date of the last access.
        accessed: u16 as Be16,
        /// Time of the last modification.
        modified: DosTime as super::dos::BeDateTime,
    }
}

message! {
    /// 0x44: deletes the files that match a path with wildcards (docs/protocols/ncp.md 3.2).
    EraseFile<'a> {
        /// Directory handle.
        directory: u8 as U8,
        /// Search attributes.
        search: u8 as U8,
        /// Path.
        path: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// 0x45: renames a file (docs/protocols/ncp.md 3.2).
    RenameFile<'a> {
        /// Directory handle of the old path.
        directory: u8 as U8,
        /// Search attributes.
        search: u8 as U8,
        /// Old path.
        path: Pstr<'a> as Pstr<'a>,
        /// Directory handle of the new path.
        new_directory: u8 as U8,
        /// New path.
        new_path: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// 0x46: sets the attributes of the files that match a path with wildcards (docs/protocols/ncp.md 3.2).
    SetFileAttributes<'a> {
        /// The new attributes.
        attributes: u8 as U8,
        /// Directory handle.
        directory: u8 as U8,
        /// Search attributes.
        search: u8 as U8,
        /// Path.
        path: Pstr<'a> as Pstr<'a>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Codec;
    use crate::wire::tests::{bytes, hex};

    const FILE: FileHandle = FileHandle([0, 0, 1, 0, 0, 0]);

    fn path(text: &str) -> Pstr<'_> {
        Pstr::new(text.as_bytes()).unwrap()
    }

    /// docs/protocols/ncp.md 3.2; mars-server-ipx-in-udp-with-burst.pcap, frames 59, 61, 73, 57 and 58.
    #[test]
    fn handle_calls_have_a_reserved_byte() {
        let wire = hex("00 000001000000");
        assert_eq!(bytes::<CommitFile>(&CommitFile { file: FILE }), wire);
        assert_eq!(bytes::<CommitFileOld>(&CommitFileOld { file: FILE }), wire);
        assert_eq!(bytes::<CloseFile>(&CloseFile { file: FILE }), wire);
        assert_eq!(bytes::<GetFileSize>(&GetFileSize { file: FILE }), wire);
        assert_eq!(FileSize::decode(&hex("00001003")), Ok(FileSize { size: 4099 }));
    }

    /// docs/protocols/ncp.md 3.2; mars-server-ipx-in-udp-with-burst.pcap, frames 53 and 67.
    #[test]
    fn read_and_write_calls_match_captures() {
        let read = ReadFile { file: FILE, offset: 0x401, count: 0x1ff };
        assert_eq!(bytes::<ReadFile>(&read), hex("00 000001000000 00000401 01ff"));
        let truncate = WriteFile { file: FILE, offset: 100, data: Payload::default() };
        assert_eq!(bytes::<WriteFile>(&truncate), hex("00 000001000000 00000064 0000"));
        let write = WriteFile { data: Payload::new(b"ab").unwrap(), ..truncate };
        assert_eq!(bytes::<WriteFile>(&write), hex("00 000001000000 00000064 0002 6162"));
    }

    /// docs/protocols/ncp.md 3.2: 0x4A and 0x4B, from the description alone.
    #[test]
    fn copy_and_set_time_calls_match_the_document() {
        let copy = CopyFile { source: FILE, target: FILE, source_offset: 1, target_offset: 2, count: 3 };
        let wire = hex("00 000001000000 000001000000 00000001 00000002 00000003");
        assert_eq!(bytes::<CopyFile>(&copy), wire);
        assert_eq!(CopiedBytes::decode(&hex("00000003")), Ok(CopiedBytes { count: 3 }));
        let time = SetFileTime { file: FILE, modified: DosTime { date: 0x5d75, time: 0x0e65 } };
        assert_eq!(bytes::<SetFileTime>(&time), hex("00 000001000000 0e65 5d75"));
    }

    /// docs/protocols/ncp.md 3.2; mars-server-ipx-in-udp-with-burst.pcap, frames 33, 34 and 117.
    #[test]
    fn open_and_create_calls_match_captures() {
        let open = OpenFile { directory: 2, search: 6, access: 1, path: path("NOPE.DAT") };
        assert_eq!(bytes::<OpenFile>(&open), hex("020601084e4f50452e444154"));
        let create = CreateFile { directory: 2, attributes: 0, path: path("BENCH.DAT") };
        assert_eq!(bytes::<CreateFile>(&create), hex("02000942454e43482e444154"));
        let create = CreateNewFile { directory: 2, attributes: 0, path: path("BENCH.DAT") };
        assert_eq!(bytes::<CreateNewFile>(&create), hex("02000942454e43482e444154"));
        let either = OpenOrCreateFile { directory: 2, attributes: 6, access: 3, action: 9, path: path("A") };
        assert_eq!(bytes::<OpenOrCreateFile>(&either), hex("020603090141"));
        let wire = hex("0000010000000000 42454e43482e4441540000000000 20 00 00000000 5d75 5d75 5d75 0e65");
        let opened = OpenedFile::decode(&wire).unwrap();
        assert_eq!((opened.file, &opened.entry.name), (FILE, b"BENCH.DAT\0\0\0\0\0"));
        assert_eq!((opened.entry.attributes, opened.entry.size), (0x20, 0));
        assert_eq!((wire.len(), bytes::<OpenedFile>(&opened)), (36, wire));
    }

    /// docs/protocols/ncp.md 3.2; mars-server-ipx-in-udp-with-burst.pcap, frame 115; 0x45 and 0x46 from the
    /// description alone.
    #[test]
    fn erase_rename_and_attribute_calls_match_captures() {
        let erase = EraseFile { directory: 2, search: 6, path: path("BENCH.DAT") };
        assert_eq!(bytes::<EraseFile>(&erase), hex("02060942454e43482e444154"));
        let rename =
            RenameFile { directory: 2, search: 6, path: path("A"), new_directory: 2, new_path: path("B") };
        assert_eq!(bytes::<RenameFile>(&rename), hex("02060141 020142"));
        let mark = SetFileAttributes { attributes: 1, directory: 2, search: 6, path: path("A") };
        assert_eq!(bytes::<SetFileAttributes>(&mark), hex("0102060141"));
    }
}
