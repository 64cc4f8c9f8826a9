//! Built-in presets: plans without targets, embedded in the program.

use sharebench_model::units::ByteSize;

use crate::plan::Plan;
use crate::values::Mistakes;
use crate::workload::Workload;

/// A built-in plan of users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// The name by which users select it.
    pub name: &'static str,
    /// The plan's text.
    pub text: &'static str,
}

macro_rules! preset {
    ($name:literal) => {
        Preset { name: $name, text: include_str!(concat!("../../../plans/", $name, ".toml")) }
    };
}

/// Every preset; the first one is the workload of loads that name none.
pub const WORKLOADS: [Preset; 45] = [
    preset!("copy-all-bidirectional"),
    preset!("copy-all-to-server"),
    preset!("copy-all-from-server"),
    preset!("copy-data-bidirectional"),
    preset!("copy-data-compressed-bidirectional"),
    preset!("copy-text-bidirectional"),
    preset!("copy-text-compressed-bidirectional"),
    preset!("copy-image-bidirectional"),
    preset!("copy-image-compressed-bidirectional"),
    preset!("copy-binary-bidirectional"),
    preset!("copy-binary-compressed-bidirectional"),
    preset!("single-read"),
    preset!("single-write"),
    preset!("fsct-homefolders"),
    preset!("nw-small"),
    preset!("nw-large"),
    preset!("vendor-smb-mix"),
    preset!("office"),
    preset!("media-streaming"),
    preset!("build-tree"),
    preset!("oplock-effect"),
    preset!("leases"),
    preset!("lease-handover"),
    preset!("locks"),
    preset!("dbench"),
    preset!("database-after-sfs2014"),
    preset!("database-log-after-sfs2014"),
    preset!("eda-after-sfs2014"),
    preset!("build-after-sfs2014"),
    preset!("desktop-after-virtana"),
    preset!("genomics-after-park2013"),
    preset!("frames-2k-24-after-quantel"),
    preset!("frames-2k-30-after-quantel"),
    preset!("frames-4k-24-after-quantel"),
    preset!("frames-4k-30-after-quantel"),
    preset!("backup-full-after-veeam"),
    preset!("backup-incremental-after-veeam"),
    preset!("backup-synthetic-after-veeam"),
    preset!("backup-restore-after-veeam"),
    preset!("training-after-mlperf"),
    preset!("git-status-after-git"),
    preset!("git-clone-after-git"),
    preset!("package-install-after-npm"),
    preset!("sqlite-wal-after-sqlite"),
    preset!("bands-after-time-machine"),
];

impl Preset {
    /// The preset of that name.
    pub fn named(name: &str) -> Option<Self> {
        WORKLOADS.into_iter().find(|preset| preset.name == name)
    }

    /// Its plan, without targets.
    pub fn plan(self) -> Result<Plan, Mistakes> {
        Plan::parse(self.text)
    }

    /// Its workload over a data set of `scale` bytes; none if the block does not fit its files.
    pub fn workload(self, scale: u64, block: u32) -> Option<Workload> {
        let typed = self.plan().ok()?.workload?;
        Workload::resolved(&typed, Some(ByteSize(scale).into()), block, 0).ok()
    }

