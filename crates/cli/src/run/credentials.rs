//! Passwords from the environment, a file, ~/.netrc or a prompt; never from the command line.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::path::Path;

use sharebench_target::{Secret, TargetUrl, wipe};

use crate::exit::Failure;
use crate::files;
use crate::output::message;
use crate::run::named_targets;
use crate::system::{Exposure, exposure};

/// Environment variable of the password.
pub const VARIABLE: &str = "SHAREBENCH_PASSWORD";

/// The password from `--password-file` or the environment.
pub fn given(password_file: Option<&Path>) -> Result<Option<Secret>, Failure> {
    if let Some(path) = password_file {
        return from_file("--password-file", path).map(Some);
    }
    Ok(std::env::var(VARIABLE).ok().map(|text| Secret::new(text).with_source(VARIABLE)))
}

/// The same for the account of a URL, which may have a password file in the file of named targets. That file counts before
/// the environment, which says nothing about the account.
pub fn given_for(url: &TargetUrl, password_file: Option<&Path>) -> Result<Option<Secret>, Failure> {
    if password_file.is_none()
        && let Some(path) = named_targets::password_file(url)?
    {
        return from_file("password_file", &path).map(Some);
    }
    given(password_file)
}

/// The first line of a file, which `option` names.
fn from_file(option: &str, path: &Path) -> Result<Secret, Failure> {
    warn_of_readers(option, path);
    let text = files::read_text(path)
        .map_err(|error| Failure::usage(format!("{option} {}: {error}", path.display())))?;
    let secret = Secret::new(text.lines().next().unwrap_or_default());
    let secret = secret.with_source(format!("{option} {}", path.display()));
    wipe(text.into_bytes());
    Ok(secret)
}

/// Warns of a file with passwords or keys that other users own or can read.
pub fn warn_of_readers(option: &str, path: &Path) {
    let shown = path.display();
    match exposure(path) {
        Ok(Some(Exposure::ForeignOwner(owner))) => {
            message(format_args!("warning: {option} {shown} belongs to user id {owner}"));
        }
        Ok(Some(Exposure::Readable)) => message(format_args!(
            "warning: other users can read or change {option} {shown}; protect it with: chmod 600"
        )),
        // Reading the file reports its errors.
        Ok(None) | Err(_) => {}
    }
}

/// The password of a target's account.
pub fn for_target(url: &TargetUrl, password_file: Option<&Path>) -> Result<Secret, Failure> {
    let user = url.user.as_deref().unwrap_or_default();
    let missing = || {
        Failure::Target(format!(
            "{url}: no password for account {user}; set {VARIABLE}, give --password-file, or add the host to ~/.netrc"
        ))
    };
    if_known(url, password_file)?.ok_or_else(missing)
}

/// The password of a target's account; none if nothing provides one and there is no terminal for a prompt.
pub fn if_known(url: &TargetUrl, password_file: Option<&Path>) -> Result<Option<Secret>, Failure> {
    if let Some(secret) = given_for(url, password_file)? {
        return Ok(Some(secret));
    }
    let user = url.user.as_deref().unwrap_or_default();
    if let Some(secret) = from_netrc(&url.host, user) {
        return Ok(Some(secret));
    }
    if std::io::stdin().is_terminal() {
        let secret = rpassword::prompt_password(format!("Password of {user}@{}: ", url.host))?;
        return Ok(Some(Secret::new(secret)));
    }
    Ok(None)
}

fn from_netrc(host: &str, user: &str) -> Option<Secret> {
    let text = std::fs::read_to_string(std::env::home_dir()?.join(".netrc")).ok()?;
    let secret = search_netrc(&text, host, user).map(|text| Secret::new(text).with_source("~/.netrc"));
    wipe(text.into_bytes());
    secret
}

/// The next word of a netrc file, and what follows it; none at the end and for a quote that is not closed. White space
/// separates words. As curl reads it, a word in double quotes may have white space, and a backslash in it takes the next
/// character as it is.
fn netrc_word(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let text = text.trim_start();
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        return (end > 0).then(|| (Cow::Borrowed(&text[..end]), &text[end..]));
    };
    let mut word = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((Cow::Owned(word), &quoted[at + 1..])),
            '\\' => word.extend(characters.next().map(|(_, escaped)| escaped)),
            character => word.push(character),
        }
    }
    wipe(word.into_bytes());
    None
}

/// Finds `machine HOST login USER password SECRET`.
fn search_netrc(text: &str, host: &str, user: &str) -> Option<String> {
    let mut machine = false;
    let mut login = false;
    let mut rest = text;
    let mut words = std::iter::from_fn(|| {
        let (word, after) = netrc_word(rest)?;
        rest = after;
        Some(word)
    });
    while let Some(word) = words.next() {
        match word.as_ref() {
            "machine" => {
                machine = words.next()? == host;
                login = false;
            }
            "default" => {
                machine = true;
                login = false;
            }
            "login" => login = words.next()? == user,
            "password" => {
                let password = words.next()?;
                if machine && login {
                    return Some(password.into_owned());
                }
                if let Cow::Owned(other) = password {
                    wipe(other.into_bytes());
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::search_netrc;

    #[test]
    fn netrc_password_belongs_to_host_and_account() {
        let text =
            "machine a login x password 1\nmachine nas\n  login bob password 2\n  login alice password 3\n";
        assert_eq!(search_netrc(text, "nas", "alice").as_deref(), Some("3"));
        assert_eq!(search_netrc(text, "nas", "x"), None);
    }

    #[test]
    fn netrc_password_in_quotes_has_white_space_and_quotes() {
        for (written, password) in [
            (r#""open Sesame 42""#, Some("open Sesame 42")),
            (r#""a \" and a \\""#, Some(r#"a " and a \"#)),
            (r#"pass"word"#, Some(r#"pass"word"#)),
            (r#""without an end"#, None),
        ] {
            let text =
                format!("machine a login x password \"1 2\" machine nas login alice password {written}\n");
            assert_eq!(search_netrc(&text, "nas", "alice").as_deref(), password, "{written}");
        }
    }
}
