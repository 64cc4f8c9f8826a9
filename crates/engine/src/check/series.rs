//! The self-check of a series of load steps: whether its windows and what was outside them are all that its users did.

use sharebench_model::units::counted;
use sharebench_model::{Check, LoadCounts, Verdict};

use crate::check::verdict::{check, unless};
use crate::record::tally::Tally;

/// The accounts of a series: sums over the tallies of its windows.
#[derive(Debug, Default)]
pub(crate) struct SeriesAccount {
    windows: u32,
    inside: LoadCounts,
    outside: LoadCounts,
    /// Transactions of all users by their own count.
    by_users: u64,
}

impl SeriesAccount {
    /// Adds the tally of a window, with what was outside it.
    pub fn add(&mut self, tally: &Tally) {
        self.windows += 1;
        self.inside += LoadCounts {
            transactions: tally.transactions,
            operations: tally.operations,
            bytes: tally.bytes,
            wire: tally.wire,
        };
        self.outside += tally.outside;
        self.by_users += tally.transactions_by_users;
    }

    /// Compares the sums with what the users counted themselves and, if the sessions count it, with the file data on the
    /// wire. Neither knows of windows.
    pub fn check(&self, wire_counted: bool) -> Check {
        let mut total = self.inside;
        total += self.outside;
        let detail = format!(
            "{} of {} transactions ended in {}, {} outside them",
            self.inside.transactions,
            self.by_users,
            counted(self.windows, "window"),
            self.outside.transactions
        );
        if total.transactions != self.by_users {
            let detail = format!("{detail}: transactions were lost or counted twice");
            return check("series", Verdict::Invalid, detail);
        }
        if !wire_counted {
            return check("series", Verdict::Valid, detail);
        }
        let received = total.wire.payload_received;
        let sent = total.wire.payload_sent;
        let detail = format!(
            "{detail}; users read {} B and wrote {} B in all, the wire carried {received} B and {sent} B of file data",
            total.bytes.read, total.bytes.written
        );
        if received < total.bytes.read || sent < total.bytes.written {
            return check("series", Verdict::Invalid, format!("{detail}: these bytes never crossed it"));
        }
        let more = received > total.bytes.read || sent > total.bytes.written;
        unless("series", more, detail, "the rest belongs to operations that failed, or to a read-ahead")
    }
}

#[cfg(test)]
mod tests {
    use sharebench_model::{IoBytes, WireCount};

    use super::*;

    fn tally(transactions: u64, outside: u64, by_users: u64) -> Tally {
        let read = |count: u64| IoBytes { read: count * 512, written: 0 };
        let wire = |count: u64| WireCount { payload_received: count * 512, ..WireCount::default() };
        Tally {
            transactions,
            bytes: read(transactions),
            wire: wire(transactions),
            outside: LoadCounts {
                transactions: outside,
                operations: outside,
                bytes: read(outside),
                wire: wire(outside),
            },
            transactions_by_users: by_users,
            ..Tally::default()
        }
    }

    fn verdict(tallies: &[Tally], wire_counted: bool) -> Verdict {
        let mut account = SeriesAccount::default();
        for tally in tallies {
            account.add(tally);
        }
        account.check(wire_counted).verdict
    }

    #[test]
    fn windows_and_the_rest_add_up_to_what_users_and_wire_counted() {
        let whole = [tally(10, 3, 0), tally(20, 4, 37)];
        assert_eq!(verdict(&whole, true), Verdict::Valid);
        let mut twice = whole.clone();
        twice[1].outside.transactions += 1;
        assert_eq!(verdict(&twice, false), Verdict::Invalid);
        let mut missing = whole.clone();
        missing[0].outside.wire.payload_received -= 512;
        assert_eq!((verdict(&missing, true), verdict(&missing, false)), (Verdict::Invalid, Verdict::Valid));
        let mut more = whole;
        more[1].wire.payload_received += 1;
        assert_eq!(verdict(&more, true), Verdict::Warning);
    }
}
