//! Files that do not belong into the repository: diaries, status reports, left-overs.

use std::path::Path;
use std::process::Command;

/// All that may lie at the root.
const ROOT: [&str; 23] = [
    ".cargo",
    ".ci",
    ".gitattributes",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "bench",
    "clippy.toml",
    "crates",
    "deny.toml",
    "docs",
    "fuzz",
    "justfile",
    "plans",
    "rustfmt.toml",
    "test",
    "tests",
    "xtask",
];
/// Names of files that tell how the work went instead of what the program is.
const DIARIES: [&str; 9] =
    ["status", "todo", "notes", "diary", "progress", "worklog", "summary", "handoff", "scratchpad"];
const LEFT_OVERS: [&str; 7] = ["orig", "rej", "bak", "swp", "tmp", "db", "log"];

/// One line for every file known to git that should not be; none where there is no git.
pub fn check(root: &Path) -> Vec<String> {
    let listed = Command::new("git").arg("-C").arg(root).args(["ls-files"]).output();
    let Ok(listed) = listed else { return Vec::new() };
    String::from_utf8_lossy(&listed.stdout).lines().filter_map(finding).collect()
}

fn finding(path: &str) -> Option<String> {
    let first = path.split('/').next().unwrap_or(path);
    if !ROOT.contains(&first) {
        return Some(format!("{path}: not one of the files at the root (see xtask/src/strays.rs)"));
    }
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    if ["md", "txt", ""].contains(&extension) && DIARIES.contains(&stem) {
        return Some(format!("{path}: the repository keeps no diary"));
    }
    LEFT_OVERS.contains(&extension).then(|| format!("{path}: a left-over"))
}

#[cfg(test)]
mod tests {
    use super::finding;

    #[test]
    fn strays_are_told_from_what_belongs() {
        for path in ["STATUS.md", "docs/notes.md", "crates/x/a.rs.orig", "out.html", "plans/sharebench.db"] {
            assert!(finding(path).is_some(), "{path}");
        }
        for path in ["README.md", "docs/adr/0002-test-peers.md", "crates/x/src/status.rs", "test"] {
            assert_eq!(finding(path), None);
        }
    }
}
