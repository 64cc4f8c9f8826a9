//! Reads the loadfiles that plans and options name; from then on the text is part of the plan.

use std::path::Path;

use sharebench_plan::{Plan, TypedWorkload};

use crate::exit::Failure;

/// The workload of `--loadfile`.
pub fn workload(path: &str) -> Result<TypedWorkload, Failure> {
    let script =
        read(Path::new(path)).map_err(|error| Failure::usage(format!("--loadfile {path}: {error}")))?;
    let stem = Path::new(path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    Ok(TypedWorkload {
        name: stem,
        source: Some(format!("the loadfile {path}")),
        loadfile: Some(path.to_owned()),
        script: Some(script),
        ..TypedWorkload::default()
    })
}

/// Reads the loadfile of a plan file; its path is relative to that file. A plan that already contains the text, as stored
/// plans do, stays as it is.
pub fn read_into(mut plan: Plan, plan_file: &Path) -> Result<Plan, Failure> {
    let Some(workload) = &mut plan.workload else { return Ok(plan) };
    if let (Some(name), None) = (&workload.loadfile, &workload.script) {
        let path = plan_file.parent().unwrap_or(Path::new("")).join(name);
        let script = read(&path).map_err(|error| {
            Failure::usage(format!("{}: workload.loadfile: {}: {error}", plan_file.display(), path.display()))
        })?;
        workload.script = Some(script);
    }
    Ok(plan)
}

/// Reads text that is UTF-8, or else Latin-1, because loadfiles may contain names in legacy code pages.
fn read(path: &Path) -> std::io::Result<String> {
    let bytes = std::fs::read(path)?;
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| error.as_bytes().iter().map(|&byte| char::from(byte)).collect()))
}
