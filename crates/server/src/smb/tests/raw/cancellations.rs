//! CANCEL requests that overtake the request that they name.

use super::*;

#[test]
fn a_cancellation_is_not_lost_if_a_worker_answers_it_before_its_request() {
    on_both(|server, _| {
        let mut one = Raw::log_in(server.addr(), "share");
        let first = one.open("file", disposition::CREATE).unwrap();
        let second = one.open("file", disposition::OPEN).unwrap();
        assert_eq!(one.lock(first, (0, 10), lock_flags::EXCLUSIVE), NtStatus::SUCCESS);
        for round in 0..500 {
            // One that names no request that waits is without effect.
            let closed = one.message(command::ECHO, 0, |body| Empty::default().encode(body));
            one.send(&cancellation(&closed));
            let waiting = one.lock_request(second, (0, 1), lock_flags::EXCLUSIVE);
            one.send(&closed);
            one.send(&waiting);
            one.send(&cancellation(&waiting));
            let mut replies: Vec<_> = (0..3).map(|_| one.status()).collect();
            replies.sort_unstable_by_key(|status| status.0);
            assert_eq!(replies, [NtStatus::SUCCESS, NtStatus::PENDING, NtStatus::CANCELLED], "round {round}");
        }
    });
}
