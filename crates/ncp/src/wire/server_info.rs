//! Server information, date and time, and the user of a connection: 0x17/0x11, 0x14, 0x17/0x1C (docs/protocols/ncp.md
//! 2.3, 2.4).

use super::bytes::message;
use super::{Be16, Be32, Le32, Raw, U8};

message! {
    /// 0x17/0x11: requests [`ServerInfo`] (docs/protocols/ncp.md 2.3).
    GetServerInfo {}
}

message! {
    /// Reply to 0x17/0x11, 128 bytes; clients select functions by the version (docs/protocols/ncp.md 2.3).
    ServerInfo {
        /// Name, padded with NUL.
        name: [u8; 48] as Raw<48>,
        /// Major version of the operating system.
        major: u8 as U8,
        /// Minor version.
        minor: u8 as U8,
        /// The largest number of connections.
        max_connections: u16 as Be16,
        /// Connections in use.
        connections: u16 as Be16,
        /// The largest number of volumes.
        max_volumes: u16 as Be16,
        /// Revision of the operating system.
        revision: u8 as U8,
        /// Level of system fault tolerance (SFT).
        fault_tolerance: u8 as U8,
        /// Level of transaction tracking (TTS).
        transactions: u8 as U8,
        /// Peak number of connections.
        peak_connections: u16 as Be16,
        /// Versions of accounting, VAP, queue, print, console, security, bridge.
        versions: [u8; 7] as Raw<7>,
        /// Mixed-mode paths, local login.
        modes: [u8; 2] as Raw<2>,
        /// Product: major, minor, revision.
        product: [u8; 6] as Raw<6>,
        /// Operating system language.
        language: u8 as U8,
        /// 1: the server supports the calls with 64-bit offsets.
        large_files: u8 as U8,
        /// Two bytes of newer products, then reserved bytes.
        reserved: [u8; 50] as Raw<50>,
    }
}

impl ServerInfo {
    /// A bindery server of version `major.minor`, with the fields that clients read.
    pub const fn new(name: [u8; 48], major: u8, minor: u8) -> Self {
        Self {
            name,
            major,
            minor,
            max_connections: 0,
            connections: 0,
            max_volumes: 0,
            revision: 0,
            fault_tolerance: 0,
            transactions: 0,
            peak_connections: 0,
            versions: [0; 7],
            modes: [0; 2],
            product: [0; 6],
            language: 0,
            large_files: 0,
            reserved: [0; 50],
        }
    }
}

message! {
    /// 0x14: requests [`DateAndTime`] (docs/protocols/ncp.md 2.3).
    GetDateAndTime {}
}

message! {
    /// Reply to 0x14 (docs/protocols/ncp.md 2.3).
    #[derive(Default)]
    DateAndTime {
        /// Years since 1900.
        year: u8 as U8,
        /// 1 to 12.
        month: u8 as U8,
        /// 1 to 31.
        day: u8 as U8,
        /// 0 to 23.
        hour: u8 as U8,
        /// 0 to 59.
        minute: u8 as U8,
        /// 0 to 59.
        second: u8 as U8,
        /// 0 is Sunday.
        weekday: u8 as U8,
    }
}

message! {
    /// 0x17/0x1C: requests the user of a connection (docs/protocols/ncp.md 2.4).
    GetConnectionUser {
        /// Connection number.
        connection: u32 as Le32,
    }
}

message! {
    /// 0x17/0x16: requests the user of a connection, in the older form (docs/protocols/ncp.md 2.7).
    GetConnectionUserOld {
        /// Connection number.
        connection: u8 as U8,
    }
}

message! {
    /// Reply to 0x17/0x16 and 0x17/0x1C (docs/protocols/ncp.md 2.4).
    ConnectionUser {
        /// Object id of the user.
        id: u32 as Be32,
        /// Type of the object.
        kind: u16 as Be16,
        /// Name, padded with NUL.
        name: [u8; 48] as Raw<48>,
        /// Login time, in the form of [`DateAndTime`].
        login: [u8; 7] as Raw<7>,
        /// Zero.
        reserved: u8 as U8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Codec;
    use crate::wire::tests::{bytes, hex};
    use crate::wire::text::{padded, unpadded};

    /// docs/protocols/ncp.md 2.3; libncp-client-udp-tcp-signed.pcap, frame 12.
    #[test]
    fn server_info_has_128_bytes_with_the_64_bit_flag_at_77() {
        let mut info = ServerInfo::new(padded(b"PYSTUB").unwrap(), 5, 70);
        info.max_connections = 100;
        info.large_files = 1;
        let wire = bytes::<ServerInfo>(&info);
        assert_eq!((wire.len(), &wire[48..52], wire[77]), (128, &[5, 70, 0, 100][..], 1));
        assert_eq!(ServerInfo::decode(&wire), Ok(info));
        assert_eq!(unpadded(&info.name), b"PYSTUB");
    }

    /// docs/protocols/ncp.md 2.3; libncp-client-udp-tcp-signed.pcap, frame 14: 21 November 2026, a Saturday.
    #[test]
    fn date_has_years_since_1900() {
        let clock = DateAndTime { year: 126, month: 11, day: 21, hour: 1, minute: 2, second: 3, weekday: 6 };
        assert_eq!(bytes::<DateAndTime>(&clock), hex("7e0b1501020306"));
    }

    /// docs/protocols/ncp.md 2.4.
    #[test]
    fn connection_number_in_0x1c_is_little_endian() {
        assert_eq!(bytes::<GetConnectionUser>(&GetConnectionUser { connection: 5 }), hex("05000000"));
        let user =
            ConnectionUser { id: 1, kind: 1, name: padded(b"BENCH").unwrap(), login: [1; 7], reserved: 0 };
        let wire = bytes::<ConnectionUser>(&user);
        assert_eq!((wire.len(), &wire[..6]), (62, &[0, 0, 0, 1, 0, 1][..]));
        assert_eq!(ConnectionUser::decode(&wire), Ok(user));
    }
}
