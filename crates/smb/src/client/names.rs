//! Paths of the engine as names below a share.

use sharebench_model::{ErrorClass, OpError};

/// Knows the target's directory below the share.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    /// `\` separates; empty for the share's root.
    root: String,
}

impl Names {
    /// `directory` below the share, `/` separates.
    pub(crate) fn new(directory: &str) -> Self {
        Self { root: directory.replace('/', "\\") }
    }

    /// The name of a path below the share. What SMB would take for something else is refused: `\`
    /// separates, `:` starts a stream's name.
    pub(crate) fn name(&self, path: &str) -> Result<String, OpError> {
        if path.is_empty() {
            return Ok(self.root.clone());
        }
        let bad = |part: &str| matches!(part, "" | "." | "..");
        if path.contains(['\\', ':', '\0']) || path.split('/').any(bad) {
            let detail = format!("{path:?} is no name for SMB");
            return Err(OpError::new(ErrorClass::Unsupported, "name", detail));
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
        let (top, deep) = (Names::new(""), Names::new("a/b"));
        assert_eq!((top.name("").unwrap(), top.name("x/y").unwrap()), (String::new(), "x\\y".into()));
        assert_eq!((deep.name("").unwrap(), deep.name("x/y").unwrap()), ("a\\b".into(), "a\\b\\x\\y".into()));
    }

    #[test]
    fn what_smb_takes_for_something_else_is_refused() {
        for path in ["..", "a/../b", "a//b", "/a", "a\\b", "file:stream", "nul\0"] {
            assert_eq!(Names::new("").name(path).unwrap_err().class, ErrorClass::Unsupported, "{path:?}");
        }
    }
}
