//! Targets as people write them: UNC names, `server:/export` and the schemes of other programs become the URLs that
//! this program stores.

use sharebench_model::without_secrets;

/// The characters that separate the names of a local path.
pub(crate) const SEPARATORS: &[char] = if cfg!(windows) { &['/', '\\'] } else { &['/'] };

/// Schemes of this program, and the ones of other programs that mean the same.
const SCHEMES: [(&str, &str); 7] = [
    ("smb", "smb"),
    ("cifs", "smb"),
    ("nfs", "nfs"),
    ("nfs3", "nfs"),
    ("nfs4", "nfs"),
    ("ncp", "ncp"),
    ("file", "file"),
];

/// The URL of a target as typed: `\\server\share` and `//server/share` are `smb://server/share`, `server:/export` is
/// `nfs://server/export`, `cifs://` is `smb://`, `nfs4://` is `nfs://`, and the domain of `DOMAIN\user@` or `DOMAIN;user@` becomes `domain=`.
/// A local path remains as it is. On Windows a path of a drive is a local path too, and `file://server/share` is a
/// share that Windows opens itself. Results compare and store the URL, so that one target has one spelling.
///
/// # Errors
/// The text has a form that other programs use and no target here; the message names the URL to write instead. Or it
/// contains a password, which the message does not repeat.
///
/// ```
/// use sharebench_plan::target_url;
/// assert_eq!(target_url(r"\\nas\share\dir").unwrap(), "smb://nas/share/dir");
/// assert_eq!(target_url("nas:/export").unwrap(), "nfs://nas/export");
/// assert_eq!(target_url("smb://LAB;alice@nas/share").unwrap(), "smb://alice@nas/share?domain=LAB");
/// assert_eq!(target_url("./data").unwrap(), "./data");
/// ```
pub fn target_url(text: &str) -> Result<String, String> {
    target_url_on(cfg!(windows), text)
}

fn target_url_on(windows: bool, text: &str) -> Result<String, String> {
    let shown = without_secrets(text);
    if shown != text {
        return Err(format!(
            "'{shown}': a password does not belong in the URL; use SHAREBENCH_PASSWORD or --password-file"
        ));
    }
    if windows && let Some(path) = windows_path(text) {
        return Ok(path);
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        return with_scheme(text, &scheme.to_ascii_lowercase(), rest);
    }
    if let Some(unc) = text.strip_prefix(r"\\") {
        return unc_name(&unc.replace('\\', "/"));
    }
    // Three slashes are a local path.
    if let Some(unc) = text.strip_prefix("//")
        && !unc.starts_with('/')
    {
        return unc_name(unc);
    }
    if let Some(drive) = windows_drive(text) {
        return Err(format!(
            "'{text}' is a path of Windows on drive {drive}:; name a directory of this machine or a URL"
        ));
    }
    match text.split_once(":/") {
        Some((host, path)) if !host.is_empty() && !host.contains('/') => mount_source(text, host, path),
        _ => Ok(text.to_owned()),
    }
}

/// A path that Windows opens itself, in its stored form: a drive, `\\?\` and `\\.\`, and the server of
/// `file://server/share`, which becomes a path with four slashes, because `file://` takes no host.
fn windows_path(text: &str) -> Option<String> {
    if windows_drive(text).is_some() || text.starts_with(r"\\?\") || text.starts_with(r"\\.\") {
        return Some(text.to_owned());
    }
    let (scheme, rest) = text.split_once("://")?;
    let is_host = scheme.eq_ignore_ascii_case("file") && !rest.is_empty() && !rest.starts_with('/');
    // A drive is no host, and two slashes before it are a common slip.
    let slashes = if windows_drive(rest).is_some() { "/" } else { "//" };
    is_host.then(|| format!("file://{slashes}{rest}"))
}

fn with_scheme(text: &str, scheme: &str, rest: &str) -> Result<String, String> {
    let known = SCHEMES.iter().find(|(typed, _)| *typed == scheme);
    match known.map(|(_, scheme)| *scheme) {
        Some("smb") => smb(text, rest),
        Some(scheme) => Ok(format!("{scheme}://{rest}")),
        // The adapters name the protocols that there are.
        None => Ok(text.to_owned()),
    }
}

/// `server/share/dir`, of which no character has a meaning in a URL, except `?` before options.
fn unc_name(rest: &str) -> Result<String, String> {
    smb(rest, &rest.replace('%', "%25"))
}

/// An SMB URL, with a domain before the user moved to the options.
fn smb(text: &str, rest: &str) -> Result<String, String> {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let unchanged = || Ok(format!("smb://{rest}"));
    let Some((account, host)) = authority.rsplit_once('@') else { return unchanged() };
    let domain = account.split_once(['\\', ';']);
    let Some((domain, user)) = domain else {
        return unchanged();
    };
    let options = path.split_once('?').map_or("", |(_, options)| options);
    if options.split('&').any(|option| option.starts_with("domain=")) {
        return Err(format!("'{text}': the domain is given twice, before the user and as domain="));
    }
    let separator = if path.contains('?') { '&' } else { '?' };
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok(format!("smb://{user}@{host}{path}{separator}domain={domain}"))
}

