//! Division of users over ranks: which rank runs which user and reads whose file.

/// Why users cannot be divided as requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DivisionError {
    /// The number of weights differs from the number of ranks.
    #[error("--rank-weights: {given} weights for {ranks} ranks; give one for each rank")]
    Weights {
        /// Number of weights.
        given: usize,
        /// Number of ranks.
        ranks: u32,
    },
    /// The weight is out of range: a rank of weight 0 would run no user.
    #[error("--rank-weights: {0} is outside 1..1024")]
    Weight(u32),
    /// The shift is a multiple of the number of ranks, so that every rank reads its own files.
    #[error("--shift-ranks: {shift} of {ranks} ranks comes back to where the file was written; use 1 to {}", ranks - 1)]
    Shift {
        /// The requested shift.
        shift: u32,
        /// Number of ranks.
        ranks: u32,
    },
    /// A rank has more files than the rank that reads them has users.
    #[error(
        "--shift-ranks: {users} users on these ranks are {counts}: every rank must have as many as the next one; \
         use a multiple of {multiple}"
    )]
    Uneven {
        /// Users of the step.
        users: u32,
        /// Users per rank, as text.
        counts: String,
        /// The number of users must be a multiple of this.
        multiple: usize,
    },
}

/// Division of users over ranks: each user in turn is assigned to the rank with the fewest users for its weight.
///
/// Additional users leave all earlier assignments unchanged, so that a user finds its files again in every step
/// (Webster's method; Balinski and Young, Fair Representation, 1982). Equal weights give round robin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Division {
    weights: Vec<u32>,
    shift: u32,
}

impl Division {
    /// Largest weight of a rank.
    const MAX_WEIGHT: u32 = 1024;

    /// Assigns equal weights; every rank reads its own files.
    pub fn equal(ranks: u32) -> Self {
        Self { weights: vec![1; ranks as usize], shift: 0 }
    }

    /// Assigns the given weights, or equal ones if there are none; each rank reads the files of the rank `shift` further on.
    pub fn new(ranks: u32, weights: &[u32], shift: u32) -> Result<Self, DivisionError> {
        let weights = if weights.is_empty() { vec![1; ranks as usize] } else { weights.to_vec() };
        if weights.len() != ranks as usize {
            return Err(DivisionError::Weights { given: weights.len(), ranks });
        }
        if let Some(wrong) = weights.iter().find(|weight| !(1..=Self::MAX_WEIGHT).contains(*weight)) {
            return Err(DivisionError::Weight(*wrong));
        }
        if shift > 0 && shift.is_multiple_of(ranks.max(1)) {
            return Err(DivisionError::Shift { shift, ranks });
        }
        Ok(Self { weights, shift: shift % ranks.max(1) })
    }

    /// Returns the users of a cell that specifies none: one per unit of weight.
    pub fn min_users(&self) -> u32 {
        self.weights.iter().sum()
    }

    /// Returns the distance between writing and reading rank.
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// Returns the rank of each user, by user number.
    pub fn owners(&self, users: u32) -> Vec<u32> {
        let mut counts = vec![0_u64; self.weights.len()];
        (0..users)
            .map(|_| {
                // The cost is (2 count + 1) / weight; cross-multiplication avoids the division.
                let cost = |rank: &usize| (2 * counts[*rank] + 1, u64::from(self.weights[*rank]));
                let cheaper = |a: &usize, b: &usize| {
                    let (a_count, a_weight) = cost(a);
                    let (b_count, b_weight) = cost(b);
                    (a_count * b_weight).cmp(&(b_count * a_weight)).then(a.cmp(b))
                };
                let next = (0..counts.len()).min_by(cheaper).unwrap_or(0);
                counts[next] += 1;
                next as u32
            })
            .collect()
    }

    /// Returns the users of one rank, ascending.
    pub fn users_of(&self, rank: u32, users: u32) -> Vec<u32> {
        let owners = self.owners(users);
        (0..users).filter(|user| owners[*user as usize] == rank).collect()
    }

    /// Returns for each user of `rank` the user whose file it reads: the one at the same index among the users of
    /// the rank `shift` further on.
    pub fn read_from(&self, rank: u32, users: u32) -> Result<Vec<u32>, DivisionError> {
        let size = self.weights.len() as u32;
        let counts: Vec<usize> = (0..size).map(|rank| self.users_of(rank, users).len()).collect();
        let other = (rank + self.shift) % size.max(1);
        if (0..counts.len()).any(|rank| counts[rank] != counts[(rank + self.shift as usize) % counts.len()]) {
            let shown = counts.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            return Err(DivisionError::Uneven { users, counts: shown, multiple: self.weights.len() });
        }
        Ok(self.users_of(other, users))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(division: &Division, users: u32) -> Vec<usize> {
        (0..division.weights.len() as u32).map(|rank| division.users_of(rank, users).len()).collect()
    }

    #[test]
    fn six_clients_share_fifty_users() {
        let division = Division::new(6, &[], 0).unwrap();
        assert_eq!(counts(&division, 50), [9, 9, 8, 8, 8, 8]);
        assert_eq!(division.users_of(1, 10), [1, 7]);
        assert_eq!(counts(&division, 4), [1, 1, 1, 1, 0, 0]);
        assert_eq!(counts(&Division::new(3, &[2, 1, 1], 0).unwrap(), 40), [20, 10, 10]);
    }

    #[test]
    fn files_are_read_on_another_rank_than_written() {
        let division = Division::new(6, &[], 1).unwrap();
        for rank in 0..6 {
            let own = division.users_of(rank, 18);
            let read = division.read_from(rank, 18).unwrap();
            assert_eq!(own.len(), read.len());
            assert!(own.iter().all(|user| !read.contains(user)));
        }
        let uneven = division.read_from(0, 50).unwrap_err().to_string();
        assert!(uneven.contains("9,9,8,8,8,8") && uneven.contains("multiple of 6"), "{uneven}");
        assert!(Division::new(6, &[], 6).unwrap_err().to_string().contains("use 1 to 5"));
        assert!(Division::new(6, &[1, 2], 0).unwrap_err().to_string().contains("2 weights for 6 ranks"));
        assert_eq!(Division::new(2, &[0, 1], 0), Err(DivisionError::Weight(0)));
    }

    proptest! {
        #[test]
        fn shares_follow_the_weights_and_more_users_move_none(
            weights in proptest::collection::vec(1..9_u32, 1..9),
            users in 0..200_u32,
        ) {
            let ranks = weights.len() as u32;
            let division = Division::new(ranks, &weights, 0).unwrap();
            let owners = division.owners(users);
            let more = division.owners(users + 7);
            prop_assert_eq!(&owners[..], &more[..users as usize]);
            let whole = f64::from(division.min_users());
            for (rank, weight) in weights.iter().enumerate() {
                let share = f64::from(users) * f64::from(*weight) / whole;
                let found = owners.iter().filter(|owner| **owner == rank as u32).count() as f64;
                prop_assert!((found - share).abs() < 2.0, "{} has {found} of {share}", rank);
            }
            let units = division.min_users();
            prop_assert_eq!(counts(&division, units), weights.iter().map(|w| *w as usize).collect::<Vec<_>>());
        }
    }
}
