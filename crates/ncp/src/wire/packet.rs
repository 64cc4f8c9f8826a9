//! Packet headers: create, request and destroy; reply and busy (docs/protocols/ncp.md 1.1 to 1.4).

use super::{Be16, Codec, Completion, Reader, U8, WireError};

/// Types of client packets, the first two bytes, big-endian (docs/protocols/ncp.md 1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClientKind {
    /// 1111: creates a connection.
    Create,
    /// 2222: a call.
    Request,
    /// 5555: destroys the connection.
    Destroy,
}

impl ClientKind {
    const fn code(self) -> u16 {
        match self {
            Self::Create => 0x1111,
            Self::Request => 0x2222,
            Self::Destroy => 0x5555,
        }
    }
}

/// Types of server packets (docs/protocols/ncp.md 1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServerKind {
    /// 3333: the reply to a client packet.
    Reply,
    /// 9999: the server is still processing the request; the client restarts its timer.
    Busy,
}

impl ServerKind {
    const fn code(self) -> u16 {
        match self {
            Self::Reply => 0x3333,
            Self::Busy => 0x9999,
        }
    }
}

/// Type of packet burst (see [`crate::wire::burst`]).
pub const BURST: u16 = 0x7777;
/// Type of the watchdog on IP (see [`crate::wire::watchdog`]).
pub const IP_WATCHDOG: u16 = 0x3E3E;
/// Type of packets that newer servers send unrequested.
pub const SERVER_INITIATED: u16 = 0xBBBB;

/// The connection number before a server has assigned one (docs/protocols/ncp.md 1.4).
pub const NO_CONNECTION: u16 = 0xFFFF;

/// Bytes of a client header; the function code follows it.
pub const CLIENT_HEADER_LEN: usize = 6;
/// Bytes of a server header; the data of the reply follows it.
pub const SERVER_HEADER_LEN: usize = 8;

/// The header of a client packet: its first six bytes (docs/protocols/ncp.md 1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientHeader {
    /// Packet type.
    pub kind: ClientKind,
    /// Sequence number, modulo 256.
    pub sequence: u8,
    /// Connection number; [`NO_CONNECTION`] in a create.
    pub connection: u16,
    /// Task number: the program on the client that makes the call.
    pub task: u8,
}

impl Codec<'_> for ClientHeader {
    type Value = Self;

    fn put(value: &Self, out: &mut Vec<u8>) {
        let [high, low] = value.connection.to_be_bytes();
        Be16::put(&value.kind.code(), out);
        out.extend_from_slice(&[value.sequence, low, value.task, high]);
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let kind = match reader.get::<Be16>()? {
            0x1111 => ClientKind::Create,
            0x2222 => ClientKind::Request,
            0x5555 => ClientKind::Destroy,
            other => return Err(WireError::BadValue { field: "type", value: u32::from(other) }),
        };
        let [sequence, low, task, high] = reader.array()?;
        Ok(Self { kind, sequence, connection: u16::from_be_bytes([high, low]), task })
    }
}

/// The connection status in every reply (docs/protocols/ncp.md 1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct ConnectionStatus(pub u8);

impl ConnectionStatus {
    /// The server has no such connection.
    pub const BAD_CONNECTION: Self = Self(0x01);
    /// The server has no free connection.
    pub const NO_CONNECTIONS: Self = Self(0x04);
    /// The server is going down.
    pub const SERVER_DOWN: Self = Self(0x10);
    /// A message to the user is waiting.
    pub const MESSAGE_WAITING: Self = Self(0x40);

    /// True when all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The header of a server packet: its first eight bytes (docs/protocols/ncp.md 1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ServerHeader {
    /// Packet type.
    pub kind: ServerKind,
    /// Sequence number of the request.
    pub sequence: u8,
    /// Connection number.
    pub connection: u16,
    /// Task number of the request; some servers send 0 in the reply to a destroy (docs/protocols/ncp.md 1.4).
    pub task: u8,
    /// Completion code.
    pub completion: Completion,
    /// Connection status.
    pub status: ConnectionStatus,
}

impl ServerHeader {
    /// The header of a reply to `request`.
    pub const fn reply(request: &ClientHeader, completion: Completion) -> Self {
        Self {
            kind: ServerKind::Reply,
            sequence: request.sequence,
            connection: request.connection,
            task: request.task,
            completion,
            status: ConnectionStatus(0),
        }
    }

