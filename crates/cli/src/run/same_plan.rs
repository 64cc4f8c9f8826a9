//! Earlier runs of the same plan, which show how much runs differ.

use std::path::Path;

use sharebench_analysis::{RunScatter, run_scatter};
use sharebench_plan::Plan;
use sharebench_results::{RunId, RunReference, StoreError, StoredRun};

use crate::exit::Failure;
use crate::run::run_store::{load_from, run_data};

/// Most earlier runs that are read.
const MAX_EARLIER: usize = 8;

/// A plan with all defaults, as TOML, without its seed, which differs from run to run.
pub fn without_seed(plan: &Plan) -> String {
    Plan { seed: None, ..plan.clone() }.to_toml()
}

/// The scatter between earlier runs of the plans of these runs, the largest one; none where no plan has two earlier runs.
/// `default` is the results database of references without a file.
pub fn earlier_scatter(
    compared: &[(&RunReference, &StoredRun)],
    default: &Path,
) -> Result<Option<RunScatter>, Failure> {
    let mut scatters: Vec<RunScatter> = Vec::new();
    for (reference, run) in compared {
        let store = reference.open(default)?;
        let others: Vec<RunId> = compared.iter().map(|(_, run)| run.id).collect();
        let Some(plan) = identity(&run.header.plan) else { continue };
        let mut earlier: Vec<RunId> = store
            .plans()?
            .into_iter()
            .filter_map(|(id, text)| {
                (id < run.id && !others.contains(&id) && identity(&text).as_ref() == Some(&plan))
                    .then_some(id)
            })
            .collect();
        let old = earlier.len().saturating_sub(MAX_EARLIER);
        earlier.drain(..old);
        let data = earlier.into_iter().map(|id| Ok(run_data(load_from(&store, id)?.run, true)));
        scatters.extend(run_scatter(&data.collect::<Result<Vec<_>, StoreError>>()?));
    }
    // Runs of a plan with a longer history say more.
    scatters.retain(|scatter| scatter.runs >= 2);
    Ok(scatters.into_iter().max_by(|x, y| {
        let is_known = |scatter: &RunScatter| scatter.runs >= RunScatter::FEWEST;
        is_known(x).cmp(&is_known(y)).then(x.deviation.total_cmp(&y.deviation))
    }))
}

/// What makes two plans the same; none of imported runs, which have no plan.
fn identity(text: &str) -> Option<String> {
    Plan::parse(text).ok().map(|plan| without_seed(&plan))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_of_a_plan_leaves_out_its_seed() {
        let plan = |seed: u64, sizes: &str| {
            format!("seed = {seed}\n[[target]]\nurl = '/a'\n[sweep]\nfile_sizes = ['{sizes}']\n")
        };
        assert_eq!(identity(&plan(1, "1MiB")), identity(&plan(2, "1MiB")));
        assert_ne!(identity(&plan(1, "1MiB")), identity(&plan(1, "2MiB")));
        assert_eq!(identity(""), identity(""));
    }
}
