//! Levels of packet signatures and IPX checksums, and their negotiation (docs/protocols/ncp.md 5.2, 1.10).

/// The level of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Level {
    /// 0: never.
    Never,
    /// 1: if the peer requests it.
    #[default]
    IfRequested,
    /// 2: if the peer supports it.
    IfPossible,
    /// 3: always.
    Always,
}

/// The result of negotiating the levels of both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Negotiated {
    /// Neither side uses the feature.
    Off,
    /// Both sides use the feature.
    On,
    /// One side requires the feature and the other forbids it: the login is refused.
    Refused,
}

impl Level {
    /// The level of a number from 0 to 3.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Never),
            1 => Some(Self::IfRequested),
            2 => Some(Self::IfPossible),
            3 => Some(Self::Always),
            _ => None,
        }
    }

    /// Negotiates the levels of a client and a server.
    pub const fn negotiate(self, other: Self) -> Negotiated {
        match (self as u8, other as u8) {
            (0, 3) | (3, 0) => Negotiated::Refused,
            (0, _) | (_, 0) | (1, 1) => Negotiated::Off,
            _ => Negotiated::On,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Negotiated::{Off, On, Refused};
    use super::*;

    /// docs/protocols/ncp.md 5.2: on when neither is 0 and the sum is 3 or more; 3 against 0 is refused.
    #[test]
    fn every_pair_of_levels_has_its_result() {
        let table = [[Off, Off, Off, Refused], [Off, Off, On, On], [Off, On, On, On], [Refused, On, On, On]];
        for (client, row) in (0..4).zip(table) {
            for (server, outcome) in (0..4).zip(row) {
                let agreement =
                    Level::from_number(client).unwrap().negotiate(Level::from_number(server).unwrap());
                assert_eq!(agreement, outcome, "client {client}, server {server}");
            }
        }
        assert_eq!((Level::from_number(4), Level::default()), (None, Level::IfRequested));
    }
}
