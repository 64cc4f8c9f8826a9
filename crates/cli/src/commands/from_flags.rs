//! From options to a plan: the same plan that a file with these values contains.

use std::path::Path;

use clap::{Args, Command};
use sharebench_plan::{Mistakes, Plan, ResolvedPlan, TypedTarget, Values};

use crate::exit::Failure;
use crate::files;
use crate::flags::plan_flags::PlanFlags;
use crate::run::environment::new_seed;
use crate::run::{loadfile, named_targets};

/// The values of a list that may contain ranges.
pub fn flat<T: Copy>(list: Option<&[Values<T>]>) -> Option<Vec<T>> {
    list.map(|list| list.iter().flat_map(|values| values.0.iter().copied()).collect())
}

/// The keys that `sweep`, `depth` and `load` set in the same way.
pub fn base(title: &str, targets: &[TypedTarget], flags: &PlanFlags) -> Result<Plan, Failure> {
    let targets = named_targets::resolved(targets)?;
    reject_one_name_twice(&targets)?;
    let targets = flags.vary.apply(&targets)?;
    Ok(Plan {
        title: Some(flags.title.clone().unwrap_or_else(|| title.to_owned())),
        seed: Some(flags.seed.unwrap_or_else(new_seed)),
        verify: flags.verify,
        timeout: flags.timeout,
        pre_step_cmd: flags.pre_step_cmd.clone(),
        link: flags.link,
        targets: Plan::name_targets(&targets),
        ..Plan::default()
    })
}

/// Rejects a name of two targets, before the options that measure each target several times.
fn reject_one_name_twice(targets: &[TypedTarget]) -> Result<(), Failure> {
    let names: Vec<&String> = targets.iter().filter_map(|target| target.name.as_ref()).collect();
    match names.iter().enumerate().find(|(index, name)| names[..*index].contains(name)) {
        Some((_, name)) => {
            Err(Failure::usage(format!("TARGET: the name '{name}' is used twice; give each target its own")))
        }
        None => Ok(()),
    }
}

/// The plan of a preset, or of a file in the same format, which `flag` names.
pub fn preset_or_file(flag: &str, name: &str) -> Result<Plan, Failure> {
    let wrong = |message: String| Failure::usage(format!("{flag} {name}: {message}"));
    let preset = Plan::from_preset(name);
    if preset.is_ok() || !(name.contains(['/', '.']) || Path::new(name).exists()) {
        return preset.map_err(wrong);
    }
    let text = files::read_text(name).map_err(|error| wrong(error.to_string()))?;
    let plan = Plan::parse(&text).map_err(|mistakes| wrong(mistakes.to_string()))?;
    loadfile::read_into(Plan { title: Some(name.to_owned()), ..plan }, Path::new(name))
}

/// Resolves a plan that options of a command made. Mistakes name the option, if the command has one for the key of the plan.
pub fn resolve<Options: Args>(plan: &Plan) -> Result<ResolvedPlan, Failure> {
    plan.resolve().map_err(|Mistakes(mut mistakes)| {
        let options = Options::augment_args(Command::new("options"));
        for mistake in &mut mistakes {
            if mistake.field == "workload.loadfile" && mistake.line.is_none() {
                mistake.field = "--loadfile".into();
                continue;
            }
            if mistake.field.starts_with("workload.") {
                // The workload is in a file, and the mistake already names the place there.
                continue;
            }
            let name = mistake.field.rsplit('.').next().unwrap_or_default();
            mistake.field = match name {
                "target" => "TARGET".into(),
                "precision" => "--precision".into(),
                "file_size" if mistake.field.starts_with("io500.") => "--file-sizes".into(),
                "cold" => "--cache-probes".into(),
                name => {
                    let name = name.replace('_', "-");
                    if options.get_arguments().all(|option| option.get_long() != Some(&name)) {
                        continue;
                    }
                    format!("--{name}")
                }
            };
        }
        Failure::usage(Mistakes(mistakes).to_string().replacen("the plan has", "the arguments have", 1))
    })
}
