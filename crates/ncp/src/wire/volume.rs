//! Calls on volumes: number, name and space (docs/protocols/ncp.md 2.6).

use super::bytes::message;
use super::{Be16, Le32, Pstr, Raw, U8};

message! {
    /// 0x16/0x05: requests the number of a volume (docs/protocols/ncp.md 2.6).
    GetVolumeNumber<'a> {
        /// Volume name without ':'.
        name: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// Reply to 0x16/0x05 (docs/protocols/ncp.md 2.6).
    VolumeNumber {
        /// The number.
        volume: u8 as U8,
    }
}

message! {
    /// 0x16/0x06: requests the name of a volume (docs/protocols/ncp.md 2.6).
    GetVolumeName {
        /// The number.
        volume: u8 as U8,
    }
}

message! {
    /// Reply to 0x16/0x06 (docs/protocols/ncp.md 2.6).
    VolumeName<'a> {
        /// The name; empty if the volume does not exist.
        name: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// 0x16/0x2C: requests [`VolumeUsage`] (docs/protocols/ncp.md 2.6).
    GetVolumeUsage {
        /// The number.
        volume: u8 as U8,
    }
}

message! {
    /// Reply to 0x16/0x2C (docs/protocols/ncp.md 2.6).
    VolumeUsage<'a> {
        /// Total blocks.
        total_blocks: u32 as Le32,
        /// Free blocks.
        free_blocks: u32 as Le32,
        /// Blocks of deleted files that can be purged.
        purgeable_blocks: u32 as Le32,
        /// Blocks of deleted files that cannot be purged yet.
        not_yet_purgeable_blocks: u32 as Le32,
        /// Directory entries in total.
        total_entries: u32 as Le32,
        /// Free directory entries.
        free_entries: u32 as Le32,
        /// Zero.
        reserved: u32 as Le32,
        /// Sectors of 512 bytes in a block.
        sectors_per_block: u8 as U8,
        /// Name of the volume.
        name: Pstr<'a> as Pstr<'a>,
    }
}

impl VolumeUsage<'_> {
    /// Bytes of a number of blocks.
    pub fn bytes(&self, blocks: u32) -> u64 {
        u64::from(blocks) * u64::from(self.sectors_per_block) * 512
    }
}

message! {
    /// 0x12: requests [`VolumeInfo`] by volume number (docs/protocols/ncp.md 2.6).
    GetVolumeInfo {
        /// The number.
        volume: u8 as U8,
    }
}

message! {
    /// 0x16/0x15: requests [`VolumeInfo`] by directory handle (docs/protocols/ncp.md 2.6).
    GetVolumeInfoOfHandle {
        /// A directory handle on the volume.
        handle: u8 as U8,
    }
}

message! {
    /// Reply to 0x12 and 0x16/0x15; on large volumes the cluster size is scaled so that the counts fit into 16 bits
    /// (docs/protocols/ncp.md 2.6).
    VolumeInfo {
        /// Sectors of 512 bytes in a cluster.
        sectors_per_cluster: u16 as Be16,
        /// Total clusters.
        clusters: u16 as Be16,
        /// Free clusters.
        free_clusters: u16 as Be16,
        /// Directory slots.
        slots: u16 as Be16,
        /// Free directory slots.
        free_slots: u16 as Be16,
        /// Name, padded with NUL.
        name: [u8; 16] as Raw<16>,
        /// Not 0 if the volume is removable.
        removable: u16 as Be16,
    }
}

impl VolumeInfo {
    /// The space of a volume, in the smallest clusters whose counts fit.
    pub fn of_space(total: u64, free: u64, name: [u8; 16]) -> Self {
        // A cluster has at most 16 MiB, so at most 1 TiB of a volume is shown.
        let shift = (3..=15).find(|shift| u16::try_from(total >> (9 + shift)).is_ok()).unwrap_or(15);
        let clusters = |bytes: u64| u16::try_from(bytes >> (9 + shift)).unwrap_or(u16::MAX);
        Self {
            sectors_per_cluster: 1 << shift,
            clusters: clusters(total),
            free_clusters: clusters(free),
            slots: u16::MAX,
            free_slots: u16::MAX,
            name,
            removable: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Codec;
    use crate::wire::tests::{bytes, hex};
    use crate::wire::text::padded;

    /// docs/protocols/ncp.md 2.6; mars-server-ipx-in-udp-with-burst.pcap, frames 25 to 28.
    #[test]
    fn volume_calls_have_numbers_and_names() {
        let name = Pstr::new(b"SYS").unwrap();
        assert_eq!(bytes::<GetVolumeNumber>(&GetVolumeNumber { name }), hex("03535953"));
        assert_eq!(bytes::<VolumeNumber>(&VolumeNumber { volume: 0 }), hex("00"));
        assert_eq!(bytes::<GetVolumeName>(&GetVolumeName { volume: 0 }), hex("00"));
        assert_eq!(VolumeName::decode(&hex("03535953")), Ok(VolumeName { name }));
    }

    /// docs/protocols/ncp.md 2.6; libncp-client-udp-tcp-unsigned.pcap, frame 18.
    #[test]
    fn volume_usage_is_little_endian() {
        let wire = hex("40420f0020a107000000000000000000e803000084030000000000000803535953");
        let usage = VolumeUsage::decode(&wire).unwrap();
        assert_eq!((usage.total_blocks, usage.free_blocks), (1_000_000, 500_000));
        assert_eq!((usage.total_entries, usage.free_entries, usage.sectors_per_block), (1000, 900, 8));
        assert_eq!((usage.name.bytes(), bytes::<VolumeUsage>(&usage)), (&b"SYS"[..], wire.clone()));
    }

    /// docs/protocols/ncp.md 2.6: 16-bit counts.
    #[test]
    fn cluster_size_grows_with_the_volume() {
        let name = padded(b"SYS").unwrap();
        let small = VolumeInfo::of_space(64 << 20, 32 << 20, name);
        assert_eq!((small.sectors_per_cluster, small.clusters, small.free_clusters), (8, 16384, 8192));
        let wire = bytes::<VolumeInfo>(&small);
        assert_eq!((wire.len(), &wire[..6]), (28, &[0, 8, 0x40, 0, 0x20, 0][..]));
        let big = VolumeInfo::of_space(4 << 40, 1 << 40, name);
        assert_eq!((big.sectors_per_cluster, big.clusters, big.free_clusters), (32768, u16::MAX, u16::MAX));
        assert_eq!(bytes::<GetVolumeInfo>(&GetVolumeInfo { volume: 1 }), [1]);
        assert_eq!(bytes::<GetVolumeInfoOfHandle>(&GetVolumeInfoOfHandle { handle: 9 }), [9]);
    }
}
