//! Lines about what servers refuse because they are at a limit: connections, or memory for the state of clients.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::front_ends::front_end::EventLog;
use crate::front_ends::state_budget::StateBudget;

/// Shortest time between two lines.
const INTERVAL: Duration = Duration::from_secs(10);

/// Counts the clients or requests that a server refuses at its limit, and writes the first one and then a sum at most once
/// per [`INTERVAL`], so that a flood of them does not become a flood of lines.
#[derive(Debug)]
pub(crate) struct RefusalLog {
    protocol: &'static str,
    /// `client` or `request`.
    what: &'static str,
    /// The limit with its unit and its flag.
    limit: String,
    log: EventLog,
    start: Instant,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Refusals since the last line.
    refused: u64,
    /// Time of the last line.
    written: Option<Duration>,
}

impl RefusalLog {
    /// A log of the server of `protocol` with this limit: a number with its unit and its flag.
    pub(crate) fn new(protocol: &'static str, limit: String, log: EventLog) -> Self {
        Self { protocol, what: "client", limit, log, start: Instant::now(), counts: Mutex::default() }
    }

    /// A budget of all servers of a volume for the state of their clients, which logs the requests that exceed it.
    pub(crate) fn state_budget(limit: usize, log: EventLog) -> StateBudget {
        let limit_text = format!("{} MiB for the state of clients", limit >> 20);
        let refusals = Self { what: "request", ..Self::new("serve", limit_text, log) };
        StateBudget::new(limit, move || refusals.note())
    }

    /// The protocol of the server.
    pub(crate) fn protocol(&self) -> &'static str {
        self.protocol
    }

    /// Counts a refused client or request.
    pub(crate) fn note(&self) {
        self.note_at(self.start.elapsed());
    }

    /// Writes what has been counted since the last line, if that was long enough ago.
    pub(crate) fn flush(&self) {
        self.flush_at(self.start.elapsed());
    }

    fn note_at(&self, now: Duration) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).refused += 1;
        self.flush_at(now);
    }

    fn flush_at(&self, now: Duration) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = counts.written.is_some_and(|written| now < written + INTERVAL);
        if counts.refused == 0 || recent {
            return;
        }
        let refused = std::mem::take(&mut counts.refused);
        counts.written = Some(now);
        drop(counts);
        let plural = if refused == 1 { "" } else { "s" };
        self.log.write(&format!(
            "{}: refused {refused} {}{plural}: the server is at its limit of {}",
            self.protocol, self.what, self.limit
        ));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn refusals_are_written_at_once_and_then_as_a_sum_per_interval() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let log = {
            let lines = Arc::clone(&lines);
            EventLog::new(move |line| lines.lock().unwrap().push(line.to_owned()))
        };
        let refusals = RefusalLog::new("nfs", "8 clients (--max-clients)".to_owned(), log);
        for at_ms in [5, 6, 7, 9_000] {
            refusals.note_at(Duration::from_millis(at_ms));
        }
        refusals.flush_at(Duration::from_secs(9));
        assert_eq!(lines.lock().unwrap().len(), 1);
        refusals.flush_at(Duration::from_secs(11));
        refusals.flush_at(Duration::from_secs(60));
        let expected = [
            "nfs: refused 1 client: the server is at its limit of 8 clients (--max-clients)",
            "nfs: refused 3 clients: the server is at its limit of 8 clients (--max-clients)",
        ];
        assert_eq!(*lines.lock().unwrap(), expected);
    }

    #[test]
    fn an_exhausted_budget_is_one_line() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let log = {
            let lines = Arc::clone(&lines);
            EventLog::new(move |line| lines.lock().unwrap().push(line.to_owned()))
        };
        let budget = RefusalLog::state_budget(1 << 20, log);
        let charge = budget.charge(1 << 20);
        assert!(charge.is_some() && (0..1000).all(|_| budget.charge(1).is_none()));
        let expected =
            "serve: refused 1 request: the server is at its limit of 1 MiB for the state of clients";
        assert_eq!(*lines.lock().unwrap(), [expected]);
    }
}
