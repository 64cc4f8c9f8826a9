//! Calls of family 0x57 on files and directories by [`HandlePath`]; searches are in [`super::name_space_search`]
//! (docs/protocols/ncp.md 3.4).

use super::bytes::message;
use super::dos::LeDateTime;
use super::{
    After, Codec, DosTime, HandlePath, Le16, Le32, NamedInfo, PathPair, Reader, Rest, ReturnMask,
    ShortHandle, U8, WireError,
};

/// Name-space ids (docs/protocols/ncp.md 3.4).
#[expect(missing_docs, reason = "the names are the field's")]
pub mod space {
    pub const DOS: u8 = 0;
    pub const MAC: u8 = 1;
    pub const NFS: u8 = 2;
    pub const LONG: u8 = 4;
}

/// Mode bits of 87/1 (docs/protocols/ncp.md 3.4).
#[expect(missing_docs, reason = "the names are the field's")]
pub mod mode {
    pub const OPEN: u8 = 0x01;
    pub const REPLACE: u8 = 0x02;
    pub const CREATE: u8 = 0x08;
    pub const LARGE: u8 = 0x20;
    pub const OPLOCK: u8 = 0x80;
}

/// Action bits in the reply to 87/1 (docs/protocols/ncp.md 3.4).
#[expect(missing_docs, reason = "the names are the field's")]
pub mod action {
    pub const OPENED: u8 = 0x01;
    pub const CREATED: u8 = 0x02;
    pub const REPLACED: u8 = 0x04;
}

message! {
    /// 87/1: opens or creates a file, or creates a directory (docs/protocols/ncp.md 3.4).
    OpenCreate<'a> {
        /// Name space of the path.
        space: u8 as U8,
        /// See [`mode`].
        mode: u8 as U8,
        /// Search attributes.
        search: u16 as Le16,
        /// Fields requested in the reply.
        mask: ReturnMask as ReturnMask,
        /// See [`super::info::extended`].
        extended: u16 as Le16,
        /// Attributes of a new entry; [`super::dos::attribute::DIRECTORY`] creates a directory.
        attributes: u32 as Le32,
        /// Requested access.
        access: u16 as Le16,
        /// The path.
        path: HandlePath<'a> as HandlePath<'a>,
    }
}

/// Reply to 87/1 (docs/protocols/ncp.md 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Opened<'a> {
    /// The open file.
    pub file: ShortHandle,
    /// See [`action`].
    pub action: u8,
    /// Information of the opened entry.
    pub entry: NamedInfo<'a>,
}

impl<'a> Opened<'a> {
    /// Appends the reply.
    pub fn put(&self, out: &mut Vec<u8>) {
        ShortHandle::put(&self.file, out);
        out.extend_from_slice(&[self.action, 0]);
        self.entry.put(out);
    }

    /// Parses the reply to a request with this mask.
    pub fn get(mask: ReturnMask, reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let file = reader.get::<ShortHandle>()?;
        let action = reader.get::<U8>()?;
        reader.take(1)?;
        Ok(Self { file, action, entry: NamedInfo::get(mask, reader)? })
    }
}

message! {
    /// 87/4: renames or moves a file or directory (docs/protocols/ncp.md 3.4).
    Rename<'a> {
        /// Name space of the paths.
        space: u8 as U8,
        /// 1: the entry itself is renamed.
        flag: u8 as U8,
        /// Search attributes.
        search: u16 as Le16,
        /// Old and new path.
        paths: PathPair<'a> as PathPair<'a>,
    }
}

message! {
    [
        /// 87/6: requests the [`NamedInfo`] of a path (docs/protocols/ncp.md 3.4).
        ObtainInfo<'a>,
        /// 87/29: requests the effective rights of the user to a path (docs/protocols/ncp.md 3.4).
        GetEntryRights<'a>,
    ] {
        /// Name space of the path.
        space: u8 as U8,
        /// Name space of the reply.
        answer_space: u8 as U8,
        /// Search attributes.
        search: u16 as Le16,
        /// Fields requested in the reply.
        mask: ReturnMask as ReturnMask,
        /// See [`super::info::extended`].
        extended: u16 as Le16,
        /// The path.
        path: HandlePath<'a> as HandlePath<'a>,
    }
}

message! {
    /// 87/5: requests the trustees of a path, from a sequence number on (docs/protocols/ncp.md 3.4).
    ScanTrustees<'a> {
        /// Name space of the path.
        space: u8 as U8,
        /// Search attributes.
        search: u16 as After<1, Le16>,
        /// Where the scan continues; 0 at its start.
        sequence: u32 as Le32,
        /// The path.
        path: HandlePath<'a> as HandlePath<'a>,
    }
}

