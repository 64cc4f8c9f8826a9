//! Login with clear-text or keyed password, logout, and the object id that a login needs (docs/protocols/ncp.md 2.4).

use super::bytes::message;
use super::{Be16, Be32, Pstr, Raw, U8};

/// Object type of a user.
pub const USER: u16 = 1;
/// Object type of a file server.
pub const FILE_SERVER: u16 = 4;

message! {
    /// 0x17/0x14: logs in with a clear-text password (docs/protocols/ncp.md 2.4).
    ClearLogin<'a> {
        /// Type of the object, usually [`USER`].
        kind: u16 as Be16,
        /// Name.
        name: Pstr<'a> as Pstr<'a>,
        /// Password.
        password: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// 0x17/0x17: requests a [`LoginKey`] (docs/protocols/ncp.md 2.4).
    GetLoginKey {}
}

message! {
    /// Reply to 0x17/0x17: a random key for one login (docs/protocols/ncp.md 2.4).
    LoginKey {
        /// The key.
        key: [u8; 8] as Raw<8>,
    }
}

message! {
    /// 0x17/0x18: logs in with the response to a key (docs/protocols/ncp.md 2.4).
    KeyedLogin<'a> {
        /// See `security::password::response`.
        response: [u8; 8] as Raw<8>,
        /// Type of the object, usually [`USER`].
        kind: u16 as Be16,
        /// Name.
        name: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// 0x17/0x35: requests the id of an object (docs/protocols/ncp.md 2.4).
    GetObjectId<'a> {
        /// Type of the object.
        kind: u16 as Be16,
        /// Name.
        name: Pstr<'a> as Pstr<'a>,
    }
}

message! {
    /// Reply to 0x17/0x35 (docs/protocols/ncp.md 2.4).
    ObjectId {
        /// Object id, part of the password hash.
        id: u32 as Be32,
        /// Type of the object.
        kind: u16 as Be16,
        /// Name, padded with NUL.
        name: [u8; 48] as Raw<48>,
    }
}

message! {
    /// 0x17/0x46: requests the bindery rights of the logged-in user (docs/protocols/ncp.md 2.4).
    GetAccessLevel {}
}

message! {
    /// Reply to 0x17/0x46 (docs/protocols/ncp.md 2.4).
    AccessLevel {
        /// Write and read rights, one nibble each.
        level: u8 as U8,
        /// Object id of the user.
        id: u32 as Be32,
    }
}

message! {
    /// 0x18: ends the task; its files, locks and temporary handles are released (docs/protocols/ncp.md 2.4).
    EndOfTask {}
}

message! {
    /// 0x19: logs the user out (docs/protocols/ncp.md 2.4).
    Logout {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Codec;
    use crate::wire::tests::{bytes, hex};
    use crate::wire::text::padded;

    fn name(text: &str) -> Pstr<'_> {
        Pstr::new(text.as_bytes()).unwrap()
    }

    /// docs/protocols/ncp.md 2.4.
    #[test]
    fn clear_text_login_has_name_and_password() {
        let login = ClearLogin { kind: USER, name: name("BENCH"), password: name("PW") };
        assert_eq!(bytes::<ClearLogin>(&login), hex("0001 0542454e4348 025057"));
    }

    /// docs/protocols/ncp.md 2.4, 2.5; libncp-client-udp-tcp-signed.pcap, frames 6 to 9.
    #[test]
    fn keyed_login_has_the_response() {
        let object = GetObjectId { kind: USER, name: name("BENCH") };
        assert_eq!(bytes::<GetObjectId>(&object), hex("00010542454e4348"));
        let id = ObjectId { id: 0x0001_0002, kind: USER, name: padded(b"BENCH").unwrap() };
        assert_eq!(bytes::<ObjectId>(&id)[..11], hex("000100020001 42454e4348")[..]);
        let key = LoginKey { key: [0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77] };
        assert_eq!(LoginKey::decode(&hex("0011223344556677")), Ok(key));
        let response = hex("7038ac5f8bcc23d2").try_into().unwrap();
        let login = KeyedLogin { response, kind: USER, name: name("BENCH") };
        assert_eq!(bytes::<KeyedLogin>(&login), hex("7038ac5f8bcc23d200010542454e4348"));
    }

    /// docs/protocols/ncp.md 2.4.
    #[test]
    fn access_level_has_the_user_id() {
        let level = AccessLevel { level: 0x22, id: 1 };
        assert_eq!(bytes::<AccessLevel>(&level), hex("2200000001"));
    }
}
