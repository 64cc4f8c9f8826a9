//! Work that the stop signal may abandon.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use crate::time::clock::Clock;
use crate::time::stop::StopSignal;

/// Time between two looks at the stop signal.
const POLL_INTERVAL_NS: u64 = 20_000_000;

/// Does the work to its end, or abandons it when the stop was requested. In virtual time nothing requests a stop from
/// outside, so the work is done without timers of its own.
pub(crate) async fn until_stopped<T>(
    clock: &Clock,
    stop: &StopSignal,
    work: impl Future<Output = T>,
) -> Option<T> {
    if clock.is_virtual() {
        return Some(work.await);
    }
    let mut work = pin!(work);
    let mut look = clock.sleep_coarse(clock.now() + POLL_INTERVAL_NS);
    poll_fn(|cx| {
        if let Poll::Ready(done) = work.as_mut().poll(cx) {
            return Poll::Ready(Some(done));
        }
        loop {
            if stop.is_stopped() {
                return Poll::Ready(None);
            }
            match Pin::new(&mut look).poll(cx) {
                Poll::Ready(()) => look.reset(clock.now() + POLL_INTERVAL_NS),
                Poll::Pending => return Poll::Pending,
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_never_ends_is_abandoned_at_the_stop_signal() {
        let clock = Clock::start();
        let stop = StopSignal::default();
        let requested = stop.clone();
        let requests = std::thread::spawn(move || requested.stop());
        let abandoned = clock.block_on(until_stopped(&clock, &stop, std::future::pending::<()>()));
        assert!(matches!(abandoned, Ok(None)), "it is abandoned");
        requests.join().unwrap();
        let done = clock.block_on(until_stopped(&clock, &StopSignal::default(), std::future::ready(7)));
        assert!(matches!(done, Ok(Some(7))), "it is done");
    }
}