/// Change mask bits of 87/7 (docs/protocols/ncp.md 3.4).
#[expect(missing_docs, reason = "the names are the field's")]
pub mod change {
    pub const ATTRIBUTES: u32 = 0x0002;
    pub const CREATED_DATE: u32 = 0x0004;
    pub const CREATED_TIME: u32 = 0x0008;
    pub const CREATOR: u32 = 0x0010;
    pub const ARCHIVED_DATE: u32 = 0x0020;
    pub const ARCHIVED_TIME: u32 = 0x0040;
    pub const ARCHIVER: u32 = 0x0080;
    pub const MODIFIED_DATE: u32 = 0x0100;
    pub const MODIFIED_TIME: u32 = 0x0200;
    pub const MODIFIER: u32 = 0x0400;
    pub const ACCESSED: u32 = 0x0800;
    pub const RIGHTS: u32 = 0x1000;
    pub const MAX_SPACE: u32 = 0x2000;
}

message! {
    /// 87/7: changes file information. Dates precede times here (docs/protocols/ncp.md 3.4).
    ModifyInfo<'a> {
        /// Name space of the path.
        space: u8 as U8,
        /// Search attributes.
        search: u16 as After<1, Le16>,
        /// See [`change`].
        change: u32 as Le32,
        /// Attributes.
        attributes: u32 as Le32,
        /// Creation time.
        created: DosTime as LeDateTime,
        /// Object id of the creator.
        creator: u32 as Le32,
        /// Time of the last modification.
        modified: DosTime as LeDateTime,
        /// Object id of the last modifier.
        modifier: u32 as Le32,
        /// Time of the last archiving.
        archived: DosTime as LeDateTime,
        /// Object id of the last archiver.
        archiver: u32 as Le32,
        /// DOS date of the last access.
        accessed: u16 as Le16,
        /// Rights to grant.
        grant: u16 as Le16,
        /// Rights to revoke.
        revoke: u16 as Le16,
        /// Space limit of a directory.
        max_space: u32 as Le32,
        /// The path.
        path: HandlePath<'a> as HandlePath<'a>,
    }
}

message! {
    /// 87/8: deletes files or an empty directory (docs/protocols/ncp.md 3.4).
    Delete<'a> {
        /// Name space of the path.
        space: u8 as U8,
        /// Search attributes.
        search: u16 as After<1, Le16>,
        /// The path.
        path: HandlePath<'a> as HandlePath<'a>,
    }
}

message! {
    /// 87/12: allocates a directory handle (docs/protocols/ncp.md 3.4).
    AllocateHandle<'a> {
        /// Name space of the path.
        space: u8 as U8,
        /// Handle mode: 0 permanent, 1 temporary, 2 special temporary.
        mode: u16 as After<1, Le16>,
        /// The path.
        path: HandlePath<'a> as HandlePath<'a>,
    }
}

message! {
    /// Reply to 87/12 (docs/protocols/ncp.md 3.4).
    NameSpaceHandle {
        /// The new handle.
        handle: u8 as U8,
        /// Its volume.
        volume: u8 as U8,
        /// Zero.
        reserved: u32 as Le32,
    }
}

message! {
    /// 87/22: requests the number of a directory (docs/protocols/ncp.md 3.4).
    GetDirectoryBase<'a> {
        /// Name space of the path.
        space: u8 as U8,
        /// Name space of the reply.
        answer_space: u8 as U8,
        /// The path.
        path: HandlePath<'a> as After<2, HandlePath<'a>>,
    }
}

message! {
    /// Reply to 87/22 (docs/protocols/ncp.md 3.4).
    DirectoryBase {
        /// Number in the requested name space.
        base: u32 as Le32,
        /// Number in the DOS name space.
        dos_base: u32 as Le32,
        /// Volume.
        volume: u8 as U8,
    }
}

message! {
    /// 87/24: requests the name spaces of a volume (docs/protocols/ncp.md 3.4).
    GetNameSpaces {
        /// Volume.
        volume: u8 as After<2, U8>,
    }
}

message! {
    /// Reply to 87/24 (docs/protocols/ncp.md 3.4).
    NameSpaces<'a> {
        /// Number of name spaces.
        count: u16 as Le16,
        /// Their ids: see [`space`].
        ids: &'a [u8] as Rest,
    }
}

/// Where a [`GetFullPath`] continues, and that its reply is complete.
pub const WHOLE_PATH: u32 = u32::MAX;
/// Flag of [`FullPath`]: the last component of the path is a file (docs/protocols/ncp.md 3.4).
pub const PATH_OF_FILE: u16 = 1;

