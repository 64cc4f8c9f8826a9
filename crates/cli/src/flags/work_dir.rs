//! The option for the names of directories on targets.

use clap::Args;

use super::heading;

/// Longest start of a name.
const MAX_WORK_DIR: usize = 32;

/// How the names of the directories begin that a command makes on targets.
#[derive(Debug, Args, Clone)]
pub struct WorkDirFlag {
    /// Begin the names of directories on the targets with NAME, for shares that hide names with a dot in front.
    #[arg(long, value_name = "NAME", value_parser = work_dir, help_heading = heading::TARGETS)]
    work_dir: Option<String>,
}

impl WorkDirFlag {
    /// The start of the names of directories; empty without one.
    pub fn name(&self) -> &str {
        self.work_dir.as_deref().unwrap_or_default()
    }
}

/// A start of a name that every file system and protocol accepts.
fn work_dir(text: &str) -> Result<String, String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if text.is_empty() || text.len() > MAX_WORK_DIR || text.starts_with('-') || !text.chars().all(is_plain) {
        return Err(format!("a name has at most {MAX_WORK_DIR} letters, digits, - and _"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::work_dir;

    #[test]
    fn a_name_begins_without_a_dot_and_is_no_path() {
        assert_eq!(work_dir("bench_1"), Ok("bench_1".to_owned()));
        for wrong in ["", ".bench", "a/b", "a.b", "-a", "\u{e4}", &"x".repeat(33)] {
            assert!(work_dir(wrong).is_err(), "{wrong}");
        }
    }
}
