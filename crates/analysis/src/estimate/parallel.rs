//! One function over many items on all cores, with the results in the order of the items.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread::{available_parallelism, scope};

/// Fewer items than this are not worth a thread of their own.
const SMALLEST_SHARE: usize = 8;

/// `work` of each item; which thread did it shows nowhere.
pub(crate) fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = available_parallelism().map_or(1, NonZero::get);
    let share = items.len().div_ceil(threads).max(SMALLEST_SHARE);
    if items.len() <= share {
        return items.iter().map(work).collect();
    }
    let work = &work;
    scope(|scope| {
        let shares = items.chunks(share);
        let started: Vec<_> =
            shares.map(|items| scope.spawn(move || items.iter().map(work).collect::<Vec<R>>())).collect();
        started.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|p| resume_unwind(p))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        for n in [0, 1, 7, 8, 9, 100, 1001] {
            let items: Vec<usize> = (0..n).collect();
            assert_eq!(in_parallel(&items, |item| item * 2), (0..n).map(|i| i * 2).collect::<Vec<_>>());
        }
    }
}
