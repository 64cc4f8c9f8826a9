//! Streams of transactions: who is active when, and how long users think between two transactions.

use super::sequence::Sequence;

/// Parts into which the time of the input is cut at most.
const MAX_SLOTS: u64 = 60;

/// How many users are active, over time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UsersOverTime {
    /// Users with at least one transaction.
    pub users: u32,
    /// Streams of transactions: a user who performs several at a time counts as several.
    pub streams: u32,
    /// Streams that are active on average: those from their first to their last transaction, with half a cycle on both sides.
    pub mean_active: f64,
    /// Streams with a transaction in a slot, in the busiest slot.
    pub peak: u32,
    /// Length of a slot, ns.
    pub slot_ns: u64,
    /// Streams with a transaction, by slot.
    pub active: Vec<u32>,
}

/// The streams of all users.
#[derive(Debug, Default)]
pub struct Streams {
    /// From the end of a transaction to the start of the next one in its stream, ns.
    pub pauses: Vec<u64>,
    /// Transactions that begin while all streams of their user are busy.
    pub overlaps: u64,
    /// When how many are active.
    pub users: UsersOverTime,
}

/// One stream.
struct Stream {
    first: u64,
    busy_until: u64,
    transactions: u64,
    /// Slots with a transaction.
    slots: Vec<bool>,
}

/// The streams of sequences that are in the order of their starts.
pub fn streams(sequences: &[Sequence], users: usize, duration: u64) -> Streams {
    let mut by_user: Vec<Vec<&Sequence>> = vec![Vec::new(); users];
    for sequence in sequences {
        if let Some(own) = by_user.get_mut(sequence.user as usize) {
            own.push(sequence);
        }
    }
    let slots = (duration / 1_000_000_000).clamp(1, MAX_SLOTS);
    let slot_ns = (duration / slots).max(1);
    let mut found = Streams::default();
    let mut all = Vec::new();
    for own in by_user.iter().filter(|own| !own.is_empty()) {
        found.users.users += 1;
        all.extend(split(own, slots as usize, slot_ns, &mut found));
    }
    found.users.streams = all.len() as u32;
    found.users.slot_ns = slot_ns;
    found.users.active = (0..slots as usize)
        .map(|slot| all.iter().filter(|s| s.slots.get(slot) == Some(&true)).count() as u32)
        .collect();
    found.users.peak = found.users.active.iter().copied().max().unwrap_or(0);
    found.users.mean_active =
        all.iter().fold(0.0, |sum, stream| sum + active_ns(stream, duration)) / duration.max(1) as f64;
    found
}

/// Divides the transactions of a user among as many streams as are busy at a time, on average.
fn split(own: &[&Sequence], slots: usize, slot_ns: u64, found: &mut Streams) -> Vec<Stream> {
    let mut streams: Vec<Stream> = Vec::new();
    let wanted = concurrency(own);
    for sequence in own {
        let pause = if streams.len() < wanted
            && streams.iter().all(|stream| stream.busy_until > sequence.start)
            || streams.is_empty()
        {
            let first = sequence.start;
            streams.push(Stream { first, busy_until: first, transactions: 0, slots: vec![false; slots] });
            None
        } else {
            let earliest = streams.iter().map(|stream| stream.busy_until).min().unwrap_or(0);
            found.overlaps += u64::from(earliest > sequence.start);
            Some(sequence.start.saturating_sub(earliest))
        };
        let Some(stream) =
            streams.iter_mut().min_by_key(|stream| (stream.transactions > 0, stream.busy_until))
        else {
            continue;
        };
        found.pauses.extend(pause);
        // A plan has no pauses within a transaction: they come after it.
        stream.busy_until = sequence.end.saturating_sub(sequence.paused).max(sequence.start);
        stream.transactions += 1;
        if let Some(slot) =
            stream.slots.get_mut(((sequence.start / slot_ns) as usize).min(slots.saturating_sub(1)))
        {
            *slot = true;
        }
    }
    streams
}

/// Transactions of a user at a time, while there are any.
fn concurrency(own: &[&Sequence]) -> usize {
    let mut sum = 0u128;
    let mut union = 0u128;
    let mut until = 0u64;
    for sequence in own {
        let end = sequence.end.saturating_sub(sequence.paused).max(sequence.start);
        sum += u128::from(end - sequence.start);
        union += u128::from(end.saturating_sub(until.max(sequence.start)));
        until = until.max(end);
    }
    if union == 0 { 1 } else { ((sum as f64 / union as f64).round() as usize).max(1) }
}

/// How long a stream is active: its first and last transaction are, on average, a cycle inside of its stay.
fn active_ns(stream: &Stream, duration: u64) -> f64 {
    let seen = stream.busy_until.saturating_sub(stream.first);
    let cycle = seen.checked_div(stream.transactions.saturating_sub(1)).unwrap_or(duration);
    let from = stream.first.saturating_sub(cycle);
    let to = stream.busy_until.saturating_add(cycle).min(duration);
    to.saturating_sub(from) as f64
}
