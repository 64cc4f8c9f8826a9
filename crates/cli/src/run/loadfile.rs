//! Loadfiles that plans and flags name: read here, and kept with the plan from then on.

use std::path::Path;

use sharebench_plan::{Plan, TypedWorkload};

use crate::exit::Failure;

/// What `--loadfile` asks for.
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

/// Reads the loadfile that the plan of a file names, from beside that file; a plan that holds its text already, as
/// stored ones do, is left as it is.
pub fn read_into(mut plan: Plan, plan_file: &Path) -> Result<Plan, Failure> {
    let Some(workload) = &mut plan.workload else { return Ok(plan) };
    if let (Some(name), None) = (&workload.loadfile, &workload.script) {
        let path = plan_file.parent().unwrap_or(Path::new("")).join(name);
        let script = read(&path).map_err(|error| {
            let (file, path) = (plan_file.display(), path.display());
            Failure::usage(format!("{file}: workload.loadfile: {path}: {error}"))
        })?;
        workload.script = Some(script);
    }
    Ok(plan)
}

/// Names in loadfiles may be in a code page of old: what is no UTF-8 is read byte by byte as Latin-1.
fn read(path: &Path) -> std::io::Result<String> {
    let bytes = std::fs::read(path)?;
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| error.as_bytes().iter().map(|&byte| char::from(byte)).collect()))
}
