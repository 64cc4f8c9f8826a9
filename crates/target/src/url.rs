//! Target URLs: `/path`, `file:///path`, `smb://user@host:port/share/dir?key=value`, `nfs://host/export`.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use sharebench_model::{OptionValues, url_options, without_secrets};

/// Why a text is not a target URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// The text holds a password, which would be shown in process lists and shell histories.
    #[error("'{0}': a password does not belong in the URL; use SHAREBENCH_PASSWORD or --password-file")]
    Password(String),
    /// A component is missing or malformed.
    #[error("'{text}': {problem}")]
    Malformed {
        /// The URL as typed.
        text: String,
        /// The problem of the text.
        problem: String,
    },
}

/// The components of a target URL, percent-decoded. An option that the adapter does not use is an error.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TargetUrl {
    /// `file`, `smb`, `nfs`...
    pub scheme: String,
    /// Before `@`.
    pub user: Option<String>,
    /// Host name or address, without brackets; empty for `file`.
    pub host: String,
    /// After `:`.
    pub port: Option<u16>,
    /// Path with its leading `/`.
    pub path: String,
    /// Query options.
    pub options: BTreeMap<String, String>,
}

impl TargetUrl {
    /// Parses a URL. A text without `://` is a local path (relative ones are kept relative).
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let malformed =
            |problem: &str| UrlError::Malformed { text: text.to_owned(), problem: problem.to_owned() };
        let Some((scheme, rest)) = text.split_once("://") else {
            if text.is_empty() {
                return Err(malformed("an empty target; name a path or a URL"));
            }
            return Ok(Self { scheme: "file".into(), path: text.into(), ..Self::default() });
        };
        let shown = without_secrets(text);
        if shown != text {
            return Err(UrlError::Password(shown));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, authority),
        };
        if user.is_some_and(|user| user.contains(':')) {
            return Err(UrlError::Password(shown));
        }
        let (host, port) =
            split_port(place).ok_or_else(|| malformed("the port is not a number from 1 to 65535"))?;
        let decode = |part: &str| {
            percent_decode(part).ok_or_else(|| malformed("a '%' is not followed by two hex digits"))
        };
        let mut options = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| malformed("options are written key=value"))?;
            if options.insert(key.to_ascii_lowercase(), decode(value)?).is_some() {
                return Err(malformed(&format!("option {key}= is given twice")));
            }
        }
        let url = Self {
            scheme: scheme.to_ascii_lowercase(),
            user: user.filter(|user| !user.is_empty()).map(decode).transpose()?,
            host: decode(host)?,
            port,
            path: decode(path)?,
            options,
        };
        if (url.scheme == "file") != url.host.is_empty() {
            return Err(malformed(if url.scheme == "file" {
                "file:// takes no host"
            } else {
                "the host is missing"
            }));
        }
        Ok(url)
    }

    /// The path of a `file` URL in the form of this system. On Windows the path of `file:///C:/dir` is `C:\dir`, and that
    /// of `file:////server/share` is the UNC name `\\server\share`.
    pub fn local_path(&self) -> PathBuf {
        if cfg!(windows) { windows_path(&self.path).into() } else { PathBuf::from(&self.path) }
    }

    /// The declared values of an option.
    fn values(&self, key: &str) -> Option<OptionValues> {
        url_options(&self.scheme).find(|option| option.name == key).map(|option| option.values)
    }

    /// Removes an option and returns its value. Adapters take the options that the table of the protocol declares
    /// ([`url_options`]), then call [`Self::refuse_leftovers`].
    pub fn take(&mut self, key: &str) -> Option<String> {
        debug_assert!(self.values(key).is_some(), "the table of {} declares {key}=", self.scheme);
        self.options.remove(key)
    }

    /// Removes an option that must be one of its declared words, and returns it. An error names the words.
    pub fn take_choice(&mut self, key: &str) -> Result<Option<&'static str>, UrlError> {
        let (Some(text), Some(values)) = (self.take(key), self.values(key)) else { return Ok(None) };
        let words = if let OptionValues::Choices(words) = values { words } else { &[] };
        let word = words.iter().find(|word| **word == text).copied();
        let error = || self.error(format!("{key}={text}: the choices are {values}"));
        word.map(Some).ok_or_else(error)
    }

    /// Removes an option with the words `on` and `off`; true for `on`. An error names them.
    pub fn take_switch(&mut self, key: &str) -> Result<Option<bool>, UrlError> {
        Ok(self.take_choice(key)?.map(|word| word == "on"))
    }

    /// Removes an option that must be a number within its declared range, and returns it. An error names the range.
    pub fn take_number<T: TryFrom<u32>>(&mut self, key: &str) -> Result<Option<T>, UrlError> {
        let range = match self.values(key) {
            Some(OptionValues::Number { least, most }) => least..=most,
            _ => 0..=u32::MAX,
        };
        self.take_number_within(key, range)
    }

    /// Removes an option that must be a number within a range that depends on other options, and returns it.
    pub fn take_number_within<T: TryFrom<u32>>(
        &mut self,
        key: &str,
        range: RangeInclusive<u32>,
    ) -> Result<Option<T>, UrlError> {
        let Some(text) = self.take(key) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| range.contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        let (least, most) = range.into_inner();
        let error = || self.error(format!("{key}={text} is not a number from {least} to {most}"));
        number.map(Some).ok_or_else(error)
    }

    /// An error that names the first option that the adapter did not take, and those that the protocol has.
    pub fn refuse_leftovers(&self) -> Result<(), UrlError> {
        let Some(key) = self.options.keys().next() else { return Ok(()) };
        let known: Vec<&str> = url_options(&self.scheme).map(|option| option.name).collect();
        let scheme = &self.scheme;
        Err(self.error(format!("unknown option {key}=; {scheme} knows {}", known.join(", "))))
    }

    /// An error about this URL.
    pub fn error(&self, problem: impl Into<String>) -> UrlError {
        UrlError::Malformed { text: self.to_string(), problem: problem.into() }
    }
}

