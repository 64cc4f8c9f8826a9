//! `compare --weights`: weights of cells from a survey, a workload file or a preset.

use sharebench_analysis::{Weight, Weights};
use sharebench_plan::{
    Operation, Plan, PlannedTarget, RequestPattern, Sizes, Times, Transaction, Work, Workload,
};

use crate::commands::from_flags::preset_or_file;
use crate::exit::Failure;

/// The weights of a file or a preset.
pub fn weights(name: &str) -> Result<Weights, Failure> {
    let plan = preset_or_file("--weights", name)?;
    let target = PlannedTarget { name: "any".into(), url: "null://".into() };
    let plan = Plan {
        targets: vec![target],
        sweep: None,
        depth: None,
        cache_probes: None,
        pre_step_cmd: None,
        ..plan
    };
    let plan = plan.resolve().map_err(|mistakes| Failure::usage(format!("--weights {name}: {mistakes}")))?;
    let workload = plan.loads.iter().find_map(|(_, work)| match work {
        Work::Transactions(work) => Some(work.workload.clone()),
        Work::Records(_) | Work::Metadata(_) => None,
    });
    let Some(workload) = workload else {
        return Err(Failure::usage(format!(
            "--weights {name}: it contains no workload; `sharebench learn` writes one"
        )));
    };
    let parts =
        workload.transactions.iter().flat_map(|transaction| weights_in(&workload, transaction)).collect();
    let weights = Weights { name: name.to_owned(), parts }.joined();
    if weights.parts.is_empty() {
        return Err(Failure::usage(format!("--weights {name}: it transfers no bytes, so it has no weights")));
    }
    Ok(weights)
}

/// The bytes of one transaction, averaged over the files that it selects from.
fn weights_in(workload: &Workload, transaction: &Transaction) -> Vec<Weight> {
    let Some(class) = transaction.class else { return Vec::new() };
    let files = &workload.set.files[workload.set.classes[class].1.clone()];
    let block = u64::from(workload.block).max(1);
    let mut parts = Vec::new();
    for file in files {
        for operation in &transaction.operations {
            let (write, random, record_size, bytes) = match operation {
                Operation::Read(requests) | Operation::Write(requests) => {
                    let size = requests.size.as_ref().map_or(block, typical).max(1);
                    let bytes = match requests.times {
                        Times::All => file.bytes,
                        Times::Count(count) => size * u64::from(count),
                    };
                    (
                        matches!(operation, Operation::Write(_)),
                        requests.pattern == RequestPattern::Random,
                        size,
                        bytes,
                    )
                }
                Operation::CopyToServer => (true, false, block, file.bytes),
                Operation::CopyFromServer => (false, false, block, file.bytes),
                _ => continue,
            };
            let bytes = bytes as f64 * f64::from(transaction.weight) / files.len() as f64;
            parts.push(Weight { write, random, file_size: file.bytes, record_size, bytes });
        }
    }
    parts
}

/// A typical size of a distribution.
fn typical(sizes: &Sizes) -> u64 {
    match sizes {
        Sizes::Fixed(size) => *size,
        Sizes::Uniform(least, most) => u64::midpoint(*least, *most),
        Sizes::Lognormal(median, _) => *median,
        Sizes::Choice(choices) => {
            let all: u64 = choices.iter().map(|(_, weight)| u64::from(*weight)).sum();
            let sum: u128 =
                choices.iter().map(|(size, weight)| u128::from(*size) * u128::from(*weight)).sum();
            (sum / u128::from(all.max(1))) as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_a_preset_sum_to_its_bytes() {
        let weights = weights("copy").unwrap();
        let sum = |write: bool| -> f64 {
            weights.parts.iter().filter(|part| part.write == write).map(|part| part.bytes).sum()
        };
        assert!(sum(true) > 0.0 && (sum(true) / sum(false) - 1.0).abs() < 1e-9, "{:?}", weights.parts);
        assert!(weights.parts.iter().all(|part| part.record_size <= part.file_size));
        assert!(weights_error("no-such.toml").contains("--weights no-such.toml"));
    }

    fn weights_error(name: &str) -> String {
        match weights(name) {
            Err(failure) => failure.to_string(),
            Ok(_) => String::new(),
        }
    }
}
