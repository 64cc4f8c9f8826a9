//! Fills and checks the section `[cache_probes]`.

use std::path::PathBuf;

use sharebench_model::units::ByteSize;

use super::Resolver;
use crate::resolved::CacheProbePlan;
use crate::values::{CacheProbes, Cold};

impl Resolver<'_> {
    /// Fills and checks the section, if there is one.
    pub(crate) fn cache_probes(&mut self) -> Option<CacheProbePlan> {
        let typed = self.plan.cache_probes.clone()?;
        if self.plan.sweep.is_none() && self.plan.depth.is_none() {
            self.blame(
                "cache_probes.cold",
                "there is no cell to probe",
                "it needs a [sweep] or a [depth] with tests that read",
            );
        }
        let Some(cold) = typed.cold else {
            self.blame(
                "cache_probes.cold",
                "it is missing",
                "a size above the server's cache, such as 4GiB, or unbuffered, or pre-step-cmd",
            );
            return None;
        };
        if cold == Cold::PreStepCommand && self.plan.pre_step_cmd.is_none() {
            self.blame("cache_probes.cold", "there is no pre_step_cmd", "name one that empties the cache");
        }
        if let Cold::PushedOut(size) = cold {
            self.within("cache_probes.cold", size.0, 1 << 20, 1 << 44);
        }
        let count = typed.count.unwrap_or(CacheProbePlan::COUNT);
        self.within("cache_probes.count", u64::from(count), u64::from(CacheProbePlan::FEWEST), 10_000);
        let distance = typed.distance.unwrap_or(ByteSize(CacheProbePlan::DISTANCE));
        self.within("cache_probes.distance", distance.0, 512, 1 << 40);
        let bypass = typed.bypass.unwrap_or_default();
        for bypass in &bypass {
            if !self.plan.targets.iter().any(|target| target.name == bypass.target) {
                let names: Vec<&str> = self.plan.targets.iter().map(|target| target.name.as_str()).collect();
                let known = format!("the targets are {}", names.join(", "));
                self.blame("cache_probes.bypass", &format!("there is no target '{}'", bypass.target), &known);
            }
        }
        self.typed.cache_probes = Some(CacheProbes {
            cold: Some(cold),
            count: Some(count),
            distance: Some(distance),
            server_disk_stat: typed.server_disk_stat.clone(),
            bypass: Some(bypass.clone()).filter(|bypass| !bypass.is_empty()),
        });
        Some(CacheProbePlan {
            cold,
            count,
            distance: distance.0,
            server_disk_stat: typed.server_disk_stat.map(PathBuf::from),
            bypass,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;

    fn resolve(probes: &str) -> Result<Option<CacheProbePlan>, String> {
        let text =
            format!("[[target]]\nurl = '/mnt/nas'\n[sweep]\ntests = ['read']\n[cache_probes]\n{probes}");
        let plan = Plan::parse(&text).and_then(|plan| plan.resolve()).map_err(|error| error.to_string())?;
        let again = Plan::parse(&plan.typed.to_toml()).unwrap().resolve().unwrap();
        assert_eq!(again.cache_probes, plan.cache_probes, "what is stored gives the same plan");
        Ok(plan.cache_probes)
    }

    #[test]
    fn a_section_has_its_defaults_and_is_written_as_it_is_read() {
        let plan = resolve("cold = '1GiB'\nbypass = ['nas=smb://a@h/s']").unwrap().unwrap();
        assert_eq!(
            (plan.cold, plan.count, plan.distance),
            (Cold::PushedOut(ByteSize(1 << 30)), 300, 16 << 20)
        );
        assert_eq!((plan.bypass[0].target.as_str(), plan.bypass[0].url.as_str()), ("nas", "smb://a@h/s"));
        assert_eq!(resolve("cold = 'unbuffered'\ncount = 60").unwrap().unwrap().count, 60);
    }

    #[test]
    fn large_records_have_fewer_probes_so_that_the_reserve_stays_small() {
        let plan = resolve("cold = 'unbuffered'").unwrap().unwrap();
        assert_eq!((plan.triples(4096), plan.reserve(4096)), (300, 300 * (128 << 10)));
        assert_eq!((plan.triples(1 << 20), plan.reserve(1 << 20)), (64, 64 << 20));
        assert_eq!(plan.triples(16 << 20), 60);
        assert_eq!(CacheProbePlan::apart(100_000), 200_000, "records stay whole multiples of themselves");
    }

    #[test]
    fn mistakes_name_their_field() {
        for (probes, words) in [
            ("", ["cache_probes.cold", "it is missing"]),
            ("cold = 'warm'", ["line 6: cache_probes.cold", "'warm' is neither a size"]),
            ("cold = 'pre-step-cmd'", ["line 6: cache_probes.cold", "there is no pre_step_cmd"]),
            ("cold = 'unbuffered'\ncount = 5", ["line 7: cache_probes.count", "5 is outside 60..10000"]),
            ("cold = 'unbuffered'\nbypass = ['x=smb://h/s']", ["cache_probes.bypass", "no target 'x'"]),
            ("cold = 'unbuffered'\nbypass = ['smb']", ["cache_probes.bypass", "NAME=URL"]),
            ("cold = 'unbuffered'\ncounts = 5", ["cache_probes.counts", "did you mean 'count'"]),
        ] {
            let shown = resolve(probes).unwrap_err();
            assert!(words.iter().all(|word| shown.contains(word)), "{probes}: {shown}");
        }
    }
}
