//! Right, refused and wrong claims.

/// What the claims about one property are worth.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    /// They agree with what was planted.
    pub right: u32,
    /// Nothing is claimed.
    pub refused: u32,
    /// They contradict it.
    pub wrong: u32,
}

impl Tally {
    fn merge(&mut self, other: Self) {
        self.right += other.right;
        self.refused += other.refused;
        self.wrong += other.wrong;
    }
}

/// The answers of all runs of a property, one per run, and their findings.
#[derive(Debug, Clone, Copy, Default)]
pub struct Count {
    pub answers: Tally,
    pub findings: Tally,
}

impl Count {
    pub fn add(&mut self, judged: &super::judge::Judged) {
        self.answers.merge(judged.answer);
        self.findings.merge(judged.findings);
    }

    pub fn merge(&mut self, other: &Self) {
        self.answers.merge(other.answers);
        self.findings.merge(other.findings);
    }
}
