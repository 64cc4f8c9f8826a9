//! Requests that the server wants to see again, some of them after a pause.

use std::future::Future;
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

use tokio::time::{Sleep, sleep};

use crate::client::channels::requests::Queued;

/// A request that was sent as often as this is sent again at once.
const TIMES_AT_ONCE: u32 = 4;
/// The first pause. Each further one of a request is twice as long, up to the longest. All pauses of the most requests for one operation
/// take about 6 s.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// The pause before a request that was sent this many times is sent again; none at first.
fn pause_before(times_sent: u32) -> Option<Duration> {
    let doublings = times_sent.checked_sub(TIMES_AT_ONCE)?;
    Some(FIRST_PAUSE.saturating_mul(1 << doublings.min(16)).min(LONGEST_PAUSE))
}

/// Requests that wait for the end of a pause. A server under load may take long to end what a lost channel has begun; requests
/// that follow each other without a pause would only add to its load.
#[derive(Debug, Default)]
pub(crate) struct Postponed {
    requests: Vec<Queued>,
    /// The end of the pause that all of them share.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Postponed {
    /// Takes a request that is to be sent again; returns it if that is at once.
    pub(crate) fn add(&mut self, queued: Queued) -> Option<Queued> {
        let Some(pause) = pause_before(queued.times_sent) else { return Some(queued) };
        self.timer.get_or_insert_with(|| Box::pin(sleep(pause)));
        self.requests.push(queued);
        None
    }

    /// Number of requests.
    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }

    /// All requests.
    pub(crate) fn take(&mut self) -> Vec<Queued> {
        self.timer = None;
        std::mem::take(&mut self.requests)
    }

    /// The requests whose pause is over; otherwise the task is woken then.
    pub(crate) fn take_due(&mut self, cx: &mut Context<'_>) -> Vec<Queued> {
        let Some(timer) = &mut self.timer else { return Vec::new() };
        if timer.as_mut().poll(cx).is_pending() { Vec::new() } else { self.take() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end() {
        assert_eq!(pause_before(3), None);
        assert_eq!(pause_before(4), Some(FIRST_PAUSE));
        assert_eq!(pause_before(6), Some(4 * FIRST_PAUSE));
        assert_eq!(pause_before(64), Some(LONGEST_PAUSE));
        let all: Duration = (0..64).filter_map(pause_before).sum();
        assert!(all > Duration::from_secs(5) && all < Duration::from_secs(7), "{all:?}");
    }
}