message! {
    /// 87/28: requests the components of a path (docs/protocols/ncp.md 3.4).
    GetFullPath<'a> {
        /// Name space of the path.
        space: u8 as U8,
        /// Name space of the reply.
        answer_space: u8 as U8,
        /// See [`PATH_OF_FILE`].
        flags: u16 as Le16,
        /// As in the reply before.
        volume: u32 as Le32,
        /// Number of the directory with which the reply begins, as in the reply before; [`WHOLE_PATH`] at the start.
        next: u32 as Le32,
        /// The path.
        path: HandlePath<'a> as HandlePath<'a>,
    }
}

message! {
    /// Reply to 87/28: the last component of the path first, and the volume last (docs/protocols/ncp.md 3.4).
    FullPath<'a> {
        /// See [`PATH_OF_FILE`].
        flags: u16 as Le16,
        /// Number of the volume; [`WHOLE_PATH`] in a complete reply.
        volume: u32 as Le32,
        /// Number of the directory with which the next reply begins; [`WHOLE_PATH`] in a complete one.
        next: u32 as Le32,
        /// Bytes of the components.
        size: u16 as Le16,
        /// Number of the components.
        count: u16 as Le16,
        /// The components, each with its length.
        components: &'a [u8] as Rest,
    }
}

/// Reply to 87/29 (docs/protocols/ncp.md 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EntryRights<'a> {
    /// One bit per right.
    pub rights: u16,
    /// Information of the entry.
    pub entry: NamedInfo<'a>,
}

impl<'a> EntryRights<'a> {
    /// Appends the reply.
    pub fn put(&self, out: &mut Vec<u8>) {
        Le16::put(&self.rights, out);
        self.entry.put(out);
    }

