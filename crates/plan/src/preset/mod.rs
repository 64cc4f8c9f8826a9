//! Built-in presets: plans without targets, embedded in the program.

mod template;

use sharebench_model::units::ByteSize;

use self::template::{Parameter, Template, Value};
use crate::plan::Plan;
use crate::values::nearest;
use crate::workload::Workload;

/// A built-in plan of users, with parameters where it has several forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// The name by which users select it.
    pub name: &'static str,
    text: &'static str,
}

macro_rules! preset {
    ($name:literal) => {
        Preset { name: $name, text: include_str!(concat!("../../../../plans/", $name, ".toml")) }
    };
}

/// Every preset; the first one, with the defaults of its parameters, is the workload of loads that name none.
pub const PRESETS: [Preset; 24] = [
    preset!("copy"),
    preset!("single"),
    preset!("fsct-homefolders"),
    preset!("nw"),
    preset!("vendor-smb-mix"),
    preset!("office"),
    preset!("media-streaming"),
    preset!("build-tree"),
    preset!("oplock-effect"),
    preset!("leases"),
    preset!("locks"),
    preset!("dbench"),
    preset!("database-after-sfs2014"),
    preset!("eda-after-sfs2014"),
    preset!("build-after-sfs2014"),
    preset!("desktop-after-virtana"),
    preset!("genomics-after-park2013"),
    preset!("frames-after-quantel"),
    preset!("backup-after-veeam"),
    preset!("training-after-mlperf"),
    preset!("git-after-git"),
    preset!("package-install-after-npm"),
    preset!("sqlite-wal-after-sqlite"),
    preset!("bands-after-time-machine"),
];

impl Preset {
    /// What its users can choose, such as `rate=24|30`; the first value of a parameter is its default.
    pub fn parameters(self) -> Vec<String> {
        self.template()
            .iter()
            .flat_map(|template| template.parameters.iter().map(Parameter::to_string))
            .collect()
    }

    /// Its name with each combination of values, such as `nw:files=large`; the defaults come first.
    pub fn names(self) -> Vec<String> {
        let template = self.template();
        let combinations = template
            .iter()
            .flat_map(Template::combinations)
            .map(|chosen| chosen.iter().map(|value| value.assignment.as_str()).collect::<Vec<_>>().join(","));
        combinations
            .map(|chosen| format!("{}:{chosen}", self.name).trim_end_matches(':').to_owned())
            .collect()
    }

    /// What its users do: the comment at the start of its text.
    pub fn summary(self) -> String {
        self.text.lines().map_while(|line| line.strip_prefix("# ")).collect::<Vec<_>>().join(" ")
    }

    /// Where its facts come from, and what is a reconstruction.
    pub fn source(self) -> String {
        let workload = Plan::from_preset(self.name).ok().and_then(|plan| plan.workload);
        workload.and_then(|workload| workload.source).unwrap_or_default()
    }

    fn template(self) -> Result<Template, String> {
        Template::parse(self.text).map_err(|mistakes| format!("preset {}: {mistakes}", self.name))
    }

    fn plan(self, template: &Template, chosen: &[&Value]) -> Result<Plan, String> {
        let plan = template.plan(chosen).map_err(|mistakes| format!("preset {}: {mistakes}", self.name))?;
        Ok(Plan { title: Some(template.workload(chosen)), ..plan })
    }
}

impl Plan {
    /// The plan of a preset, without targets, by its name and its parameters (`nw:files=large`). The name of a workload in results
    /// (`nw-large`) selects its preset too, because it is all that a stored plan contains of a built-in workload.
    pub fn from_preset(name: &str) -> Result<Self, String> {
        let (preset, assignments) = name.split_once(':').unwrap_or((name, ""));
        if let Some(known) = PRESETS.into_iter().find(|known| known.name == preset) {
            let template = known.template()?;
            let chosen = template.choose(assignments).map_err(|wrong| format!("preset {preset}: {wrong}"))?;
            return known.plan(&template, &chosen);
        }
        for known in PRESETS {
            let template = known.template()?;
            if let Some(chosen) =
                template.combinations().iter().find(|chosen| template.workload(chosen) == name)
            {
                return known.plan(&template, chosen);
            }
        }
        let known = PRESETS.map(|preset| preset.name);
        let near =
            nearest(preset, &known).map_or_else(String::new, |near| format!("did you mean '{near}'? "));
        Err(format!("'{name}' is not a preset; {near}`sharebench presets` lists all"))
    }
}

