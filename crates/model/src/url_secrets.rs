//! Secrets in the URLs of targets: found, and masked wherever a URL is shown.

use std::ops::Range;

/// What is shown in place of a secret.
const MASK: &str = "***";

/// A URL without its secrets: the password of the login, and the values of options that are named like one.
///
/// The text need not be a valid URL, because errors repeat what was typed: `//host`, `user@host:/path`, and a prefix such
/// as `name=` or `--option=` before the scheme are understood too. A password that contains the separators of a URL is
/// masked up to the last `@`, even if this hides the host as well. A text without secrets is returned unchanged.
///
/// ```
/// use sharebench_model::without_secrets;
/// assert_eq!(without_secrets("smb://alice:hunter2@nas/share"), "smb://alice:***@nas/share");
/// assert_eq!(without_secrets("nfs://nas/export?vers=3"), "nfs://nas/export?vers=3");
/// ```
pub fn without_secrets(url: &str) -> String {
    let (address, options) = match password(url) {
        Some(secret) => {
            let login = &url[..secret.start];
            let rest = &url[secret.end..];
            let (place, options) = rest.split_once('?').map_or((rest, None), |(a, b)| (a, Some(b)));
            (format!("{login}{MASK}{place}"), options)
        }
        None => url.split_once('?').map_or((url.to_owned(), None), |(a, b)| (a.to_owned(), Some(b))),
    };
    let Some(options) = options else { return address };
    let shown = options.split('&').map(|option| match option.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}={MASK}"),
        _ => option.to_owned(),
    });
    format!("{address}?{}", shown.collect::<Vec<_>>().join("&"))
}

/// True for an option whose value is a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    ["password", "passwd", "passphrase", "secret", "token"].iter().any(|word| name.contains(word))
        || ["pass", "pwd"].contains(&name.as_str())
}

/// Where the password of a login is.
fn password(url: &str) -> Option<Range<usize>> {
    let start = authority_start(url)?;
    let rest = &url[start..];
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let end = rest.rfind('@')?;
    let colon = if let Some((login, _)) = authority.rsplit_once('@') {
        login.find(':')?
    } else {
        // The password may contain the character that ended the authority: then its begin is where a port would be.
        let host = authority.find(']').unwrap_or_default();
        let colon = host + authority[host..].find(':')?;
        let port = &authority[colon + 1..];
        (!port.bytes().all(|byte| byte.is_ascii_digit())).then_some(colon)?
    };
    (colon < end).then_some(start + colon + 1..start + end)
}

/// Where the user and the host begin; none for a path of Windows on a drive.
fn authority_start(url: &str) -> Option<usize> {
    let slashes = |at: usize| url[at..].len() - url[at..].trim_start_matches(['/', '\\']).len();
    if let Some(at) = url.find("://") {
        return Some(at + 1 + slashes(at + 1));
    }
    // `smb:/host`, but not `host:/path`.
    for scheme in ["smb:", "cifs:", "nfs:", "nfs3:", "nfs4:", "ncp:"] {
        if url.len() >= scheme.len() && url.as_bytes()[..scheme.len()].eq_ignore_ascii_case(scheme.as_bytes())
        {
            return Some(scheme.len() + slashes(scheme.len()));
        }
    }
    let bytes = url.as_bytes();
    let has_drive = bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.get(1) == Some(&b':')
        && matches!(bytes.get(2), Some(b'\\' | b'/'));
    (!has_drive).then(|| slashes(0))
}

#[cfg(test)]
mod tests {
    use super::without_secrets;

    #[test]
    fn secrets_of_a_url_are_masked() {
        for (url, shown) in [
            ("smb://alice:hunter2@nas/share", "smb://alice:***@nas/share"),
            ("smb://alice:p@ss@nas/share", "smb://alice:***@nas/share"),
            ("smb://alice:p/ss@nas/share", "smb://alice:***@nas/share"),
            ("smb://alice:p?s&s=1@nas/share?sign=off", "smb://alice:***@nas/share?sign=off"),
            ("smb://alice:p@s/s@nas/share", "smb://alice:***@nas/share"),
            ("smb://:hunter2@nas/share", "smb://:***@nas/share"),
            ("SMB:/alice:hunter2@nas/share", "SMB:/alice:***@nas/share"),
            ("//LAB;alice:hunter2@nas/share", "//LAB;alice:***@nas/share"),
            (r"\\alice:hunter2@nas\share", r"\\alice:***@nas\share"),
            (r"smb://LAB\alice:hunter2@nas/s", r"smb://LAB\alice:***@nas/s"),
            ("alice:hunter2@nas:/export", "alice:***@nas:/export"),
            ("fast=smb://alice:hunter2@nas/share", "fast=smb://alice:***@nas/share"),
            ("--before=smb://alice:hunter2@nas/share", "--before=smb://alice:***@nas/share"),
            ("https://me:hunter2@nas:9100/metrics", "https://me:***@nas:9100/metrics"),
            ("ncp://nas/sys?Password=x&burst=16", "ncp://nas/sys?Password=***&burst=16"),
            ("nfs://h/x?vers=3&pwd=a=b", "nfs://h/x?vers=3&pwd=***"),
        ] {
            assert_eq!(without_secrets(url), shown);
            assert_eq!(without_secrets(shown), shown);
        }
    }

    #[test]
    fn other_texts_remain() {
        for url in [
            "smb://alice@nas:445/a:b@c",
            "smb://alice@LAB.EXAMPLE@nas/share",
            "nfs://nas/export?sec=krb5p&bypass=1",
            "nas:/export/a@b",
            "smb://[fe80::1]:445/share@x",
            "alice@[fe80::1]:/x",
            r"C:\data\a@b",
            "C:/data/a@b",
            "/mnt/a:b@c",
            "./a:b@c",
            "smb://",
            "",
            "é:/@",
        ] {
            assert_eq!(without_secrets(url), url);
        }
    }
}