fn windows_drive(text: &str) -> Option<char> {
    let mut letters = text.chars();
    let drive = letters.next().filter(char::is_ascii_alphabetic)?;
    (letters.next() == Some(':') && matches!(letters.next(), Some('\\' | '/'))).then_some(drive)
}

/// `server:/export`, as `mount` takes it.
fn mount_source(text: &str, host: &str, path: &str) -> Result<String, String> {
    if SCHEMES.iter().any(|(scheme, _)| scheme.eq_ignore_ascii_case(host)) {
        let rest = path.trim_start_matches('/');
        return Err(format!("'{text}': a URL has two slashes: {host}://{rest}"));
    }
    if let Some((user, host)) = host.rsplit_once('@') {
        return Err(format!(
            "'{text}': NFS has no user names; write nfs://{host}/{path} for it, or smb://{user}@{host}/SHARE for SMB"
        ));
    }
    Ok(format!("nfs://{host}/{}", path.trim_start_matches('/').replace('%', "%25")))
}

#[cfg(test)]
mod tests {
    use super::{target_url, target_url_on};

    #[test]
    fn every_spelling_has_one_url() {
        for (text, url) in [
            ("//nas/share", "smb://nas/share"),
            ("//nas/share/100%", "smb://nas/share/100%25"),
            ("//nas/share?sign=required", "smb://nas/share?sign=required"),
            ("//LAB;alice@nas/share", "smb://alice@nas/share?domain=LAB"),
            (r"\\nas\share", "smb://nas/share"),
            (r"\\nas\share\a b\c", "smb://nas/share/a b/c"),
            ("CIFS://nas/share", "smb://nas/share"),
            (r"smb://LAB\alice@nas/share", "smb://alice@nas/share?domain=LAB"),
            ("smb://LAB;alice@nas:4450/s?sign=off", "smb://alice@nas:4450/s?sign=off&domain=LAB"),
            ("smb://LAB;alice@nas", "smb://alice@nas/?domain=LAB"),
            ("smb://alice@LAB.EXAMPLE@nas/share", "smb://alice@LAB.EXAMPLE@nas/share"),
            ("smb://alice@nas/a;b@c", "smb://alice@nas/a;b@c"),
            ("nas:/export", "nfs://nas/export"),
            ("nas://export", "nas://export"),
            ("[fe80::1]:/export/50%", "nfs://[fe80::1]/export/50%25"),
            ("nfs3://nas/export", "nfs://nas/export"),
            ("NFS4://nas/export", "nfs://nas/export"),
            ("ncp://alice@nas/SYS", "ncp://alice@nas/SYS"),
            ("/data", "/data"),
            ("///data", "///data"),
            ("./a:/b", "./a:/b"),
            ("data", "data"),
            ("gopher://nas/x", "gopher://nas/x"),
            ("", ""),
        ] {
            assert_eq!(target_url(text).unwrap(), url, "{text}");
            assert_eq!(target_url(url).unwrap(), url, "{text}");
        }
    }

    #[test]
    fn paths_of_windows_are_targets_on_windows() {
        for (text, stored) in [
            (r"C:\data", r"C:\data"),
            ("d:/data", "d:/data"),
            (r"\\?\UNC\nas\share", r"\\?\UNC\nas\share"),
            ("file://nas/share?direct=1", "file:////nas/share?direct=1"),
            ("file:///C:/data?direct=1", "file:///C:/data?direct=1"),
            ("file://C:/data", "file:///C:/data"),
            // The own client, on every system.
            (r"\\nas\share", "smb://nas/share"),
        ] {
            assert_eq!(target_url_on(true, text).unwrap(), stored, "{text}");
            assert_eq!(target_url_on(true, stored).unwrap(), stored, "{text}");
        }
    }

    #[test]
    fn unsupported_spelling_names_the_url_to_write() {
        for (text, word) in [
            ("smb:/nas/share", "smb://nas/share"),
            ("alice@nas:/export", "nfs://nas/export"),
            ("alice@nas:/export", "smb://alice@nas/SHARE"),
            (r"C:\data", "drive C:"),
            ("d:/data", "drive d:"),
            ("smb://LAB;alice@nas/share?domain=LAB", "twice"),
            (r"smb://LAB\alice:hunter2@nas/s?domain=LAB", "SHAREBENCH_PASSWORD"),
            ("alice:hunter2@nas:/export", "SHAREBENCH_PASSWORD"),
            ("nfs4://alice:hunter2@nas/x", "SHAREBENCH_PASSWORD"),
            ("smb:/alice:hunter2@nas/share", "SHAREBENCH_PASSWORD"),
            ("nfs://h/x?password=hunter2", "SHAREBENCH_PASSWORD"),
        ] {
            let error = target_url_on(false, text).unwrap_err();
            assert!(error.contains(word) && !error.contains("hunter2"), "{text}: {error}");
        }
    }
}
