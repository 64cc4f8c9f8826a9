//! The content of the results database for a run, read through `export --format json`.

use serde_json::Value;
use sharebench_tests::{Ended, Sharebench};

/// A stored run.
#[derive(Debug)]
pub struct Stored {
    /// Number of the run.
    pub number: String,
    /// Steps the plan holds.
    pub planned: usize,
    /// One object per finished step.
    pub steps: Vec<Value>,
    /// One object per target.
    targets: Vec<Value>,
}

impl Stored {
    pub fn read(sharebench: &Sharebench, run: u32) -> Self {
        Self::exported(sharebench, &run.to_string())
    }

    /// The run that was measured last.
    pub fn last(sharebench: &Sharebench) -> Self {
        Self::exported(sharebench, "last")
    }

    fn exported(sharebench: &Sharebench, run: &str) -> Self {
        let json = sharebench.run(&["export", run, "--format", "json"]).unwrap();
        let run: Value = serde_json::from_str(&json.expect_success().stdout).unwrap();
        let planned = run["steps_planned"].as_u64().unwrap() as usize;
        let list = |name: &str| run[name].as_array().unwrap().clone();
        Self { number: run["id"].to_string(), planned, steps: list("steps"), targets: list("targets") }
    }

    /// True if each user of each load step completed a transaction within its window.
    pub fn all_users_reported(&self) -> bool {
        let mut loads = self.steps.iter().filter(|step| !step["load"].is_null());
        loads.all(|step| step["users_reported"] == step["users_assigned"])
    }

    /// True if each step has at least one transaction or operation of each of these names in a list such as `transactions`.
    pub fn all_have(&self, list: &str, names: &[&str]) -> bool {
        self.steps.iter().all(|step| names.iter().all(|name| count(step, list, name) > 0))
    }

    /// 0 while there is no such run yet.
    pub fn steps_so_far(sharebench: &Sharebench, run: u32) -> usize {
        let json = sharebench.run(&["export", &run.to_string(), "--format", "json"]).unwrap();
        let run: Option<Value> = serde_json::from_str(&json.stdout).ok();
        run.and_then(|run| run["steps"].as_array().map(Vec::len)).unwrap_or(0)
    }

    /// A fact of a target; none if the run has not stored it.
    pub fn fact(&self, target: usize, name: &str) -> Option<&str> {
        self.targets[target]["facts"][name].as_str()
    }

    /// The tests of these that were measured on a target.
    pub fn measured<'t>(&self, target: usize, tests: &[&'t str]) -> Vec<&'t str> {
        let of_target =
            |test: &&&str| self.steps.iter().any(|step| step["target"] == target && test_of(step) == **test);
        tests.iter().filter(of_target).copied().collect()
    }

    /// Why a test was skipped on a target. The output of a run has only the first of many reasons.
    pub fn reason_of_skip(&self, target: usize, test: &str) -> String {
        let skipped = self.targets[target]["facts"]["skipped cells"].as_str().unwrap_or_default();
        let words = format!("{test}: not supported here: ");
        let reason = skipped.split("; ").find_map(|cell| cell.strip_prefix(&words));
        reason.unwrap_or_else(|| panic!("no reason for {test}: {skipped}")).to_owned()
    }

    /// Sum of a number of every step, such as `["wire", "requests"]`, over one target's steps.
    pub fn sum(&self, target: u64, path: &[&str]) -> u64 {
        let steps = self.steps.iter().filter(|step| step["target"] == target);
        let number = |step: &Value| path.iter().fold(step, |value, name| &value[*name]).as_u64();
        steps.map(|step| number(step).unwrap_or_else(|| panic!("no {path:?} in {step}"))).sum()
    }

    /// Operations of one target's steps whose test's name holds this word.
    pub fn operations(&self, target: u64, word: &str) -> u64 {
        let test = |step: &&Value| {
            step["coordinates"]["test"]["text"].as_str().is_some_and(|test| test.contains(word))
        };
        let steps = self.steps.iter().filter(|step| step["target"] == target).filter(test);
        steps.map(|step| step["operations"].as_u64().unwrap()).sum()
    }
}

/// Number of operations or transactions of a name in the step of a load.
pub fn count(step: &Value, list: &str, name: &str) -> u64 {
    let parts = step["load"][list].as_array().unwrap();
    parts.iter().filter(|part| part["name"] == name).map(|part| part["count"].as_u64().unwrap()).sum()
}

/// The test of a step of a sweep.
pub fn test_of(step: &Value) -> &str {
    step["coordinates"]["test"]["text"].as_str().unwrap()
}

/// Why a run says that it has skipped a test on the target of this name.
pub fn reason_of_skip(ended: &Ended, name: &str, test: &str) -> String {
    let words = format!("{name}: skipped {test}: not supported here: ");
    let text = ended.text();
    let reason = text.lines().find_map(|line| line.split_once(&words).map(|(_, reason)| reason.to_owned()));
    reason.expect("a reason")
}

/// The sections of a plan for targets with these names and URLs.
pub fn sections(targets: &[(&str, String)]) -> String {
    let section = |(name, url): &(&str, String)| format!("[[target]]\nname = '{name}'\nurl = '{url}'\n");
    targets.iter().map(section).collect()
}
