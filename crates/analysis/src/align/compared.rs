//! Which systems are compared with which.

use crate::types::{RunData, System};

/// Above this many systems each is compared with the first only.
const EACH_WITH_EACH: usize = 4;

/// A comparison to make: `a` over `b`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ComparedSystems {
    /// Such as `nfs/smb`.
    pub name: String,
    /// Numerator: index into the systems.
    pub a: usize,
    /// Denominator.
    pub b: usize,
}

/// Within a run each with each. Across runs the same target name; where two runs have no name in common, each
/// with each.
pub(crate) fn compared_systems(systems: &[System], runs: &[RunData]) -> Vec<ComparedSystems> {
    let target = |system: &System| runs[system.run].header.targets[system.target as usize].name.as_str();
    let each = systems.len() <= EACH_WITH_EACH;
    let related = |one: usize, other: usize| {
        let of = |run: usize| systems.iter().filter(move |system| system.run == run).map(target);
        of(one).any(|name| of(other).any(|known| known == name))
    };
    let mut found = Vec::new();
    for (a, one) in systems.iter().enumerate() {
        for (b, other) in systems.iter().enumerate().take(a) {
            let wanted = if one.run == other.run {
                each || other.target == 0
            } else {
                let counterpart = target(one) == target(other) || !related(one.run, other.run);
                counterpart && (each || other.run == 0)
            };
            if wanted {
                found.push(ComparedSystems { name: format!("{}/{}", one.name, other.name), a, b });
            }
        }
    }
    found
}
