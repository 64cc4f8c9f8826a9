//! Flags to plans: the same plan that a file would hold.

use sharebench_plan::{Depth, Mistakes, Plan, PlannedTarget, ResolvedPlan, Sweep, Values, Verify};

use crate::args::{DepthArgs, Measuring, SweepArgs};
use crate::environment::new_seed;
use crate::exit::Failure;

/// The plan of `sharebench sweep`.
pub fn sweep(args: &SweepArgs) -> Result<ResolvedPlan, Failure> {
    let sweep = Sweep {
        auto: args.auto,
        file_sizes: flat(args.file_sizes.as_deref()),
        record_sizes: flat(args.record_sizes.as_deref()),
        tests: args.tests.as_deref().map(<[_]>::concat),
        depths: flat(args.depths.as_deref()),
        jobs: flat(args.jobs.as_deref()),
        shared_file: args.shared_file.then_some(true),
        align: flat(args.align.as_deref()),
        stride: flat(args.stride.as_deref()),
        read_percent: flat(args.read_percent.as_deref()),
        stream_buffer: args.stream_buffer,
        policies: args.policies.typed(),
    };
    let cache_probes = args.cache_probes.typed();
    resolve(&Plan { sweep: Some(sweep), cache_probes, ..base("sweep", &args.targets, &args.measuring) })
}

/// The plan of `sharebench depth`.
pub fn depth(args: &DepthArgs) -> Result<ResolvedPlan, Failure> {
    let depth = Depth {
        file_size: args.file_size,
        record_sizes: flat(args.record_sizes.as_deref()),
        depths: flat(args.depths.as_deref()),
        tests: args.tests.as_deref().map(<[_]>::concat),
        policies: args.policies.typed(),
    };
    let cache_probes = args.cache_probes.typed();
    resolve(&Plan { depth: Some(depth), cache_probes, ..base("depth", &args.targets, &args.measuring) })
}

/// The values of a list in which ranges may stand.
pub fn flat<T: Copy>(list: Option<&[Values<T>]>) -> Option<Vec<T>> {
    list.map(|list| list.iter().flat_map(|values| values.0.iter().copied()).collect())
}

/// What every measuring command says in the same way.
pub fn base(title: &str, urls: &[String], measuring: &Measuring) -> Plan {
    let mut targets = Vec::new();
    for url in urls {
        targets.push(PlannedTarget { name: Plan::name_for(url, &targets), url: url.clone() });
    }
    Plan {
        title: Some(measuring.title.clone().unwrap_or_else(|| title.to_owned())),
        seed: Some(measuring.seed.unwrap_or_else(new_seed)),
        repetitions: measuring.repeating.repetitions(),
        precision: measuring.repeating.precision,
        budget: measuring.repeating.time,
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
                "budget" => "--time-budget".into(),
                "cold" => "--cache-probes".into(),
                "count" => "--probe-count".into(),
                "distance" => "--probe-distance".into(),
                name => format!("--{}", name.replace('_', "-")),
            };
        }
        Failure::usage(Mistakes(mistakes).to_string().replacen("the plan has", "the arguments have", 1))
    })
}
