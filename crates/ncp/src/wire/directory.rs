//! Calls on directory handles and directories: family 0x16 (docs/protocols/ncp.md 2.6, 3.2).

use super::bytes::message;
use super::{After, Le32, Pstr, U8};

/// The directory handle of absolute paths: `SYS:DIR\FILE`.
pub const NO_HANDLE: u8 = 0;

message! {
    [
        /// 0x16/0x12: allocates a permanent handle (docs/protocols/ncp.md 2.6).
        AllocatePermanent<'a>,
        /// 0x16/0x13: allocates a handle that ends with its task (docs/protocols/ncp.md 2.6).
        AllocateTemporary<'a>,
        /// 0x16/0x16: allocates a special temporary handle (docs/protocols/ncp.md 2.6).
        AllocateSpecial<'a>,
    ] {
        /// Handle of the directory at which the path starts.
        base: u8 as U8,
        /// Drive letter, or any value of the client.
        drive: u8 as U8,
        /// The path.
        path: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// Reply to 0x16/0x12, 0x16/0x13 and 0x16/0x16 (docs/protocols/ncp.md 2.6).
    AllocatedHandle {
        /// The new handle.
        handle: u8 as U8,
        /// Effective rights in the directory.
        rights: u8 as U8,
    }
}

message! {
    /// 0x16/0x14: frees a handle (docs/protocols/ncp.md 2.6).
    FreeHandle {
        /// The handle.
        handle: u8 as U8,
    }
}

message! {
    /// 0x16/0x00: assigns another directory to a handle (docs/protocols/ncp.md 2.6).
    SetHandle<'a> {
        /// The handle.
        target: u8 as U8,
        /// Handle of the directory at which the path starts.
        base: u8 as U8,
        /// The path.
        path: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// 0x16/0x01: requests the path of a handle (docs/protocols/ncp.md 2.6).
    GetHandlePath {
        /// The handle.
        handle: u8 as U8,
    }
}

message! {
    /// Reply to 0x16/0x01 (docs/protocols/ncp.md 2.6).
    HandlePathText<'a> {
        /// Volume, ':' and path.
        path: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// 0x16/0x03: requests the effective rights in a directory (docs/protocols/ncp.md 2.6).
    GetEffectiveRights<'a> {
        /// Handle of the directory at which the path starts.
        base: u8 as U8,
        /// The path.
        path: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// Reply to 0x16/0x03 (docs/protocols/ncp.md 2.6).
    EffectiveRights {
        /// One bit per right.
        rights: u8 as U8,
    }
}

message! {
    /// 0x16/0x2D: requests the [`DirectorySpace`] of a handle (docs/protocols/ncp.md 2.6).
    GetDirectorySpace {
        /// The handle.
        handle: u8 as U8,
    }
}

message! {
    /// Reply to 0x16/0x2D (docs/protocols/ncp.md 2.6).
    DirectorySpace<'a> {
        /// Total blocks.
        total_blocks: u32 as Le32,
        /// Blocks that can be written.
        free_blocks: u32 as Le32,
        /// Directory entries in total.
        total_entries: u32 as Le32,
        /// Free directory entries.
        free_entries: u32 as Le32,
        /// Zero.
        reserved: u32 as Le32,
        /// Sectors of 512 bytes in a block.
        sectors_per_block: u8 as U8,
        /// Name of the volume.
        volume: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// 0x16/0x0A: creates a directory (docs/protocols/ncp.md 3.2).
    MakeDirectory<'a> {
        /// Handle of the directory at which the path starts.
        base: u8 as U8,
        /// Inherited rights mask.
        rights_mask: u8 as U8,
        /// The path.
        path: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// 0x16/0x0B: removes an empty directory (docs/protocols/ncp.md 3.2).
    RemoveDirectory<'a> {
        /// Handle of the directory at which the path starts.
        base: u8 as U8,
        /// The path.
        path: Pstr<'a> as After<1, Pstr<'a>>,
    }
}

