//! The user's file of named targets: `@nas` on the command line and in plans is the target `nas` of that file.
//!
//! The file is read when a name is used, and when an account needs a password. A plan, the results database and reports
//! contain the URL alone.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sharebench_plan::{NamedTarget, PlannedTarget, TypedTarget};
use sharebench_target::TargetUrl;

use crate::exit::Failure;
use crate::files;

/// The file: below `XDG_CONFIG_HOME` or `~/.config`, on Windows below `%APPDATA%`. None without any of them.
fn path() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let configuration = if cfg!(windows) {
        set("APPDATA")
    } else {
        // A relative path is no valid value of the variable.
        set("XDG_CONFIG_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| Some(std::env::home_dir()?.join(".config")))
    };
    Some(configuration?.join("sharebench").join("targets.toml"))
}

/// The targets of the file, and its path; none if there is no file.
///
/// # Errors
/// The file cannot be read, or has mistakes.
pub fn all() -> Result<Option<(PathBuf, Vec<NamedTarget>)>, Failure> {
    let Some(path) = path() else { return Ok(None) };
    let shown = path.display();
    let text = match files::read_text(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::usage(format!("{shown}: {error}"))),
    };
    let targets = NamedTarget::parse_all(&text).map_err(|mistakes| {
        Failure::usage(format!(
            "{shown}: {}",
            mistakes.to_string().replacen("the plan has", "the file has", 1)
        ))
    })?;
    Ok(Some((path, targets)))
}

/// The target of `@NAME`; none for any other text, such as a URL or `./@name`.
fn named(text: &str) -> Result<Option<NamedTarget>, Failure> {
    let Some(name) = text.strip_prefix('@') else { return Ok(None) };
    let Some((path, targets)) = all()? else {
        let file = path().unwrap_or_default();
        return Err(Failure::usage(format!(
            "'{text}': the file of named targets {} does not exist; write into it:\n[{name}]\nurl = \"smb://USER@HOST/SHARE\"",
            file.display()
        )));
    };
    match NamedTarget::find(&targets, name) {
        Ok(target) => Ok(Some(target.clone())),
        Err(why) => Err(Failure::usage(format!("{}: {why}", path.display()))),
    }
}

/// The URL or path of a target as typed.
///
/// # Errors
/// It is a name that the file does not have, or the file has mistakes.
pub fn url(text: &str) -> Result<String, Failure> {
    Ok(named(text)?.map_or_else(|| text.to_owned(), |target| target.url))
}

/// Targets of the command line with URLs instead of names. Their own names are those of the file, if none was given.
///
/// # Errors
/// As for [`url`].
pub fn resolved(targets: &[TypedTarget]) -> Result<Vec<TypedTarget>, Failure> {
    let resolve = |typed: &TypedTarget| {
        Ok(match named(&typed.url)? {
            Some(NamedTarget { name, url, .. }) => {
                TypedTarget { name: typed.name.clone().or(Some(name)), url }
            }
            None => typed.clone(),
        })
    };
    targets.iter().map(resolve).collect()
}

/// The same for the targets of a plan file.
///
/// # Errors
/// As for [`url`].
pub fn resolve_planned(targets: &mut [PlannedTarget]) -> Result<(), Failure> {
    for target in targets {
        if let Some(NamedTarget { name, url, .. }) = named(&target.url)? {
            // Without a name, the plan has named it after its text.
            if target.name == target.url {
                target.name = name;
            }
            target.url = url;
        }
    }
    Ok(())
}

/// The password file of the first named target with the protocol, the user and the host of this URL.
///
/// # Errors
/// As for [`all`].
pub fn password_file(url: &TargetUrl) -> Result<Option<PathBuf>, Failure> {
    let Some((path, targets)) = all()? else { return Ok(None) };
    let folder = path.parent().unwrap_or(Path::new(""));
    Ok(password_file_among(&targets, url).map(|file| absolute(file, folder)))
}

fn password_file_among<'a>(targets: &'a [NamedTarget], url: &TargetUrl) -> Option<&'a Path> {
    let is_account = |target: &NamedTarget| {
        TargetUrl::parse(&target.url).is_ok_and(|known| {
            (known.scheme, known.user, known.host) == (url.scheme.clone(), url.user.clone(), url.host.clone())
        })
    };
    targets.iter().filter(|target| is_account(target)).find_map(|target| target.password_file.as_deref())
}

/// A path of the file: below the home directory with `~/`, otherwise below the folder of the file.
fn absolute(file: &Path, folder: &Path) -> PathBuf {
    match (file.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => folder.join(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_file_belongs_to_protocol_user_and_host() {
        let text = "[nas]\nurl = 'smb://alice@nas/share?sign=required'\npassword_file = 'alice.password'\n";
        let targets = NamedTarget::parse_all(text).unwrap();
        let file = |url: &str| password_file_among(&targets, &TargetUrl::parse(url).unwrap());
        assert_eq!(file("smb://alice@nas/other/dir"), Some(Path::new("alice.password")));
        for other in
            ["smb://bob@nas/share", "smb://alice@nas2/share", "ncp://alice@nas/SYS", "smb://nas/share"]
        {
            assert_eq!(file(other), None, "{other}");
        }
    }

    #[test]
    fn paths_are_relative_to_the_file_of_targets() {
        let folder = Path::new("/etc/sb");
        assert_eq!(absolute(Path::new("a.password"), folder), Path::new("/etc/sb/a.password"));
        assert_eq!(absolute(Path::new("/run/a"), folder), Path::new("/run/a"));
        let home = std::env::home_dir().unwrap();
        assert_eq!(absolute(Path::new("~/a"), folder), home.join("a"));
    }
}
