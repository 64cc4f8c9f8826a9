//! Tables as the program imports them.

use sharebench_analysis::RunData;
use sharebench_exchange::{Options, import};

/// The runs of a CSV file, each labelled with the name of its target. `map` holds the values of `--map`.
pub fn imported(name: &str, table: &[u8], map: &[&str]) -> Vec<RunData> {
    let map = map.iter().map(|mapping| mapping.parse().unwrap()).collect();
    let options = Options { map, ..Options::default() };
    let data = |run: sharebench_results::FinishedRun| RunData {
        label: run.header.targets[0].name.clone(),
        command: String::new(),
        header: run.header,
        facts: run.facts,
        steps: run.steps,
        outcome: None,
    };
    import(name, table, &options).unwrap().runs.into_iter().map(data).collect()
}
