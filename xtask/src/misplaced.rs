//! Files that do not belong in the repository: diaries, status reports, backup files.

use std::path::Path;
use std::process::Command;

/// Files and folders allowed at the root.
const ROOT: [&str; 26] = [
    ".cargo",
    ".ci",
    ".gitattributes",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "SECURITY.md",
    "bench",
    "clippy.toml",
    "crates",
    "deny.toml",
    "docs",
    "fuzz",
    "justfile",
    "packaging",
    "plans",
    "rustfmt.toml",
    "test",
    "tests",
    "xtask",
];
/// File names of diaries: they describe how the work went instead of what the program is.
const DIARIES: [&str; 9] =
    ["status", "todo", "notes", "diary", "progress", "worklog", "summary", "handoff", "scratchpad"];
const BACKUPS: [&str; 7] = ["orig", "rej", "bak", "swp", "tmp", "db", "log"];

/// Returns one finding per misplaced file that git tracks, and none where git is missing.
pub fn check(root: &Path) -> Vec<String> {
    tracked(root).iter().filter_map(|path| finding(path)).collect()
}

/// Returns the paths of the files that git tracks, and none where git is missing.
pub fn tracked(root: &Path) -> Vec<String> {
    let listed = Command::new("git").arg("-C").arg(root).args(["ls-files"]).output();
    let Ok(listed) = listed else { return Vec::new() };
    String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect()
}

fn finding(path: &str) -> Option<String> {
    let first = path.split('/').next().unwrap_or(path);
    if !ROOT.contains(&first) {
        return Some(format!("{path}: not one of the files at the root (see xtask/src/misplaced.rs)"));
    }
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    if ["md", "txt", ""].contains(&extension) && DIARIES.contains(&stem) {
        return Some(format!("{path}: the repository keeps no diary"));
    }
    BACKUPS.contains(&extension).then(|| format!("{path}: a backup or output file"))
}

#[cfg(test)]
mod tests {
    use super::finding;

    #[test]
    fn misplaced_files_are_found() {
        for path in ["STATUS.md", "docs/notes.md", "crates/x/a.rs.orig", "out.html", "plans/sharebench.db"] {
            assert!(finding(path).is_some(), "{path}");
        }
        for path in ["README.md", "docs/design/cells.md", "crates/x/src/status.rs", "test"] {
            assert_eq!(finding(path), None);
        }
    }
}
