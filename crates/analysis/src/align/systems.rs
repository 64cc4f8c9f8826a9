//! The systems of all runs.

use crate::types::{Access, RunData, System};

/// Every target of every run; the run's label joins the name where several targets have it.
pub(crate) fn systems(runs: &[RunData]) -> Vec<System> {
    let mut systems = Vec::new();
    for (run, data) in runs.iter().enumerate() {
        for (target, identity) in data.header.targets.iter().enumerate() {
            let named =
                runs.iter().flat_map(|run| &run.header.targets).filter(|other| other.name == identity.name);
            let name = if named.count() == 1 {
                identity.name.clone()
            } else {
                format!("{} ({})", identity.name, data.label)
            };
            let facts = data.facts.get(target).cloned().unwrap_or_default();
            systems.push(System {
                name,
                url: identity.url.clone(),
                run,
                target: target as u32,
                access: Access::new(&identity.url, &facts),
                min_sample_time: min_sample_time(&data.header.plan),
                facts,
            });
        }
    }
    systems
}

/// Minimum measured time per cell, as the plan states it.
pub(crate) fn min_sample_time(plan: &str) -> Option<String> {
    let mut top = plan.lines().take_while(|line| !line.starts_with('['));
    let value = top.find_map(|line| line.strip_prefix("min_sample_time")?.trim_start().strip_prefix('='))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_time_is_read_from_the_top_of_the_plan() {
        assert_eq!(min_sample_time("seed = 1\nmin_sample_time = \"200ms\"\n[sweep]\n"), Some("200ms".into()));
        assert_eq!(min_sample_time("seed = 1\n[sweep]\nmin_sample_time = \"1s\"\n"), None);
    }
}
