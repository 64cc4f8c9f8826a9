//! One direction of a connection: the bytes on their way, and when each of them arrives.

use std::collections::VecDeque;

use sharebench_model::units::BitRate;

/// The most bytes on their way: a sender that is faster waits, as for a TCP window of this size.
pub(crate) const MAX_QUEUED: usize = 16 << 20;
/// A shaped link delivers pieces of at least one Ethernet frame, and of about this time.
const PIECE_NS: u64 = 100_000;
const MIN_PIECE: u64 = 1_460;
/// A queue that was larger than this returns its memory when it is empty.
const KEPT_BYTES: usize = 256 << 10;

/// How a direction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The sender will send no more.
    Closed,
    /// The sender's connection broke.
    Reset,
}

/// A queue of bytes with the instants at which they arrive. It reads no clock: every method takes the time, in
/// nanoseconds of any one origin that does not go back.
///
/// Bytes pass a link, one after another at its rate, and then take the delay. The times are computed from the instants
/// of arrival (Lindley's recursion), so that a thread that wakes up late delays nothing that follows.
#[derive(Debug)]
pub(crate) struct Direction {
    delay_ns: u64,
    rate: Option<BitRate>,
    /// When the link has sent all bytes so far.
    link_free_ns: u64,
    /// No byte arrives before this, because it follows the earlier ones.
    last_due_ns: u64,
    bytes: VecDeque<u8>,
    /// Instants and lengths of the bytes that are not due yet.
    pieces: VecDeque<(u64, usize)>,
    /// Bytes at the front that are due.
    due: usize,
    end: Option<(u64, End)>,
}

impl Direction {
    pub(crate) fn new(delay_ns: u64, rate: Option<BitRate>) -> Self {
        Self {
            delay_ns,
            rate,
            link_free_ns: 0,
            last_due_ns: 0,
            bytes: VecDeque::new(),
            pieces: VecDeque::new(),
            due: 0,
            end: None,
        }
    }

    /// Sends bytes at the time `now`.
    pub(crate) fn send(&mut self, now: u64, bytes: &[u8]) {
        let piece = self.rate.map_or(bytes.len(), |rate| {
            let in_time = u128::from(rate.0) * u128::from(PIECE_NS) / 8_000_000_000;
            (in_time as usize).max(MIN_PIECE as usize)
        });
        for piece in bytes.chunks(piece.max(1)) {
            let transfer = self.rate.map_or(0, |rate| {
                let nanos = piece.len() as u128 * 8_000_000_000 / u128::from(rate.0.max(1));
                u64::try_from(nanos).unwrap_or(u64::MAX)
            });
            self.link_free_ns = now.max(self.link_free_ns).saturating_add(transfer);
            self.enqueue(self.link_free_ns.saturating_add(self.delay_ns), piece);
        }
    }

    /// Lets bytes arrive at an instant, without passing the link.
    pub(crate) fn enqueue(&mut self, due_ns: u64, bytes: &[u8]) {
        self.last_due_ns = self.last_due_ns.max(due_ns);
        self.bytes.extend(bytes);
        match self.pieces.back_mut() {
            Some((due, len)) if *due == self.last_due_ns => *len += bytes.len(),
            _ => self.pieces.push_back((self.last_due_ns, bytes.len())),
        }
    }

    /// Ends the direction after everything that was sent. The first end counts.
    pub(crate) fn end(&mut self, now: u64, end: End) {
        let due = now.max(self.link_free_ns).saturating_add(self.delay_ns).max(self.last_due_ns);
        self.end.get_or_insert((due, end));
    }

