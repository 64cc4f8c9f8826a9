//! The engine's paths as SMB names below a share.

use sharebench_model::{ErrorClass, OpError, OpStep};

/// Turns paths of the engine into SMB names. Paths are relative to the URL's directory, names to the share.
#[derive(Debug, Clone)]
pub(crate) struct SharePaths {
    /// The URL's directory with `\` between names; empty for the share's root.
    root: String,
}

impl SharePaths {
    /// Takes the URL's directory below the share with `/` between names.
    pub(crate) fn new(directory: &str) -> Self {
        Self { root: directory.replace('/', "\\") }
    }

    /// The name of a path below the share. Characters with a meaning in SMB are rejected: `\` separates names, `:` starts
    /// the name of a stream.
    pub(crate) fn name(&self, path: &str) -> Result<String, OpError> {
        if path.is_empty() {
            return Ok(self.root.clone());
        }
        let bad = |part: &str| matches!(part, "" | "." | "..");
        if path.contains(['\\', ':', '\0']) || path.split('/').any(bad) {
            let detail = format!("{path:?} is not a valid SMB name");
            return Err(OpError::new(ErrorClass::Unsupported, OpStep::Path, detail));
        }
        let below = path.replace('/', "\\");
        Ok(if self.root.is_empty() { below } else { format!("{}\\{below}", self.root) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_names_below_the_share() {
        let top = SharePaths::new("");
        let deep = SharePaths::new("a/b");
        assert_eq!((top.name("").unwrap(), top.name("x/y").unwrap()), (String::new(), "x\\y".into()));
        assert_eq!((deep.name("").unwrap(), deep.name("x/y").unwrap()), ("a\\b".into(), "a\\b\\x\\y".into()));
    }

    #[test]
    fn names_with_a_special_meaning_in_smb_are_rejected() {
        for path in ["..", "a/../b", "a//b", "/a", "a\\b", "file:stream", "nul\0"] {
            assert_eq!(
                SharePaths::new("").name(path).unwrap_err().class,
                ErrorClass::Unsupported,
                "{path:?}"
            );
        }
    }
}
