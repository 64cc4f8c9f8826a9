//! The Kerberos principals that an identity names.

use std::collections::HashMap;
use std::path::Path;

use sharebench_gss::{Identity, SharedCredential, TicketPool};
use sharebench_target::{Secret, wipe};

use crate::exit::Failure;
use crate::files;
use crate::identity::IdentityFile;
use crate::run::accounts_file::check_readers;
use crate::run::credentials::warn_of_readers;

/// The Kerberos identities of a file; none if it names none.
pub fn selected(identity: &IdentityFile) -> Result<Option<TicketPool>, Failure> {
    let keytab = identity.keytab.as_deref();
    if let Some(path) = keytab {
        warn_of_readers("keytab", path);
        std::fs::File::open(path)
            .map_err(|error| identity.error(format!("keytab {}: {error}", path.display())))?;
    }
    if let Some(path) = &identity.credentials {
        return of_file(identity, path).map(Some);
    }
    let principal = match (&identity.principal, keytab) {
        (Some(principal), Some(keytab)) => Identity::keytab(keytab, principal),
        (Some(principal), None) => Identity::cached(principal),
        (None, Some(_)) => return Err(identity.error("keytab needs principal or credentials")),
        (None, None) => return Ok(None),
    };
    Ok(Some(SharedCredential::new(principal).into()))
}

/// Reads the principals of a file that nobody else can read.
fn of_file(identity: &IdentityFile, path: &Path) -> Result<TicketPool, Failure> {
    let fail = |detail: String| identity.error(format!("credentials {}: {detail}", path.display()));
    check_readers(path).map_err(fail)?;
    let text = files::read_text(path).map_err(|error| fail(error.to_string()))?;
    let principals = parse(&text, identity.keytab.as_deref());
    wipe(text.into_bytes());
    let credentials = principals.map_err(fail)?.into_iter().map(SharedCredential::new).collect();
    TicketPool::new(credentials).ok_or_else(|| fail("no principal: write one per line".to_owned()))
}

/// Parses the principals. Empty lines and lines that begin with `#` are ignored.
fn parse(text: &str, keytab: Option<&Path>) -> Result<Vec<Identity>, String> {
    let mut principals = Vec::new();
    let mut lines = HashMap::new();
    for (line, content) in (1..).zip(text.lines()) {
        if content.trim().is_empty() || content.starts_with('#') {
            continue;
        }
        let (principal, password) = match content.split_once(':') {
            Some((principal, password)) => (principal.trim(), Some(password)),
            None => (content.trim(), None),
        };
        if let Some(first) = lines.insert(principal.to_owned(), line) {
            return Err(format!("line {line}: '{principal}' is already in line {first}"));
        }
        principals.push(match (password, keytab) {
            _ if principal.is_empty() => return Err(format!("line {line}: the principal is missing")),
            (Some(""), _) => return Err(format!("line {line}: the password of '{principal}' is empty")),
            (Some(password), _) => Identity::password(principal, Secret::new(password)),
            (None, Some(keytab)) => Identity::keytab(keytab, principal),
            (None, None) => {
                return Err(format!("line {line}: '{principal}' has no password, and there is no keytab"));
            }
        });
    }
    Ok(principals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_principal_with_a_password_or_a_key() {
        let keytab = Path::new("/k");
        let text = "# users\nalice@LAB:a:b\n\nbob\n";
        let expected =
            vec![Identity::password("alice@LAB", Secret::new("a:b")), Identity::keytab(keytab, "bob")];
        assert_eq!(parse(text, Some(keytab)), Ok(expected));
        for (text, word) in [
            ("alice\n", "no password, and there is no keytab"),
            ("alice:\n", "line 1: the password of 'alice' is empty"),
            (":x\n", "the principal is missing"),
            ("a:1\na:2\n", "line 2: 'a' is already in line 1"),
        ] {
            let error = parse(text, None).unwrap_err();
            assert!(error.contains(word) && !error.contains('x'), "{error}");
        }
    }
}
