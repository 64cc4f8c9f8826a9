//! The binomial tree over ranks: every rank is at most log2(n) steps from rank 0.

/// Returns the rank that this one reports to, or `None` for rank 0.
pub(crate) fn parent(rank: u32) -> Option<u32> {
    (rank != 0).then_some(rank & rank.wrapping_sub(1))
}

/// Returns the ranks that report to this one, those with the largest subtrees first.
pub(crate) fn children(rank: u32, size: u32) -> impl Iterator<Item = u32> {
    let reach = if rank == 0 { 32 } else { rank.trailing_zeros() };
    let child = move |power: u32| 1u32.checked_shl(power).and_then(|step| rank.checked_add(step));
    (0..reach).rev().filter_map(child).filter(move |child| *child < size)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The maximum number of steps between rank 0 and any of `size` ranks.
    fn depth(size: u32) -> u32 {
        size.max(1).next_power_of_two().ilog2()
    }

    #[test]
    fn every_rank_is_child_of_its_parent() {
        for size in 1..200 {
            let mut met = vec![0; size as usize];
            for rank in 0..size {
                for child in children(rank, size) {
                    assert_eq!(parent(child), Some(rank));
                    met[child as usize] += 1;
                }
            }
            assert!(met[1..].iter().all(|count| *count == 1) && met[0] == 0);
            let steps = (0..size).map(u32::count_ones).max();
            assert!(steps.is_some_and(|steps| steps <= depth(size)), "{size}");
        }
        assert_eq!((depth(1), depth(2), depth(6), depth(64), depth(10_000)), (0, 1, 3, 6, 14));
    }
}
