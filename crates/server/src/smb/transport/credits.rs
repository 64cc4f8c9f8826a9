//! The message ids that a client may use (MS-SMB2 3.3.1.1).

/// Largest number of ids between the oldest unused one and the newest granted one, and of credits that a client has.
const MAX_CREDITS: u64 = 8192;
const WORD_BITS: u64 = 64;
const WORDS: usize = (MAX_CREDITS / WORD_BITS) as usize;

/// The window of message ids that the server has granted. Each id is valid once, so that a recorded request cannot be
/// replayed.
#[derive(Debug)]
pub(crate) struct CreditWindow {
    /// Oldest id that was not used.
    low: u64,
    /// End of the granted ids.
    high: u64,
    /// Used ids of the window, by their remainder.
    used: Box<[u64; WORDS]>,
}

impl CreditWindow {
    /// The window of a new connection: id 0.
    pub(crate) fn new() -> Self {
        Self { low: 0, high: 1, used: Box::new([0; WORDS]) }
    }

    fn bit(id: u64) -> (usize, u64) {
        let location = id % MAX_CREDITS;
        ((location / WORD_BITS) as usize, 1 << (location % WORD_BITS))
    }

    /// Uses the `charge` ids from `id` on; false if one of them was not granted, or was used before.
    pub(crate) fn use_ids(&mut self, id: u64, charge: u16) -> bool {
        let Some(end) = id.checked_add(u64::from(charge)) else { return false };
        if id < self.low || end > self.high {
            return false;
        }
        let taken = |id| {
            let (word, bit) = Self::bit(id);
            self.used[word] & bit != 0
        };
        if (id..end).any(taken) {
            return false;
        }
        for id in id..end {
            let (word, bit) = Self::bit(id);
            self.used[word] |= bit;
        }
        while self.low < self.high {
            let (word, bit) = Self::bit(self.low);
            if self.used[word] & bit == 0 {
                break;
            }
            self.used[word] &= !bit;
            self.low += 1;
        }
        true
    }

    /// Grants what a request wants, at least one credit, as far as the window allows.
    pub(crate) fn grant(&mut self, requested: u16) -> u16 {
        let space = MAX_CREDITS - (self.high - self.low);
        let granted = u64::from(requested.max(1)).min(space);
        self.high += granted;
        granted as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_granted_id_is_valid_once_in_any_order() {
        let mut window = CreditWindow::new();
        assert!(!window.use_ids(1, 1) && !window.use_ids(0, 2));
        assert!(window.use_ids(0, 1) && !window.use_ids(0, 1));
        assert_eq!(window.grant(10), 10);
        assert!(window.use_ids(5, 4) && !window.use_ids(8, 1) && !window.use_ids(4, 2));
        assert!(window.use_ids(1, 4) && window.use_ids(9, 2) && !window.use_ids(11, 1));
        assert_eq!((window.low, window.high), (11, 11));
        assert!(!window.use_ids(u64::MAX, 2));
    }

    #[test]
    fn a_client_that_leaves_an_id_unused_is_granted_a_bounded_number() {
        let mut window = CreditWindow::new();
        let mut next = 0;
        window.grant(2);
        next += 1;
        loop {
            let granted = window.grant(1000);
            if granted == 0 {
                break;
            }
            assert!(window.use_ids(next, 1));
            next += 1;
        }
        assert_eq!(window.high - window.low, MAX_CREDITS);
        assert!(window.use_ids(0, 1));
        assert!(window.grant(1) == 1 && window.use_ids(next, 1));
        for _ in 0..100_000 {
            next += 1;
            assert!(window.use_ids(next, 1));
            assert_eq!(window.grant(1), 1);
        }
    }
}
