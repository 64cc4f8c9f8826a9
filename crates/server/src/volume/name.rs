//! Valid names of files and directories.

use crate::volume::error::{VolumeError, VolumeResult};

/// Longest name in bytes, as on common Unix file systems.
pub const MAX_NAME_BYTES: usize = 255;

/// Accepts a single path component that does not refer to another directory.
///
/// # Errors
/// [`VolumeError::BadName`] for an empty name, `.`, `..`, one above [`MAX_NAME_BYTES`], or one that contains
/// `/` or NUL.
pub fn check_name(name: &str) -> VolumeResult<()> {
    let bad = name.is_empty() || name == "." || name == ".." || name.len() > MAX_NAME_BYTES;
    if bad || name.bytes().any(|byte| byte == b'/' || byte == 0) {
        return Err(VolumeError::BadName);
    }
    Ok(())
}

/// Accepts the target of a symbolic link, which may be any path that the system can store.
///
/// # Errors
/// [`VolumeError::BadName`] for an empty target, one above 4095 bytes, or one that contains NUL.
pub(crate) fn check_target(target: &[u8]) -> VolumeResult<()> {
    /// `PATH_MAX` without the final NUL.
    const MAX_TARGET_BYTES: usize = 4095;
    let bad = target.is_empty() || target.len() > MAX_TARGET_BYTES || target.contains(&0);
    if bad { Err(VolumeError::BadName) } else { Ok(()) }
}

/// Characters that a name must not contain where `\` separates names and `:` streams (MS-FSCC 2.1.5).
const PARTING: &[u8] = br#"\:*?"<>|"#;
/// Names of devices on DOS and Windows, with any extension (MS-FSCC 2.1.5.2).
const DEVICES: [&str; 4] = ["CON", "PRN", "AUX", "NUL"];
const PORTS: [&str; 2] = ["COM", "LPT"];

/// Accepts a name for a new file or directory that clients on DOS and Windows can use. NFS clients have no such names,
/// so the NFS server calls [`check_name`] only.
///
/// # Errors
/// [`VolumeError::BadName`] for a device, a separator of names, a control character, and a dot or blank at the end.
pub(crate) fn check_portable_name(name: &str) -> VolumeResult<()> {
    check_name(name)?;
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let device = DEVICES.iter().any(|device| stem.eq_ignore_ascii_case(device));
    let port = stem.len() == 4
        && stem.as_bytes()[3].is_ascii_digit()
        && PORTS.iter().any(|port| stem.get(..3).is_some_and(|start| start.eq_ignore_ascii_case(port)));
    let parts = name.bytes().any(|byte| byte < 0x20 || PARTING.contains(&byte));
    if device || port || parts || name.ends_with(['.', ' ']) {
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
    use super::{check_name, check_portable_name, fold_case};
    use crate::VolumeError;

    #[test]
    fn names_that_lead_elsewhere_are_rejected() {
        for name in ["", ".", "..", "a/b", "/etc", "../x", "a\0b", &"n".repeat(256)] {
            assert_eq!(check_name(name), Err(VolumeError::BadName), "{name:?}");
        }
        for name in ["a", "...", "..a", " ", "a\\b", "ü", &"n".repeat(255)] {
            assert_eq!(check_name(name), Ok(()), "{name:?}");
        }
    }

    #[test]
    fn names_of_devices_and_streams_are_not_portable() {
        let bad =
            ["con", "NUL.txt", "Com1", "lpt9.x.y", "aux .c", "a:b", "a\\b", "a*", "end.", "end ", "\u{1}"];
        for name in bad {
            assert_eq!(check_portable_name(name), Err(VolumeError::BadName), "{name:?}");
        }
        for name in ["console", "com", "com10", "nul-1", "lpté", "a b.c", ".hidden", "ü"] {
            assert_eq!(check_portable_name(name), Ok(()), "{name:?}");
        }
    }

    #[test]
    fn case_folds_beyond_ascii() {
        assert_eq!(fold_case("READ Ünsinn"), fold_case("read üNSINN"));
    }
}
