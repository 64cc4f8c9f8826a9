//! Flags to plans: the same plan that a file would hold.

use sharebench_plan::{Mistakes, Plan, PlannedTarget, ResolvedPlan, Values, Verify};

use crate::exit::Failure;
use crate::flags::measuring::MeasuringFlags;
use crate::run::environment::new_seed;

/// The values of a list in which ranges may stand.
pub fn flat<T: Copy>(list: Option<&[Values<T>]>) -> Option<Vec<T>> {
    list.map(|list| list.iter().flat_map(|values| values.0.iter().copied()).collect())
}

/// What every measuring command says in the same way.
pub fn base(title: &str, urls: &[String], measuring: &MeasuringFlags) -> Plan {
    let mut targets = Vec::new();
    for url in urls {
        targets.push(PlannedTarget { name: Plan::name_for(url, &targets), url: url.clone() });
    }
    Plan {
        title: Some(measuring.title.clone().unwrap_or_else(|| title.to_owned())),
        seed: Some(measuring.seed.unwrap_or_else(new_seed)),
        repetitions: measuring.repetition.repetitions(),
        precision: measuring.repetition.precision,
        budget: measuring.repetition.time,
        min_sample_time: measuring.min_sample_time,
        verify: if measuring.no_verify { Some(Verify::Off) } else { measuring.verify },
        timeout: measuring.timeout,
        pre_step_cmd: measuring.pre_step_cmd.clone(),
        link: measuring.link,
        targets,
        ..Plan::default()
    }
}

/// Resolves a plan made from flags; mistakes name the flag instead of the field.
pub fn resolve(plan: &Plan) -> Result<ResolvedPlan, Failure> {
    plan.resolve().map_err(|Mistakes(mut mistakes)| {
        for mistake in &mut mistakes {
            if mistake.field == "workload.loadfile" && mistake.line.is_none() {
                mistake.field = "--loadfile".into();
                continue;
            }
            if mistake.field.starts_with("workload.") {
                // A workload stands in a file, and says where itself.
                continue;
            }
            let name = mistake.field.rsplit('.').next().unwrap_or_default();
            mistake.field = match name {
                "target" => "TARGET".into(),
                "precision" => "--precision".into(),
                "cold" => "--cache-probes".into(),
                "count" => "--probe-count".into(),
                "distance" => "--probe-distance".into(),
                name => format!("--{}", name.replace('_', "-")),
            };
        }
        Failure::usage(Mistakes(mistakes).to_string().replacen("the plan has", "the arguments have", 1))
    })
}