message! {
    /// 0x16/0x0F: renames a directory (docs/protocols/ncp.md 3.2).
    RenameDirectory<'a> {
        /// Handle of the directory at which the path starts.
        base: u8 as U8,
        /// The path.
        path: Pstr<'a> as Pstr<'a>,
        /// The new name.
        name: Pstr<'a> as Pstr<'a>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Codec;
    use crate::wire::tests::{bytes, hex};

    fn path(text: &str) -> Pstr<'_> {
        Pstr::new(text.as_bytes()).unwrap()
    }

    /// docs/protocols/ncp.md 2.6; mars-server-ipx-in-udp-with-burst.pcap, frames 31 and 32.
    #[test]
    fn handle_is_allocated_from_base_and_path() {
        let wire = hex("0054045359533a");
        let temporary = AllocateTemporary { base: NO_HANDLE, drive: b'T', path: path("SYS:") };
        assert_eq!(bytes::<AllocateTemporary>(&temporary), wire);
        let permanent = AllocatePermanent { base: NO_HANDLE, drive: b'T', path: path("SYS:") };
        assert_eq!(bytes::<AllocatePermanent>(&permanent), wire);
        let special = AllocateSpecial { base: NO_HANDLE, drive: b'T', path: path("SYS:") };
        assert_eq!(bytes::<AllocateSpecial>(&special), wire);
        let allocated = AllocatedHandle { handle: 2, rights: 0xff };
        assert_eq!(AllocatedHandle::decode(&hex("02ff")), Ok(allocated));
        assert_eq!(bytes::<FreeHandle>(&FreeHandle { handle: 2 }), hex("02"));
    }

    /// docs/protocols/ncp.md 2.6.
    #[test]
    fn handle_calls_match_the_document() {
        let set = SetHandle { target: 2, base: 1, path: path("DIR") };
        assert_eq!(bytes::<SetHandle>(&set), hex("0201 03444952"));
        assert_eq!(bytes::<GetHandlePath>(&GetHandlePath { handle: 2 }), hex("02"));
        assert_eq!(HandlePathText::decode(&hex("045359533a")).unwrap().path.bytes(), b"SYS:");
        let rights = GetEffectiveRights { base: 1, path: path("DIR") };
        assert_eq!(bytes::<GetEffectiveRights>(&rights), hex("01 03444952"));
        assert_eq!(EffectiveRights::decode(&[0xff]), Ok(EffectiveRights { rights: 0xff }));
    }

    /// docs/protocols/ncp.md 2.6: from the description alone.
    #[test]
    fn space_of_a_directory_matches_the_document() {
        assert_eq!(bytes::<GetDirectorySpace>(&GetDirectorySpace { handle: 2 }), hex("02"));
        let wire = hex("01000000 02000000 03000000 04000000 00000000 08 03535953");
        let space = DirectorySpace::decode(&wire).unwrap();
        assert_eq!((space.total_blocks, space.free_entries, space.sectors_per_block), (1, 4, 8));
        assert_eq!(space.volume.bytes(), b"SYS");
        assert_eq!(bytes::<DirectorySpace>(&space), wire);
    }

    /// docs/protocols/ncp.md 3.2; mars-server-ipx-in-udp-with-burst.pcap, frames 103 and 105.
    #[test]
    fn directory_calls_match_captures() {
        let make = MakeDirectory { base: 2, rights_mask: 0xff, path: path("DIR1") };
        assert_eq!(bytes::<MakeDirectory>(&make), hex("02ff0444495231"));
        let remove = RemoveDirectory { base: 2, path: path("DIR1") };
        assert_eq!(bytes::<RemoveDirectory>(&remove), hex("02000444495231"));
        let rename = RenameDirectory { base: 2, path: path("DIR1"), name: path("DIR2") };
        assert_eq!(bytes::<RenameDirectory>(&rename), hex("02 0444495231 0444495232"));
    }
}