impl Workload {
    /// The workload of a preset over a data set of `scale` bytes; none if the block does not fit its files.
    pub fn from_preset(name: &str, scale: u64, block: u32) -> Option<Self> {
        let typed = Plan::from_preset(name).ok()?.workload?;
        Self::resolved(&typed, Some(ByteSize(scale).into()), block, 0).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{PRESETS, Preset};
    use crate::{Owner, Plan, PlannedTarget, Work, Workload};

    fn all_names() -> Vec<String> {
        PRESETS.into_iter().flat_map(Preset::names).collect()
    }

    #[test]
    fn every_preset_is_a_valid_plan_that_names_its_source_and_survives_a_round_trip() {
        for name in all_names() {
            let plan = Plan::from_preset(&name).unwrap();
            assert_eq!(Plan::parse(&plan.to_toml()).unwrap().to_toml(), plan.to_toml(), "{name}");
            let workload = plan.workload.as_ref().unwrap();
            assert_eq!(workload.name, plan.load.as_ref().unwrap().workload, "{name}");
            assert!(workload.source.as_ref().unwrap().len() > 40, "{name}");
            assert!(
                workload.script.is_some() || !plan.to_toml().contains('{'),
                "{name} has a text that is left open"
            );
            let targets = vec![PlannedTarget { name: "a".into(), url: "/a".into() }];
            let resolved = Plan { targets, ..plan }.resolve();
            let resolved = resolved.unwrap_or_else(|mistakes| panic!("{name}: {mistakes}"));
            let again = Plan::parse(&resolved.typed.to_toml()).unwrap().resolve().unwrap();
            assert_eq!(again.loads, resolved.loads, "{name}");
            assert_eq!(again.typed.to_toml(), resolved.typed.to_toml());
        }
    }

    #[test]
    fn the_name_of_a_workload_in_results_selects_it_again() {
        let mut workloads = std::collections::BTreeSet::new();
        for name in all_names() {
            let plan = Plan::from_preset(&name).unwrap();
            let workload = plan.workload.clone().unwrap().name.unwrap();
            assert_eq!(Plan::from_preset(&workload).unwrap(), plan, "{name}");
            // A plan has a preset by either name, and results have the one of the workload.
            let text =
                |name: &str| format!("seed = 1\n[[target]]\nurl = '/a'\n[load]\nworkload = '{name}'\n");
            let stored = Plan::parse(&text(&workload)).unwrap().resolve().unwrap();
            let typed = Plan::parse(&text(&name)).unwrap().resolve().unwrap();
            assert_eq!((&stored.loads, stored.typed.to_toml()), (&typed.loads, typed.typed.to_toml()));
            assert!(stored.loads[0].0.to_string().ends_with(&format!("workload={workload}")), "{workload}");
            assert!(workloads.insert(workload), "{name}: two presets have the same workload");
        }
        // Names in stored runs and imported tables.
        for known in "copy-all-bidirectional copy-all-to-server copy-text-compressed-bidirectional single-write nw-large \
                      lease-handover database-log-after-sfs2014 frames-4k-30-after-quantel backup-restore-after-veeam \
                      git-clone-after-git"
            .split_whitespace()
        {
            assert!(workloads.contains(known), "{known}");
        }
    }

    #[test]
    fn a_wrong_preset_parameter_or_value_is_named_with_what_is_permitted() {
        let frames = "its parameters are: format=2k|4k, rate=24|30";
        for (name, wrong, hint) in [
            ("ofice", "'ofice' is not a preset", "did you mean 'office'? `sharebench presets` lists all"),
            ("office:size=1", "preset office: 'size=1' is not permitted", "its parameters are: none"),
            ("frames-after-quantel:fps=30", "preset frames-after-quantel: 'fps=30' is not permitted", frames),
            (
                "frames-after-quantel:rate=25",
                "preset frames-after-quantel: 'rate=25' is not permitted",
                frames,
            ),
            ("frames-after-quantel:4k", "preset frames-after-quantel: '4k' is not permitted", frames),
            (
                "frames-after-quantel:rate=24,rate=30",
                "preset frames-after-quantel: 'rate=24,rate=30' is not permitted",
                frames,
            ),
        ] {
            assert_eq!(Plan::from_preset(name).unwrap_err(), format!("{wrong}; {hint}"));
        }
    }

    #[test]
    fn the_documentation_lists_each_preset_with_its_parameters_its_units_and_its_source() {
        let row = |preset: Preset| {
            let parameters = preset.parameters();
            let parameters =
                parameters.iter().map(|parameter| format!("`{}`", parameter.replace('|', "\\|")));
            let plans = preset.names().into_iter().map(|name| Plan::from_preset(&name).unwrap());
            let units = plans.filter_map(|plan| plan.workload.unwrap().unit);
            let mut units: Vec<String> =
                units.map(|unit| format!("{}, `{}`", unit.name.unwrap(), unit.objective.unwrap())).collect();
            units.dedup();
            let cells = [
                format!("`{}`", preset.name),
                parameters.collect::<Vec<_>>().join("<br>"),
                units.join("<br>"),
                preset.source(),
            ];
            format!("| {} |\n", cells.join(" | ")).replace("|  |", "| |").replace("|  |", "| |")
        };
        let table: String = PRESETS.into_iter().map(row).collect();
        let documented = include_str!("../../../../docs/measure/presets.md");
        assert!(
            documented.contains(&format!("|---|---|---|---|\n{table}\n")),
            "docs/measure/presets.md lacks\n{table}"
        );
    }

    #[test]
    fn presets_after_a_source_state_what_is_published_and_a_unit_and_run_in_a_minute_at_one_percent() {
        for name in all_names().into_iter().filter(|name| name.contains("-after-")) {
            let mut plan = Plan::from_preset(&name).unwrap();
            let source = plan.workload.as_ref().unwrap().source.clone().unwrap();
            for part in ["After ", " Published: ", " Ours: "] {
                assert!(source.contains(part), "{name}: {part} is missing in {source}");
            }
            plan.targets = vec![PlannedTarget { name: "a".into(), url: "/a".into() }];
            plan.load.as_mut().unwrap().scale = Some("1%".parse().unwrap());
            let resolved = plan.resolve().unwrap_or_else(|mistakes| panic!("{name}: {mistakes}"));
            let works = resolved.loads.iter().map(|(_, work)| match work {
                Work::Transactions(work) => work,
                _ => panic!("{name}: no users"),
            });
            let time: std::time::Duration = works.clone().map(|work| work.warm_up + work.measure).sum();
            // The rest is for logging on and laying out.
            assert!(time.as_secs() <= 52, "{name}: {time:?}");
            for work in works {
                assert!(work.workload.unit.is_some(), "{name} has no unit");
                let bytes = work.workload.bytes_on_target(work.users);
                assert!(bytes <= 400_000_000, "{name} lays out {bytes} bytes");
                assert!(work.workload.set.files.len() <= 1_000, "{name}");
            }
        }
    }

    #[test]
    fn the_published_test_has_sixteen_transactions_over_eight_types_of_data() {
        let workload = Workload::from_preset("copy", 24_200_000, 100_000).unwrap();
        assert_eq!((workload.transactions.len(), workload.set.files.len()), (16, 8));
        for name in PRESETS[0].names() {
            let workload = Workload::from_preset(&name, 24_200_000, 100_000).unwrap();
            let types = if name.contains("files=all") { 8 } else { 1 };
            let directions = if name.contains("bidirectional") { 2 } else { 1 };
            assert_eq!((workload.transactions.len(), workload.set.files.len()), (types * directions, types));
        }
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