    /// Parses the reply to a request with this mask.
    pub fn get(mask: ReturnMask, reader: &mut Reader<'a>) -> Result<Self, WireError> {
        Ok(Self { rights: reader.get::<Le16>()?, entry: NamedInfo::get(mask, reader)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::handle_path::{Components, PathStart};
    use crate::wire::tests::{bytes, hex};

    const ROOT: HandlePath<'_> =
        HandlePath { start: PathStart::directory(0, 0x9f), components: Components::NONE };

    /// docs/protocols/ncp.md 3.4, sub-function 1; libncp-client-udp-tcp-unsigned.pcap, frame 21.
    #[test]
    fn open_create_matches_libncp() {
        let wire = hex("00 0a 0680 ff0f 0000 00000000 0300 00 00000000 ff 02 03535953 08504545522e444154");
        let open = OpenCreate::decode(&wire).unwrap();
        assert_eq!((open.mode, open.search, open.access), (mode::CREATE | mode::REPLACE, 0x8006, 3));
        assert_eq!((open.mask, open.extended), (ReturnMask::ALL, 0));
        assert_eq!(bytes::<OpenCreate>(&open), wire);
    }

    /// docs/protocols/ncp.md 3.4, sub-function 1; mars-server-ipx-in-udp-with-burst.pcap, frame 82.
    #[test]
    fn open_reply_has_handle_action_and_block() {
        let wire =
            hex("02000000 03 00 00000000 20000000 2000 00000000 00000000 0000 650e755d 00000001 650e755d
            00000001 755d 000021ec 00000000 ff01 08409e00 08409e00 00000000 000000000000000000000000 00000000
            074e53312e444154");
        let mut reader = Reader::new(&wire);
        let opened = Opened::get(ReturnMask::ALL, &mut reader).unwrap();
        assert_eq!((opened.file.0, opened.action, reader.rest().len()), ([2, 0, 0, 0], 3, 0));
        let mut out = Vec::new();
        opened.put(&mut out);
        assert_eq!(out, wire);
    }

    /// docs/protocols/ncp.md 3.4, sub-function 7; linux-kernel-client-mars-server-ethernet-ipx.pcap, frame 882.
    #[test]
    fn modify_has_dates_before_times() {
        let wire = hex(
            "00 00 0680 0c030000 00000000 755d070e00000000 755d070e00000000 0000000000000000 0000 0000 0000
            00000000 00 90010000 01 00",
        );
        let modify = ModifyInfo::decode(&wire).unwrap();
        let asked =
            change::CREATED_DATE | change::CREATED_TIME | change::MODIFIED_DATE | change::MODIFIED_TIME;
        assert_eq!((modify.change, modify.modified), (asked, DosTime { date: 0x5d75, time: 0x0e07 }));
        assert_eq!(bytes::<ModifyInfo>(&modify), wire);
    }

    /// docs/protocols/ncp.md 3.4, sub-functions 4, 6 and 8; linux-kernel-client-udp-tcp.pcap, frames 755, 30 and 789.
    #[test]
    fn rename_info_and_delete_calls_match_captures() {
        let wire = hex("00 01 0600 00 01000000 01 01 00 03000000 01 01 0666312e646174 0666322e646174");
        assert_eq!(bytes::<Rename>(&Rename::decode(&wire).unwrap()), wire);
        let obtain = ObtainInfo {
            space: space::DOS,
            answer_space: space::DOS,
            search: 0x8006,
            mask: ReturnMask::ALL,
            extended: 0,
            path: HandlePath { start: PathStart::directory(0, 1), components: Components::NONE },
        };
        assert_eq!(bytes::<ObtainInfo>(&obtain), hex("00 00 0680 ff0f 0000 00 01000000 01 00"));
        let delete = Delete { space: space::DOS, search: 0x8006, path: ROOT };
        assert_eq!(bytes::<Delete>(&delete), hex("00 00 0680 00 9f000000 01 00"));
    }

    /// docs/protocols/ncp.md 3.4, sub-function 12: from the description alone.
    #[test]
    fn allocate_handle_call_has_a_path() {
        let allocate = AllocateHandle { space: space::DOS, mode: 1, path: ROOT };
        assert_eq!(bytes::<AllocateHandle>(&allocate), hex("00 00 0100 00 9f000000 01 00"));
        let handle = NameSpaceHandle { handle: 3, volume: 0, reserved: 0 };
        assert_eq!(bytes::<NameSpaceHandle>(&handle), hex("03 00 00000000"));
    }

    /// docs/protocols/ncp.md 3.4, sub-functions 5, 28 and 29: from the description alone.
    #[test]
    fn rights_trustees_and_full_path_match_the_document() {
        let scan = ScanTrustees { space: space::DOS, search: 0x8006, sequence: 0, path: ROOT };
        assert_eq!(bytes::<ScanTrustees>(&scan), hex("00 00 0680 00000000 00 9f000000 01 00"));
        let wire = hex("00 04 0000 ffffffff ffffffff 00 9f000000 01 00");
        let get = GetFullPath::decode(&wire).unwrap();
        assert_eq!((get.answer_space, get.next, get.path), (space::LONG, WHOLE_PATH, ROOT));
        assert_eq!(bytes::<GetFullPath>(&get), wire);
        let wire = hex("0100 ffffffff ffffffff 0600 0200 0141 03535953");
        let path = FullPath::decode(&wire).unwrap();
        assert_eq!(
            (path.flags, path.size, path.count, path.components),
            (PATH_OF_FILE, 6, 2, &b"\x01A\x03SYS"[..])
        );
        let wire = hex("00 00 0680 0100 0000 00 9f000000 01 00");
        let rights = GetEntryRights::decode(&wire).unwrap();
        assert_eq!((rights.mask, rights.path), (ReturnMask::NAME, ROOT));
        assert_eq!(bytes::<GetEntryRights>(&rights), wire);
        let reply = [hex("df00"), vec![0; 76], hex("0141")].concat();
        let decoded = EntryRights::get(ReturnMask::NAME, &mut Reader::new(&reply)).unwrap();
        assert_eq!((decoded.rights, decoded.entry.name.unwrap().bytes()), (0xDF, &b"A"[..]));
        let mut out = Vec::new();
        decoded.put(&mut out);
        assert_eq!(out, reply);
    }

    /// docs/protocols/ncp.md 3.4, sub-functions 22 and 24; mars-server-ipx-in-udp-with-burst.pcap, frames 77 to 80.
    #[test]
    fn base_and_name_space_calls_match_captures() {
        let packed = Components::pack([&b"SYS"[..]]).unwrap();
        let path = HandlePath { start: PathStart::NONE, components: Components::decode(&packed).unwrap() };
        let get = GetDirectoryBase { space: space::DOS, answer_space: space::DOS, path };
        assert_eq!(bytes::<GetDirectoryBase>(&get), hex("00 00 0000 00 00000000 ff 01 03535953"));
        let base = DirectoryBase { base: 0x009e_41e5, dos_base: 0x009e_41e5, volume: 0 };
        assert_eq!(bytes::<DirectoryBase>(&base), hex("e5419e00 e5419e00 00"));
        assert_eq!(bytes::<GetNameSpaces>(&GetNameSpaces { volume: 0 }), hex("0000 00"));
        assert_eq!(NameSpaces::decode(&hex("010000")), Ok(NameSpaces { count: 1, ids: &[0] }));
    }
}
