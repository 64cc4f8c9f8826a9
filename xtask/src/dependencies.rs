//! The direction of dependencies: which crate may depend on which.

use std::path::Path;
use std::{fs, io};

/// Each crate with the crates of the workspace that it may depend on. An unlisted crate may depend on none.
const ALLOWED: [(&str, &[&str]); 26] = [
    ("model", &[]),
    ("stats", &["model"]),
    ("plan", &["model"]),
    ("target", &["model"]),
    // Uses the table of open files. The embedded servers use its names below a directory.
    ("local", &["model", "target", "client-core"]),
    // Simulated distance, which clients dial through.
    ("relay", &["model"]),
    // What clients share: connections over TCP, and the session of many requests in flight.
    ("client-core", &["model", "target", "relay"]),
    // Kerberos; passwords are `Secret`s of `target`.
    ("gss", &["model", "target"]),
    // TLS of NFS connections, for client and server.
    ("tls", &[]),
    ("smb", &["model", "target", "client-core", "gss"]),
    ("nfs", &["model", "target", "client-core", "gss", "tls"]),
    // Only its module `target` uses them.
    ("ncp", &["model", "target", "client-core"]),
    // `cluster` defines the messages between ranks; `mpi` transports them.
    ("cluster", &["stats"]),
    ("mpi", &["cluster"]),
    ("engine", &["model", "plan", "stats", "target", "cluster"]),
    ("results", &["model"]),
    ("exchange", &["model", "stats", "results"]),
    ("analysis", &["model", "stats"]),
    ("report", &["model", "analysis", "stats"]),
    // The embedded servers use the codecs of the clients; passwords are `Secret`s of `target`.
    ("server", &["model", "ncp", "nfs", "smb", "target", "local", "gss", "tls"]),
    // Known-answer tests run the engine against embedded servers over NFS or SMB.
    ("doctor", &["model", "stats", "plan", "target", "nfs", "smb", "engine", "server"]),
    ("diagnose", &["model", "stats", "target", "engine"]),
    // Reads captures with the codecs, and writes plans; session keys are `Secret`s of `target`.
    ("learn", &["model", "stats", "plan", "target", "ncp", "nfs", "smb"]),
    // Functions of the C library, for the program.
    ("musl-memory", &[]),
    ("cli", &EVERY_CRATE),
    ("tests", &EVERY_CRATE),
];

const EVERY_CRATE: [&str; 24] = [
    "model",
    "stats",
    "plan",
    "target",
    "local",
    "relay",
    "client-core",
    "gss",
    "tls",
    "smb",
    "nfs",
    "ncp",
    "cluster",
    "mpi",
    "engine",
    "results",
    "exchange",
    "analysis",
    "report",
    "server",
    "doctor",
    "diagnose",
    "learn",
    "musl-memory",
];

/// Crates without I/O.
const NO_IO: [&str; 4] = ["model", "stats", "plan", "analysis"];
/// Dependencies that perform I/O.
const IO: [&str; 4] = ["libc", "rusqlite", "socket2", "tokio"];

/// Returns one finding per dependency that is not allowed.
pub fn check(top: &Path) -> io::Result<Vec<String>> {
    let mut manifests = vec![("tests".to_owned(), "tests/Cargo.toml".to_owned())];
    for entry in fs::read_dir(top.join("crates"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let manifest = format!("crates/{name}/Cargo.toml");
        if top.join(&manifest).is_file() {
            manifests.push((name, manifest));
        }
    }
    manifests.sort();
    let mut findings = Vec::new();
    for (name, manifest) in manifests {
        let text = fs::read_to_string(top.join(&manifest))?;
        findings.extend(forbidden(&name, &text).into_iter().map(|finding| format!("{manifest}: {finding}")));
    }
    Ok(findings)
}

fn forbidden(name: &str, manifest: &str) -> Vec<String> {
    let allowed = ALLOWED.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, others)| *others);
    let mut findings = Vec::new();
    for (kind, dependency) in dependencies(manifest) {
        // The tests of a crate may use any crate; Cargo rejects the cycles that matter.
        if kind == "dev-dependencies" {
            continue;
        }
        match dependency.strip_prefix("sharebench-") {
            Some(other) if !allowed.contains(&other) => {
                findings.push(format!("{name} may not depend on {other} (see xtask/src/dependencies.rs)"));
            }
            None if NO_IO.contains(&name) && IO.contains(&dependency) => {
                findings.push(format!("{name} does no I/O and may not depend on {dependency}"));
            }
            _ => {}
        }
    }
    findings
}

/// Returns section and name of each dependency of a manifest: `name = ..`, `name.workspace = true` and
/// `[dependencies.name]`, also under `[target.'cfg(..)'.dependencies]`.
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
    use super::{ALLOWED, EVERY_CRATE, dependencies, forbidden};

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
    fn upward_dependencies_and_io_in_pure_crates_are_found() {
        let findings = forbidden("stats", MANIFEST).join("\n");
        assert!(findings.contains("stats may not depend on smb"), "{findings}");
        assert!(findings.contains("tokio") && findings.contains("libc") && !findings.contains("engine"));
        assert!(forbidden("cli", MANIFEST).is_empty());
    }

    #[test]
    fn the_table_has_no_cycle() {
        let mut settled: Vec<&str> = Vec::new();
        while settled.len() < EVERY_CRATE.len() {
            let next = ALLOWED.iter().take(EVERY_CRATE.len()).find(|(name, allowed)| {
                !settled.contains(name) && allowed.iter().all(|other| settled.contains(other))
            });
            settled.push(next.expect("a crate that depends on settled ones only").0);
        }
    }
}