    /// Number of bytes on their way.
    pub(crate) fn queued(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes that have arrived at the time `now`, as far as they are contiguous in memory.
    pub(crate) fn arrived(&mut self, now: u64) -> &[u8] {
        while let Some((due, len)) = self.pieces.front()
            && *due <= now
        {
            self.due += len;
            self.pieces.pop_front();
        }
        let front = self.bytes.as_slices().0;
        &front[..front.len().min(self.due)]
    }

    /// Removes bytes that [`Self::arrived`] returned.
    pub(crate) fn remove(&mut self, count: usize) {
        let count = count.min(self.due);
        self.bytes.drain(..count);
        self.due -= count;
        if self.bytes.is_empty() && self.bytes.capacity() > KEPT_BYTES {
            self.bytes = VecDeque::new();
        }
    }

    /// The end, once every byte before it was removed and it has arrived.
    pub(crate) fn arrived_end(&self, now: u64) -> Option<End> {
        let (due, end) = self.end?;
        (self.bytes.is_empty() && due <= now).then_some(end)
    }

    /// The next instant after `now` at which something arrives.
    pub(crate) fn next_due(&self, now: u64) -> Option<u64> {
        let piece = self.pieces.front().map(|(due, _)| *due);
        piece.or(self.end.map(|(due, _)| due)).filter(|due| *due > now)
    }

    /// Discards everything on its way.
    pub(crate) fn discard(&mut self) {
        self.bytes = VecDeque::new();
        self.pieces = VecDeque::new();
        self.due = 0;
        self.end = None;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Takes what has arrived at a time, at most `limit` bytes.
    fn take(direction: &mut Direction, now: u64, limit: usize) -> Vec<u8> {
        let mut taken = Vec::new();
        loop {
            let arrived = direction.arrived(now);
            let count = arrived.len().min(limit - taken.len());
            if count == 0 {
                return taken;
            }
            taken.extend_from_slice(&arrived[..count]);
            direction.remove(count);
        }
    }

    #[test]
    fn requests_in_flight_together_take_the_delay_once() {
        let mut direction = Direction::new(10_000, None);
        for n in 0..32 {
            direction.send(n, &[n as u8]);
        }
        assert_eq!(take(&mut direction, 9_999, 99), []);
        assert_eq!(direction.next_due(9_999), Some(10_000));
        assert_eq!(take(&mut direction, 10_031, 99), (0..32).collect::<Vec<u8>>());
        assert_eq!((direction.queued(), direction.next_due(10_031)), (0, None));
    }

    #[test]
    fn a_link_delivers_its_rate_however_the_bytes_are_sent() {
        // 80 Mbit/s: 10 bytes per microsecond.
        for burst in [100, 5_000, 1_000_000] {
            let mut direction = Direction::new(1_000_000, Some(BitRate(80_000_000)));
            for _ in 0..1_000_000 / burst {
                direction.send(0, &vec![7; burst]);
            }
            let half = take(&mut direction, 51_000_000, 1 << 20).len();
            assert!((500_000 - 1_460..=500_000).contains(&half), "{half}");
            assert_eq!(half + take(&mut direction, 101_000_000, 1 << 20).len(), 1_000_000);
        }
    }

    #[test]
    fn an_idle_link_saves_nothing_for_later() {
        let mut direction = Direction::new(0, Some(BitRate(8_000_000)));
        direction.send(0, &[1; 1_000]);
        direction.send(9_000_000, &[2; 1_000]);
        assert_eq!(direction.arrived(9_999_999), [1; 1_000]);
        direction.remove(1_000);
        assert_eq!(direction.arrived(10_000_000), [2; 1_000]);
    }

    #[test]
    fn the_end_arrives_after_the_last_byte() {
        let mut direction = Direction::new(10, None);
        direction.send(0, b"last");
        direction.end(5, End::Closed);
        direction.end(6, End::Reset);
        assert_eq!(direction.arrived_end(99), None, "bytes wait");
        assert_eq!(take(&mut direction, 10, 99), b"last");
        assert_eq!((direction.arrived_end(14), direction.next_due(14)), (None, Some(15)));
        assert_eq!(direction.arrived_end(15), Some(End::Closed));
    }

    #[test]
    fn bytes_never_overtake_a_greeting() {
        let mut direction = Direction::new(10, None);
        direction.enqueue(100, b"hello ");
        direction.send(1, b"world");
        assert_eq!(take(&mut direction, 99, 99), b"");
        assert_eq!(take(&mut direction, 100, 99), b"hello world");
    }

    proptest! {
        #[test]
        fn every_byte_arrives_once_and_in_order(
            steps in prop::collection::vec((0u64..5_000, 0usize..6_000, 0usize..9_000), 1..60),
            delay in 0u64..20_000,
            rate in prop::option::of(9_600u64..10_000_000_000),
        ) {
            let mut direction = Direction::new(delay, rate.map(BitRate));
            let mut now = 0;
            let mut next = 0u8;
            let mut sent = Vec::new();
            let mut received = Vec::new();
            for (pause, len, limit) in steps {
                now += pause;
                let bytes: Vec<u8> = (0..len).map(|_| { next = next.wrapping_add(1); next }).collect();
                direction.send(now, &bytes);
                sent.extend(bytes);
                received.extend(take(&mut direction, now, limit));
                prop_assert_eq!(sent.len() - received.len(), direction.queued());
            }
            direction.end(now, End::Closed);
            received.extend(take(&mut direction, u64::MAX, usize::MAX));
            prop_assert_eq!(sent, received);
            prop_assert_eq!(direction.arrived_end(u64::MAX), Some(End::Closed));
        }
    }
}
