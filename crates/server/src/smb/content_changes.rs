//! The changes over an open that are in progress, and those that come too late: from before the loss of a channel
//! (MS-SMB2 3.3.5.2.10).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sharebench_smb::NtStatus;
use sharebench_smb::wire::header::{Header, flags};

use crate::smb::status::Outcome;

/// Where the number of changes since the last loss of a channel begins, and the number of those before it.
const EARLIER: u32 = 24;
const SEQUENCE: u32 = 48;
const COUNT: u64 = (1 << EARLIER) - 1;
/// A sequence number that is ahead by more than this is an earlier one (MS-SMB2 3.3.5.2.10).
const MAX_AHEAD: u16 = 0x7FFF;

/// The channel sequence of an open with the changes that are in progress, in one number, so that a change needs no lock:
/// `Open.ChannelSequence`, `Open.OutstandingPreRequestCount` and `Open.OutstandingRequestCount` of MS-SMB2 3.3.1.10, of the
/// requests that change the open.
pub(super) struct ContentChanges(AtomicU64);

/// A change that is in progress.
pub(super) struct ContentChange<'a> {
    changes: &'a ContentChanges,
    sequence: u16,
}

/// What a request says of the channels of its session.
#[derive(Clone, Copy, Default)]
pub(super) struct ChannelState {
    /// Number of losses of channels that the client knows of.
    sequence: u16,
    /// The request was sent before, on a channel that was lost.
    is_replay: bool,
}

impl ChannelState {
    /// That of a request in a dialect that has channels.
    pub(super) fn of(header: &Header) -> Self {
        // The upper half is reserved (MS-SMB2 2.2.1.2).
        Self { sequence: header.status as u16, is_replay: header.is(flags::REPLAY_OPERATION) }
    }
}

impl ContentChanges {
    /// Time between two looks at the number.
    const POLL: Duration = Duration::from_micros(200);

    /// Those of a new open.
    pub(super) fn new(state: ChannelState) -> Self {
        Self(AtomicU64::new(u64::from(state.sequence) << SEQUENCE))
    }

    /// Begins a change, unless the client has lost a channel since it sent the request, or repeats a request while it may
    /// still be performed.
    pub(super) fn begin(&self, state: ChannelState) -> Outcome<ContentChange<'_>> {
        let ChannelState { sequence, is_replay } = state;
        let next = |now: u64| {
            let ahead = sequence.wrapping_sub((now >> SEQUENCE) as u16);
            let earlier = now >> EARLIER & COUNT;
            match ahead {
                0 if is_replay && earlier > 0 => None,
                0 => Some(now + 1),
                1..=MAX_AHEAD => {
                    let earlier = earlier + (now & COUNT);
                    Some(u64::from(sequence) << SEQUENCE | earlier << EARLIER | 1)
                }
                _ => None,
            }
        };
        let begun = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next);
        begun.map_err(|_| NtStatus::FILE_NOT_AVAILABLE)?;
        Ok(ContentChange { changes: self, sequence })
    }

    /// Follows the channel sequence of a client that continues the open over a new connection.
    pub(super) fn continue_with(&self, state: ChannelState) {
        self.0.store(u64::from(state.sequence) << SEQUENCE, Ordering::SeqCst);
    }

    /// Waits until they have ended. They call the volume, and wait for nobody.
    pub(super) fn wait(&self) {
        while self.0.load(Ordering::SeqCst) << (u64::BITS - SEQUENCE) != 0 {
            std::thread::sleep(Self::POLL);
        }
    }
}

impl Drop for ContentChange<'_> {
    fn drop(&mut self) {
        let end = |now: u64| {
            let one = if (now >> SEQUENCE) as u16 == self.sequence { 1 } else { 1 << EARLIER };
            Some(now - one)
        };
        // The closure always returns a number.
        let _ = self.changes.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, end);
    }
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
        changes.continue_with(state(7, false));
        assert!(changes.begin(state(6, false)).is_err());
        drop(changes.begin(state(7, true)).unwrap());
    }
}
