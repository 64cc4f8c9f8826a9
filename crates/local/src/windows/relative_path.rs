//! Paths below the root directory, as operations state them and as Windows takes them.

use std::path::{Path, PathBuf};

use sharebench_model::OpError;

use crate::path_components;

/// Characters that Windows gives a meaning: separators, streams, wildcards, redirection.
const RESERVED: [char; 8] = ['\\', ':', '*', '?', '"', '<', '>', '|'];

/// The path of a name below `root`, which is a verbatim path, so that Windows applies no further rules to it. Names have no
/// empty component, no `.` and no `..`, so that none leads out of the root; the empty path is the root itself.
pub(crate) fn below(root: &Path, path: &str) -> Result<PathBuf, OpError> {
    path_components::check(path)?;
    let refuse = |why| path_components::refused(path, why);
    let mut full = root.to_owned();
    if path.is_empty() {
        return Ok(full);
    }
    for part in path.split('/') {
        match part {
            _ if part.chars().any(|char| char.is_control() || RESERVED.contains(&char)) => {
                return Err(refuse("holds a character that no name of Windows has"));
            }
            // Windows removes them, so that two names would be one file.
            _ if part.ends_with(['.', ' ']) => return Err(refuse("ends with a dot or a space")),
            _ => full.push(part),
        }
    }
    Ok(full)
}

#[cfg(test)]
mod tests {
    use sharebench_model::ErrorClass;

    use super::*;

    #[test]
    fn no_path_leaves_the_root_and_none_has_a_second_meaning() {
        let root = Path::new(r"\\?\C:\dir");
        for path in [
            "..",
            "a/../../b",
            "/etc",
            "a//b",
            "a/",
            "./a",
            "a\0b",
            r"a\b",
            "C:x",
            "a:stream",
            "a*",
            "a.",
            "a ",
        ] {
            assert_eq!(below(root, path).unwrap_err().class, ErrorClass::Refused, "{path}");
        }
        assert_eq!(below(root, "a b/..c/d").unwrap(), Path::new(r"\\?\C:\dir\a b\..c\d"));
        assert_eq!(below(root, "").unwrap(), root);
    }
}