impl fmt::Display for TargetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scheme == "file" {
            return f.write_str(&self.path);
        }
        write!(f, "{}://", self.scheme)?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        let brackets = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{}{}{}", brackets.0, self.host, brackets.1)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        f.write_str(&self.path)?;
        for (index, (key, value)) in self.options.iter().enumerate() {
            write!(f, "{}{key}={value}", if index == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

/// The path of a URL as Windows writes it. A path that already has this form stays as it is.
fn windows_path(path: &str) -> String {
    let mut letters = path.chars();
    let has_drive = letters.next() == Some('/')
        && letters.next().is_some_and(|letter| letter.is_ascii_alphabetic())
        && letters.next() == Some(':');
    path.strip_prefix('/').filter(|_| has_drive).unwrap_or(path).replace('/', r"\")
}

fn split_port(place: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = place.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        return match after.strip_prefix(':') {
            Some(port) => Some((host, Some(nonzero(port)?))),
            None => after.is_empty().then_some((host, None)),
        };
    }
    match place.split_once(':') {
        Some((host, port)) => Some((host, Some(nonzero(port)?))),
        None => Some((place, None)),
    }
}

fn nonzero(port: &str) -> Option<u16> {
    port.parse().ok().filter(|port| *port != 0)
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let hex = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&hex).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_urls_have_the_form_of_windows() {
        for (path, windows) in [
            ("/C:/dir/sub", r"C:\dir\sub"),
            (r"C:\dir", r"C:\dir"),
            ("C:/dir", r"C:\dir"),
            ("//nas/share/dir", r"\\nas\share\dir"),
            ("/dir", r"\dir"),
            ("dir", "dir"),
        ] {
            assert_eq!(windows_path(path), windows, "{path}");
        }
    }

    #[test]
    fn a_full_url_comes_apart_and_together() {
        let text = "smb://alice@[::1]:4450/share/a dir?dialect=3.1.1&sign=required";
        let url = TargetUrl::parse(&text.replace(' ', "%20")).unwrap();
        assert_eq!((url.user.as_deref(), url.host.as_str(), url.port), (Some("alice"), "::1", Some(4450)));
        assert_eq!(url.path, "/share/a dir");
        assert_eq!(url.options["sign"], "required");
        assert_eq!(url.to_string(), text);
    }

    #[test]
    fn a_bare_text_is_a_local_path() {
        assert_eq!(TargetUrl::parse("./here?x=1").unwrap().path, "./here?x=1");
    }

    #[test]
    fn a_password_in_the_url_is_refused_and_not_repeated() {
        for text in
            ["smb://alice:hunter2@nas/share", "smb://alice:***@nas/share", "nfs://h/x?password=hunter2"]
        {
            let error = TargetUrl::parse(text).unwrap_err().to_string();
            assert!(!error.contains("hunter2") && error.contains("SHAREBENCH_PASSWORD"), "{error}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, word) in [
            ("nfs:///export", "host"),
            ("nfs://nas:0/export", "port"),
            ("nfs://nas:99999/export", "port"),
            ("nfs://nas/e%zz", "%"),
            ("nfs://nas/e?uid", "key=value"),
            ("nfs://nas/e?uid=1&uid=2", "twice"),
            ("", "empty"),
        ] {
            let error = TargetUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
