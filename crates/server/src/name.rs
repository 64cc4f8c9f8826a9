//! What may be the name of a file or directory on any volume.

use crate::{VolumeError, VolumeResult};

/// Longest name in bytes, as on common Unix file systems.
pub const MAX_NAME_BYTES: usize = 255;

/// Accepts a single path component that leads nowhere else.
///
/// # Errors
/// [`VolumeError::BadName`] for an empty name, `.`, `..`, one above [`MAX_NAME_BYTES`], or one that holds
/// `/` or NUL.
pub fn check_name(name: &str) -> VolumeResult<()> {
    let bad = name.is_empty() || name == "." || name == ".." || name.len() > MAX_NAME_BYTES;
    if bad || name.bytes().any(|byte| byte == b'/' || byte == 0) {
        return Err(VolumeError::BadName);
    }
    Ok(())
}

/// The form in which names that differ only in case are equal.
pub(crate) fn fold_case(name: &str) -> String {
    if name.is_ascii() { name.to_ascii_lowercase() } else { name.to_lowercase() }
}

#[cfg(test)]
mod tests {
    use super::{check_name, fold_case};
    use crate::VolumeError;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in ["", ".", "..", "a/b", "/etc", "../x", "a\0b", &"n".repeat(256)] {
            assert_eq!(check_name(name), Err(VolumeError::BadName), "{name:?}");
        }
        for name in ["a", "...", "..a", " ", "a\\b", "ü", &"n".repeat(255)] {
            assert_eq!(check_name(name), Ok(()), "{name:?}");
        }
    }

    #[test]
    fn case_folds_beyond_ascii() {
        assert_eq!(fold_case("READ Ünsinn"), fold_case("read üNSINN"));
    }
}
