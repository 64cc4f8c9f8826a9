//! The changes over an open that are in progress, and those that come too late: from before the loss of a channel
//! (MS-SMB2 3.3.5.2.10).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sharebench_smb::NtStatus;
use sharebench_smb::wire::header::{Header, flags};

use crate::smb::status::Outcome;

/// Places in the number of [`ContentChanges`]: the changes since the last loss of a channel, which begin at 0, the earlier ones,
/// and the channel sequence.
const EARLIER: u32 = 24;
const SEQUENCE: u32 = 48;
/// Largest number of changes in each of the two places; a client has credits for far fewer requests.
const COUNT: u64 = (1 << EARLIER) - 1;
/// A sequence number that is ahead by more than this is an earlier one (MS-SMB2 3.3.5.2.10).
const MAX_AHEAD: u16 = 0x7FFF;

/// The channel sequence of an open with the changes that are in progress, in one number, so that a change needs no lock:
/// `Open.ChannelSequence`, `Open.OutstandingPreRequestCount` and `Open.OutstandingRequestCount` of MS-SMB2 3.3.1.10, of the
/// requests that change the open.
pub(crate) struct ContentChanges(AtomicU64);

/// A change that is in progress.
pub(crate) struct ContentChange<'a> {
    changes: &'a ContentChanges,
    sequence: u16,
}

/// What a request says of the channels of its session.
#[derive(Clone, Copy, Default)]
pub(crate) struct ChannelState {
    /// Number of losses of channels that the client knows of.
    sequence: u16,
    /// The request was sent before, on a channel that was lost.
    is_replay: bool,
}

impl ChannelState {
    /// That of a request in a dialect that has channels.
    pub(crate) fn from_header(header: &Header) -> Self {
        // The upper half is reserved (MS-SMB2 2.2.1.2).
        Self { sequence: header.status as u16, is_replay: header.is(flags::REPLAY_OPERATION) }
    }
}

impl ContentChanges {
    /// Time between two looks at the number.
    const POLL: Duration = Duration::from_micros(200);

    /// Those of a new open.
    pub(crate) fn new(state: ChannelState) -> Self {
        Self(AtomicU64::new(u64::from(state.sequence) << SEQUENCE))
    }

    /// Begins a change, unless the client has lost a channel since it sent the request, or repeats a request while it may
    /// still be performed.
    pub(crate) fn begin(&self, state: ChannelState) -> Outcome<ContentChange<'_>> {
        let ChannelState { sequence, is_replay } = state;
        let next = |now: u64| {
            let ahead = sequence.wrapping_sub((now >> SEQUENCE) as u16);
            let earlier = now >> EARLIER & COUNT;
            match ahead {
                0 if is_replay && earlier > 0 => None,
                0 => Some(now + 1),
                1..=MAX_AHEAD => Some(all_earlier(now, sequence) + 1),
                _ => None,
            }
        };
        let begun = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next);
        begun.map_err(|_| NtStatus::FILE_NOT_AVAILABLE)?;
        Ok(ContentChange { changes: self, sequence })
    }

    /// Follows the channel sequence of a client that continues the open over a new connection. A request of the lost one may
    /// still begin, which then finds its session closed and ends.
    pub(crate) fn continue_with(&self, state: ChannelState) {
        self.update(|now| all_earlier(now, state.sequence));
    }

    fn update(&self, next: impl Fn(u64) -> u64) {
        // The closure always returns a number.
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| Some(next(now)));
    }

    /// Waits until they have ended. They call the volume, and wait for nobody.
    pub(crate) fn wait(&self) {
        while self.0.load(Ordering::SeqCst) << (u64::BITS - SEQUENCE) != 0 {
            std::thread::sleep(Self::POLL);
        }
    }
}

impl Drop for ContentChange<'_> {
    fn drop(&mut self) {
        self.changes.update(|now| {
            // An earlier change may have the same sequence, because a client can count once around.
            let is_current = (now >> SEQUENCE) as u16 == self.sequence && now & COUNT > 0;
            now - if is_current { 1 } else { 1 << EARLIER }
        });
    }
}

/// All changes in progress are earlier than this channel sequence.
const fn all_earlier(now: u64, sequence: u16) -> u64 {
    let changes = (now >> EARLIER & COUNT) + (now & COUNT);
    (sequence as u64) << SEQUENCE | changes << EARLIER
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn state(sequence: u16, is_replay: bool) -> ChannelState {
        ChannelState { sequence, is_replay }
    }

    #[test]
    fn changes_from_before_a_loss_are_too_late() {
        let changes = ContentChanges::new(state(0, false));
        drop(changes.begin(state(1, true)).unwrap());
        drop(changes.begin(state(1, false)).unwrap());
        assert!(changes.begin(state(0, false)).is_err());
        assert!(changes.begin(state(0x8002, false)).is_err(), "earlier by 0x7FFF");
        drop(changes.begin(state(0x8000, false)).unwrap());
        changes.wait();
    }

    #[test]
    fn change_is_not_repeated_while_the_first_attempt_is_in_progress() {
        let changes = ContentChanges::new(state(0xFFFF, false));
        let first = changes.begin(state(0xFFFF, false)).unwrap();
        let second = changes.begin(state(0, false)).unwrap();
        assert!(changes.begin(state(0, true)).is_err());
        let third = changes.begin(state(1, false)).unwrap();
        drop(second);
        assert!(changes.begin(state(1, true)).is_err(), "the first is older by two losses");
        drop(first);
        drop(changes.begin(state(1, true)).unwrap());
        drop(third);
        changes.wait();
    }

    #[test]
    fn a_client_that_counts_once_around_delays_no_end_of_its_open() {
        let changes = ContentChanges::new(state(0, false));
        let first = changes.begin(state(0, false)).unwrap();
        for sequence in [0x7FFF, 0xFFFE, 0] {
            drop(changes.begin(state(sequence, false)).unwrap());
        }
        let second = changes.begin(state(0, false)).unwrap();
        drop(first);
        drop(second);
        changes.wait();
        assert_eq!(changes.0.load(Ordering::SeqCst), 0, "no count is below 0");
    }

    #[test]
    fn a_late_request_of_a_lost_connection_ends_after_the_open_continues() {
        let changes = ContentChanges::new(state(3, false));
        let late = changes.begin(state(3, false)).unwrap();
        changes.continue_with(state(3, false));
        assert!(changes.begin(state(2, false)).is_err());
        drop(late);
        changes.wait();
        drop(changes.begin(state(3, true)).unwrap());
        assert_eq!(changes.0.load(Ordering::SeqCst), 3 << SEQUENCE);
    }
}
