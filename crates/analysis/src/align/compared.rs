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

/// Within a run each with each; above four systems each with the first, and with the first system whose URL differs in
/// options only, so that the values of an axis are compared at each target. Across runs the same target name; where two runs have no name in common, each
/// with each.
pub(crate) fn compared_systems(systems: &[System], runs: &[RunData]) -> Vec<ComparedSystems> {
    let target = |system: &System| runs[system.run].header.targets[system.target as usize].name.as_str();
    let each = systems.len() <= EACH_WITH_EACH;
    let related = |one: usize, other: usize| {
        let of = |run: usize| systems.iter().filter(move |system| system.run == run).map(target);
        of(one).any(|name| of(other).any(|known| known == name))
    };
    let place = |system: &System| system.url.split('?').next().unwrap_or_default().to_owned();
    let first_variant = |of: &System| {
        let same = |other: &&System| other.run == of.run && place(other) == place(of);
        systems.iter().find(same).map(|first: &System| first.target)
    };
    let mut found = Vec::new();
    for (a, one) in systems.iter().enumerate() {
        for (b, other) in systems.iter().enumerate().take(a) {
            let wanted = if one.run == other.run {
                each || other.target == 0 || first_variant(one) == Some(other.target)
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

#[cfg(test)]
mod tests {
    use sharebench_model::{RunHeader, RunOutcome, TargetIdentity};

    use super::*;
    use crate::align::systems::systems;

    fn compared(urls: &[(&str, &str)]) -> Vec<String> {
        let target = |(name, url): &(&str, &str)| TargetIdentity { name: (*name).into(), url: (*url).into() };
        let header = RunHeader {
            title: String::new(),
            started_unix_ms: 0,
            version: String::new(),
            plan: String::new(),
            seed: 1,
            steps_planned: 0,
            repeat: None,
            environment: sharebench_model::Facts::new(),
            targets: urls.iter().map(target).collect(),
        };
        let facts = vec![sharebench_model::Facts::new(); urls.len()];
        let outcome = Some(RunOutcome::Complete);
        let label = "run 1".to_owned();
        let runs = [RunData { label, command: String::new(), header, facts, steps: Vec::new(), outcome }];
        compared_systems(&systems(&runs), &runs).into_iter().map(|pair| pair.name).collect()
    }

    #[test]
    fn each_value_of_an_axis_is_compared_with_the_first_value_at_the_same_target() {
        let names = compared(&[
            ("smb-1", "smb://h/s?channels=1"),
            ("smb-2", "smb://h/s?channels=2"),
            ("smb-4", "smb://h/s?channels=4"),
            ("nfs-1", "nfs://h/x?nconnect=1"),
            ("nfs-2", "nfs://h/x?nconnect=2"),
            ("nfs-4", "nfs://h/x?nconnect=4"),
        ]);
        for name in ["smb-2/smb-1", "smb-4/smb-1", "nfs-2/nfs-1", "nfs-4/nfs-1", "nfs-1/smb-1", "nfs-4/smb-1"]
        {
            assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
        }
        assert!(!names.contains(&"nfs-4/smb-4".to_owned()), "{names:?}");
        assert_eq!(names.len(), 7, "{names:?}");
    }

    #[test]
    fn four_targets_are_compared_each_with_each() {
        let names = compared(&[
            ("smb-1", "smb://h/s?channels=1"),
            ("smb-4", "smb://h/s?channels=4"),
            ("nfs-1", "nfs://h/x?nconnect=1"),
            ("nfs-4", "nfs://h/x?nconnect=4"),
        ]);
        assert!(names.len() == 6 && names.contains(&"nfs-4/nfs-1".to_owned()), "{names:?}");
    }
}
