//! A target as an argument names it: `smb://alice@nas/share`, or with a name: `fast=smb://alice@nas/share`.

use std::str::FromStr;

use crate::values::target_url;

/// Most characters of a name.
const MAX_NAME: usize = 40;

/// A target with the name that the user gave it.
///
/// ```
/// use sharebench_plan::TypedTarget;
/// let fast: TypedTarget = "fast=smb://alice@nas/share".parse()?;
/// assert_eq!((fast.name.as_deref(), fast.url.as_str()), (Some("fast"), "smb://alice@nas/share"));
/// let path: TypedTarget = "./a=b".parse()?;
/// assert_eq!((path.name, path.url.as_str()), (None, "./a=b"));
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedTarget {
    /// Its name; none if the program names it.
    pub name: Option<String>,
    /// URL without password, in its stored form.
    pub url: String,
}

impl TypedTarget {
    /// The same target with another URL.
    #[must_use]
    pub fn with_url(&self, url: String) -> Self {
        Self { name: self.name.clone(), url }
    }
}

impl FromStr for TypedTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((name, target)) = named(text) else {
            return Ok(Self { name: None, url: target_url(text)? });
        };
        let bad = |problem: &str| {
            Err(format!(
                "'{name}=': {problem}; write NAME=TARGET, such as fast=smb://host/share, or ./{name}= for a path"
            ))
        };
        if name.is_empty() {
            return bad("there is no name before '='");
        }
        if target.is_empty() {
            return bad("there is no target after '='");
        }
        let is_plain = |c: char| c.is_alphanumeric() || "-_.+ ".contains(c);
        if !name.chars().all(is_plain) || name.trim() != name || name.starts_with('-') {
            return bad("a name consists of letters, digits, spaces and the characters - _ . +");
        }
        if name.chars().count() > MAX_NAME {
            return bad(&format!("a name has at most {MAX_NAME} characters"));
        }
        Ok(Self { name: Some(name.to_owned()), url: target_url(target)? })
    }
}

/// The URL of a target that may have a name, for commands that have no use for the name.
///
/// # Errors
/// As for [`target_url`], or the name is not one.
pub fn url_of_typed_target(text: &str) -> Result<String, String> {
    text.parse::<TypedTarget>().map(|target| target.url)
}

/// The parts of NAME=TARGET; none for a URL, the source of a mount, and a path with a separator before its first `=`.
fn named(text: &str) -> Option<(&str, &str)> {
    let (name, target) = text.split_once('=')?;
    (!name.contains(['/', '\\', ':', '?', '@'])).then_some((name, target))
}

#[cfg(test)]
mod tests {
    use super::TypedTarget;

    fn parts(text: &str) -> (Option<String>, String) {
        let typed: TypedTarget = text.parse().unwrap();
        (typed.name, typed.url)
    }

    #[test]
    fn a_name_precedes_the_first_equals_sign() {
        let named = |name: &str, url: &str| (Some(name.to_owned()), url.to_owned());
        assert_eq!(parts("old=smb://a@h/s?sign=off"), named("old", "smb://a@h/s?sign=off"));
        assert_eq!(parts("data=./a=b"), named("data", "./a=b"));
        assert_eq!(parts("a=b"), named("a", "b"));
        assert_eq!(parts("the new one=/mnt"), named("the new one", "/mnt"));
    }

    #[test]
    fn options_of_urls_and_paths_are_no_names() {
        for text in ["smb://h/s?sign=off", "nfs://h/x?vers=3", "./a=b", "/mnt/a=b", "dir/a=b"] {
            assert_eq!(parts(text), (None, text.to_owned()));
        }
        assert_eq!(parts("nas:/export=1").0, None);
    }

    #[test]
    fn bad_names_are_named() {
        for (text, word) in [
            ("=smb://h/s", "no name before"),
            ("fast=", "no target after"),
            ("a(b)=/mnt", "letters, digits, spaces"),
            (" a=/mnt", "letters, digits, spaces"),
            ("-a=/mnt", "letters, digits, spaces"),
            (&format!("{}=/mnt", "x".repeat(41)), "at most 40 characters"),
        ] {
            let error = text.parse::<TypedTarget>().unwrap_err();
            assert!(error.contains(word) && error.contains("NAME=TARGET"), "{error}");
        }
        let error = "x=smb://a:hunter2@h/s".parse::<TypedTarget>().unwrap_err();
        assert!(!error.contains("hunter2") && error.contains("SHAREBENCH_PASSWORD"), "{error}");
    }
}