    /// The header of a "busy" packet for `request`.
    pub const fn busy(request: &ClientHeader) -> Self {
        Self { kind: ServerKind::Busy, ..Self::reply(request, Completion::Success) }
    }
}

impl Codec<'_> for ServerHeader {
    type Value = Self;

    fn put(value: &Self, out: &mut Vec<u8>) {
        let [high, low] = value.connection.to_be_bytes();
        Be16::put(&value.kind.code(), out);
        out.extend_from_slice(&[value.sequence, low, value.task, high]);
        out.extend_from_slice(&[value.completion.code(), value.status.0]);
    }

    fn get(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let kind = match reader.get::<Be16>()? {
            0x3333 => ServerKind::Reply,
            0x9999 => ServerKind::Busy,
            other => return Err(WireError::BadValue { field: "type", value: u32::from(other) }),
        };
        let [sequence, low, task, high] = reader.array()?;
        let completion = Completion::from_code(reader.get::<U8>()?);
        let status = ConnectionStatus(reader.get::<U8>()?);
        let connection = u16::from_be_bytes([high, low]);
        Ok(Self { kind, sequence, connection, task, completion, status })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<'a, C: Codec<'a>>(value: &C::Value) -> Vec<u8> {
        let mut out = Vec::new();
        C::put(value, &mut out);
        out
    }

    /// docs/protocols/ncp.md 1.4; linux-kernel-client-udp-tcp.pcap, frames 14 and 15.
    #[test]
    fn create_has_no_connection_number_and_its_reply_has_one() {
        let create =
            ClientHeader { kind: ClientKind::Create, sequence: 0, connection: NO_CONNECTION, task: 2 };
        assert_eq!(bytes::<ClientHeader>(&create), [0x11, 0x11, 0x00, 0xff, 0x02, 0xff]);
        let reply = ServerHeader { connection: 2, ..ServerHeader::reply(&create, Completion::Success) };
        assert_eq!(bytes::<ServerHeader>(&reply), [0x33, 0x33, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00]);
    }

    /// docs/protocols/ncp.md 1.2: the halves of the connection number are separate.
    #[test]
    fn header_splits_connection_number_into_low_and_high_byte() {
        let request = ClientHeader { kind: ClientKind::Request, sequence: 9, connection: 0x0123, task: 4 };
        assert_eq!(bytes::<ClientHeader>(&request), [0x22, 0x22, 9, 0x23, 4, 0x01]);
        assert_eq!(ClientHeader::decode(&bytes::<ClientHeader>(&request)), Ok(request));
        let reply = ServerHeader {
            status: ConnectionStatus(0x41),
            ..ServerHeader::reply(&request, Completion::Failure)
        };
        assert_eq!(bytes::<ServerHeader>(&reply), [0x33, 0x33, 9, 0x23, 4, 0x01, 0xff, 0x41]);
        assert_eq!(ServerHeader::decode(&bytes::<ServerHeader>(&reply)), Ok(reply));
        assert!(reply.status.has(ConnectionStatus::BAD_CONNECTION));
        assert!(!reply.status.has(ConnectionStatus::SERVER_DOWN));
    }

    /// docs/protocols/ncp.md 1.4: destroy; and busy, an eight-byte header with completion 0.
    #[test]
    fn destroy_and_busy_have_their_own_types() {
        let destroy = ClientHeader { kind: ClientKind::Destroy, sequence: 0x1d, connection: 1, task: 1 };
        assert_eq!(bytes::<ClientHeader>(&destroy), [0x55, 0x55, 0x1d, 0x01, 0x01, 0x00]);
        assert_eq!(ClientHeader::decode(&[0x55, 0x55, 0x1d, 0x01, 0x01, 0x00, 0x00]), Ok(destroy));
        let busy = ServerHeader::busy(&destroy);
        assert_eq!(bytes::<ServerHeader>(&busy), [0x99, 0x99, 0x1d, 0x01, 0x01, 0x00, 0x00, 0x00]);
        assert_eq!(ServerHeader::decode(&bytes::<ServerHeader>(&busy)), Ok(busy));
    }

    #[test]
    fn unknown_packet_type_is_an_error_with_its_value() {
        let error = WireError::BadValue { field: "type", value: 0x7777 };
        assert_eq!(ClientHeader::decode(&[0x77; 40]), Err(error));
        assert_eq!(ServerHeader::decode(&[0x77; 40]), Err(error));
    }
}