    /// Where its facts come from, and what is a reconstruction.
    pub fn source(self) -> String {
        let workload = self.plan().ok().and_then(|plan| plan.workload);
        workload.and_then(|workload| workload.source).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{Preset, WORKLOADS};
    use crate::{Owner, Plan, PlannedTarget, Work};

    #[test]
    fn every_preset_is_a_valid_plan_that_names_its_source_and_survives_a_round_trip() {
        for preset in WORKLOADS {
            let plan = preset.plan().unwrap_or_else(|mistakes| panic!("{}: {mistakes}", preset.name));
            let named = plan.workload.as_ref().unwrap();
            assert_eq!(named.name.as_deref(), Some(preset.name));
            assert!(preset.source().len() > 40, "{}: {}", preset.name, preset.source());
            let targets = vec![PlannedTarget { name: "a".into(), url: "/a".into() }];
            let resolved = Plan { targets, ..plan }.resolve();
            let resolved = resolved.unwrap_or_else(|mistakes| panic!("{}: {mistakes}", preset.name));
            let again = Plan::parse(&resolved.typed.to_toml()).unwrap().resolve().unwrap();
            assert_eq!(again.loads, resolved.loads, "{}", preset.name);
            assert_eq!(again.typed.to_toml(), resolved.typed.to_toml());
        }
    }

    #[test]
    fn presets_after_a_source_state_what_is_published_and_a_unit_and_run_in_a_minute_at_one_percent() {
        for preset in WORKLOADS.into_iter().filter(|preset| preset.name.contains("-after-")) {
            let source = preset.source();
            for part in ["After ", " Published: ", " Ours: "] {
                assert!(source.contains(part), "{}: {part} is missing in {source}", preset.name);
            }
            let mut plan = preset.plan().unwrap();
            plan.targets = vec![PlannedTarget { name: "a".into(), url: "/a".into() }];
            plan.load.as_mut().unwrap().scale = Some("1%".parse().unwrap());
            let resolved = plan.resolve().unwrap_or_else(|mistakes| panic!("{}: {mistakes}", preset.name));
            let works = resolved.loads.iter().map(|(_, work)| match work {
                Work::Transactions(work) => work,
                _ => panic!("{}: no users", preset.name),
            });
            let time: std::time::Duration = works.clone().map(|work| work.warm_up + work.measure).sum();
            // The rest is for logging on and laying out.
            assert!(time.as_secs() <= 52, "{}: {time:?}", preset.name);
            for work in works {
                assert!(work.workload.unit.is_some(), "{} has no unit", preset.name);
                let bytes = work.workload.bytes_on_target(work.users);
                assert!(bytes <= 400_000_000, "{} lays out {bytes} bytes", preset.name);
                assert!(work.workload.set.files.len() <= 1_000, "{}", preset.name);
            }
        }
    }

    #[test]
    fn the_published_test_has_sixteen_transactions_over_eight_types_of_data() {
        let workload =
            Preset::named("copy-all-bidirectional").unwrap().workload(24_200_000, 100_000).unwrap();
        assert_eq!((workload.transactions.len(), workload.set.files.len()), (16, 8));
        let types: std::collections::BTreeSet<_> = workload.set.files.iter().map(|file| file.data).collect();
        assert_eq!((types.len(), workload.scale().0), (8, 24_200_000));
        assert!(workload.set.files.iter().all(|file| file.owner == Owner::Shared));
        // The shared set, and what each of ten users copies to the server.
        assert_eq!(workload.bytes_on_target(10), 11 * 24_200_000);
        let mut random = sharebench_model::Random::new(1, 1);
        let mut round = Vec::new();
        let mut rounds =
            (0..2).map(|_| (0..16).filter_map(|_| workload.next(&mut round, &mut random)).collect());
        let first: Vec<usize> = rounds.next().unwrap();
        let second: Vec<usize> = rounds.next().unwrap();
        assert_ne!(first, second, "each round has an order of its own");
        let mut sorted = first.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..16).collect::<Vec<_>>());
    }

    #[test]
    fn weights_decide_how_often_a_transaction_comes() {
        let text = "[[target]]\nurl = '/a'\n[load]\n[workload]\nname = 'a'\norder = 'weighted'\n\
                    [[workload.files]]\nname = 'f'\nsize = 512\n\
                    [[workload.transactions]]\nname = 'x'\nweight = 70000\noperations = ['stat']\n\
                    [[workload.transactions]]\nname = 'y'\nweight = 30000\noperations = ['list']\n";
        let resolved = Plan::parse(text).unwrap().resolve().unwrap();
        let Work::Transactions(work) = &resolved.loads[0].1 else { panic!("no users") };
        let mut random = sharebench_model::Random::new(2, 2);
        let mut round = Vec::new();
        let picked = (0..10_000).filter_map(|_| work.workload.next(&mut round, &mut random));
        let first = picked.filter(|picked| *picked == 0).count();
        assert!((6_850..7_150).contains(&first), "{first}");
    }
}
