//! The direction of dependencies: which room may know which.

use std::path::Path;
use std::{fs, io};

/// Room and the rooms it may depend on. A room that is not listed may depend on nothing of ours.
const MAY_KNOW: [(&str, &[&str]); 20] = [
    ("model", &[]),
    ("stats", &["model"]),
    ("plan", &["model"]),
    ("target", &["model"]),
    ("posix", &["model", "target"]),
    ("smb", &["model", "target"]),
    ("nfs", &["model", "target"]),
    // A library of a protocol that knows nothing of benchmarks, and its client as a target.
    ("ncp", &[]),
    ("ncp-target", &["model", "target", "ncp"]),
    // What several processes tell each other, whatever carries it; and MPI, which carries it.
    ("cluster", &["stats"]),
    ("mpi", &["cluster"]),
    ("engine", &["model", "plan", "stats", "target", "cluster"]),
    ("results", &["model"]),
    ("exchange", &["model", "results"]),
    ("analysis", &["model", "stats"]),
    ("report", &["model", "analysis", "stats"]),
    // The embedded NFS server stands on the RPC core of the NFS client; users' passwords are `Secret`s.
    ("server", &["model", "ncp", "nfs", "target"]),
    // Proofs run the engine against embedded servers, over one protocol.
    ("doctor", &["model", "stats", "plan", "target", "nfs", "engine", "server"]),
    ("cli", &EVERY_ROOM),
    ("tests", &EVERY_ROOM),
];

const EVERY_ROOM: [&str; 18] = [
    "model",
    "stats",
    "plan",
    "target",
    "posix",
    "smb",
    "nfs",
    "ncp",
    "ncp-target",
    "cluster",
    "mpi",
    "engine",
    "results",
    "exchange",
    "analysis",
    "report",
    "server",
    "doctor",
];

/// Rooms without I/O, and the crates that would bring it in.
const NO_IO: [&str; 4] = ["model", "stats", "plan", "analysis"];
const IO: [&str; 4] = ["libc", "rusqlite", "socket2", "tokio"];

/// One line for every dependency that points the wrong way.
pub fn check(top: &Path) -> io::Result<Vec<String>> {
    let mut manifests = vec![("tests".to_owned(), "tests/Cargo.toml".to_owned())];
    for entry in fs::read_dir(top.join("crates"))? {
        let room = entry?.file_name().to_string_lossy().into_owned();
        let manifest = format!("crates/{room}/Cargo.toml");
        if top.join(&manifest).is_file() {
            manifests.push((room, manifest));
        }
    }
    manifests.sort();
    let mut findings = Vec::new();
    for (room, manifest) in manifests {
        let text = fs::read_to_string(top.join(&manifest))?;
        findings.extend(wrong(&room, &text).into_iter().map(|finding| format!("{manifest}: {finding}")));
    }
    Ok(findings)
}

fn wrong(room: &str, manifest: &str) -> Vec<String> {
    let known = MAY_KNOW.iter().find(|(name, _)| *name == room).map_or(&[][..], |(_, rooms)| *rooms);
    let mut findings = Vec::new();
    for (kind, dependency) in dependencies(manifest) {
        // The tests of a room may use any room; Cargo itself refuses the cycles that would matter.
        if kind == "dev-dependencies" {
            continue;
        }
        match dependency.strip_prefix("sharebench-") {
            Some(other) if !known.contains(&other) => {
                findings.push(format!("{room} may not depend on {other} (see xtask/src/dependencies.rs)"));
            }
            None if NO_IO.contains(&room) && IO.contains(&dependency) => {
                findings.push(format!("{room} does no I/O and may not depend on {dependency}"));
            }
            _ => {}
        }
    }
    findings
}

/// Section and name of each dependency of a manifest: `name = ..`, `name.workspace = true` and
/// `[dependencies.name]`, below `[target.'cfg(..)'.dependencies]` too.
fn dependencies(manifest: &str) -> Vec<(&str, &str)> {
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            section = ["dev-dependencies", "build-dependencies", "dependencies"]
                .into_iter()
                .find(|kind| header.split('.').any(|part| part == *kind))
                .unwrap_or("");
            if let Some((_, name)) = header.split_once(&format!("{section}.")).filter(|_| !section.is_empty())
            {
                found.push((section, name));
                section = "";
            }
        } else if !section.is_empty() && !line.starts_with('#') {
            let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
            if !name.is_empty() && line.contains('=') {
                found.push((section, name));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{EVERY_ROOM, MAY_KNOW, dependencies, wrong};

    const MANIFEST: &str = "[package]\nname = \"x\"\n[dependencies]\n# why\nsharebench-smb.workspace = true
tokio = { version = \"1\" }\n[dev-dependencies]\nsharebench-engine = \"1\"\n[dependencies.libc]\nversion = \"1\"
[target.'cfg(unix)'.dependencies]\nnix = \"1\"";

    #[test]
    fn every_form_of_dependency_is_read() {
        let found = dependencies(MANIFEST);
        let normal: Vec<_> = found.iter().filter(|(kind, _)| *kind == "dependencies").map(|d| d.1).collect();
        assert_eq!(normal, ["sharebench-smb", "tokio", "libc", "nix"]);
        assert!(found.contains(&("dev-dependencies", "sharebench-engine")));
    }

    #[test]
    fn upward_dependencies_and_io_in_pure_rooms_are_found() {
        let findings = wrong("stats", MANIFEST).join("\n");
        assert!(findings.contains("stats may not depend on smb"), "{findings}");
        assert!(findings.contains("tokio") && findings.contains("libc") && !findings.contains("engine"));
        assert!(wrong("cli", MANIFEST).is_empty());
    }

    #[test]
    fn the_table_has_no_cycle() {
        let mut settled: Vec<&str> = Vec::new();
        while settled.len() < EVERY_ROOM.len() {
            let next = MAY_KNOW.iter().take(EVERY_ROOM.len()).find(|(room, known)| {
                !settled.contains(room) && known.iter().all(|other| settled.contains(other))
            });
            settled.push(next.expect("a room that stands on settled ones").0);
        }
    }
}
