//! The watchdog on IPX and on IP, and the notice of a waiting message (docs/protocols/ncp.md 1.6, 1.7).

use super::packet::IP_WATCHDOG;

/// A notice of two bytes between a server and the watchdog or message socket of an IPX client (docs/protocols/ncp.md
/// 1.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Notice {
    /// '?': the watchdog query of the server, sent to the request socket plus one.
    Watchdog,
    /// 'Y': the answer of the client.
    Alive,
    /// '!': a message is waiting; sent to the request socket plus two.
    Message,
}

impl Notice {
    /// The packet for a connection; it has the low byte of the connection number.
    pub const fn packet(self, connection: u16) -> [u8; 2] {
        let [_, low] = connection.to_be_bytes();
        let mark = match self {
            Self::Watchdog => b'?',
            Self::Alive => b'Y',
            Self::Message => b'!',
        };
        [low, mark]
    }

    /// Parses a notice: the low byte of the connection number and the notice; none for other packets.
    pub const fn decode(packet: &[u8]) -> Option<(u8, Self)> {
        match *packet {
            [low, b'?'] => Some((low, Self::Watchdog)),
            [low, b'Y'] => Some((low, Self::Alive)),
            [low, b'!'] => Some((low, Self::Message)),
            _ => None,
        }
    }
}

/// The watchdog on IP: ten bytes of type 3E3E with '?' or 'Y' at the end. The answer repeats the bytes between them
/// unchanged (docs/protocols/ncp.md 1.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IpWatchdog([u8; 10]);

impl IpWatchdog {
    /// The query for a connection.
    pub const fn query(connection: u16) -> Self {
        let [a, b] = IP_WATCHDOG.to_be_bytes();
        let [high, low] = connection.to_be_bytes();
        Self([a, b, 0, low, 0, high, 0, 0, 0, b'?'])
    }

    /// Parses a query or an answer; none for other packets.
    pub fn decode(packet: &[u8]) -> Option<Self> {
        let bytes: [u8; 10] = packet.try_into().ok()?;
        (bytes.starts_with(&IP_WATCHDOG.to_be_bytes()) && matches!(bytes[9], b'?' | b'Y'))
            .then_some(Self(bytes))
    }

    /// The packet.
    pub const fn packet(self) -> [u8; 10] {
        self.0
    }

    /// Connection number.
    pub const fn connection(self) -> u16 {
        u16::from_be_bytes([self.0[5], self.0[3]])
    }

    /// True for an answer.
    pub const fn is_answer(self) -> bool {
        self.0[9] == b'Y'
    }

    /// The answer to this query.
    #[must_use]
    pub const fn answer(mut self) -> Self {
        self.0[9] = b'Y';
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// docs/protocols/ncp.md 1.7: from the description alone.
    #[test]
    fn ipx_watchdog_has_two_bytes() {
        assert_eq!(Notice::Watchdog.packet(0x0105), [5, b'?']);
        assert_eq!(Notice::decode(&[5, b'Y']), Some((5, Notice::Alive)));
        assert_eq!(Notice::decode(&Notice::Message.packet(7)), Some((7, Notice::Message)));
        assert_eq!((Notice::decode(&[5, b'x']), Notice::decode(&[5, b'?', 0])), (None, None));
    }

    /// docs/protocols/ncp.md 1.6: from the description alone.
    #[test]
    fn ip_watchdog_answer_repeats_the_query_except_for_its_end() {
        let query = IpWatchdog::query(0x0105);
        assert_eq!(query.packet(), [0x3e, 0x3e, 0, 5, 0, 1, 0, 0, 0, b'?']);
        assert_eq!(IpWatchdog::decode(&query.packet()), Some(query));
        assert_eq!(query.answer().packet(), [0x3e, 0x3e, 0, 5, 0, 1, 0, 0, 0, b'Y']);
        assert_eq!(
            (query.answer().connection(), query.answer().is_answer(), query.is_answer()),
            (0x0105, true, false)
        );
        assert_eq!(IpWatchdog::decode(&[0x3e; 10]), None);
    }
}
