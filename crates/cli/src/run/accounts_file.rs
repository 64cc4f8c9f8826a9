//! The file of `serve --accounts`: one account per line, with its password.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use sharebench_target::{Secret, wipe};

use crate::exit::Failure;
use crate::files;
use crate::system::{Exposure, exposure};

/// The form of a line.
const FORM: &str = "NAME:PASSWORD[:GROUP,...[:FULL NAME]]";
/// The longest name of an account or group in a bindery.
const MAX_NAME: usize = 47;
/// The longest full name, one segment of a property.
const MAX_FULL_NAME: usize = 127;

/// An account that may log in to an embedded server.
#[derive(Debug, PartialEq, Eq)]
pub struct Account {
    /// Name.
    pub name: String,
    /// Password.
    pub password: Secret,
    /// Groups.
    pub groups: Vec<String>,
    /// Full name; empty without one.
    pub full_name: String,
}

/// A line that is not an account.
#[derive(Debug, PartialEq, Eq)]
struct LineError {
    line: usize,
    detail: String,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.detail)
    }
}

/// Reads the accounts of a file that nobody else can read.
pub fn read(path: &Path) -> Result<Vec<Account>, Failure> {
    let fail = |detail: String| Failure::usage(format!("--accounts {}: {detail}", path.display()));
    check_readers(path).map_err(fail)?;
    let text = files::read_text(path).map_err(|error| fail(error.to_string()))?;
    let accounts = parse(&text);
    wipe(text.into_bytes());
    let accounts = accounts.map_err(|error| fail(error.to_string()))?;
    if accounts.is_empty() {
        return Err(fail(format!("no account: write one per line as {FORM}")));
    }
    Ok(accounts)
}

/// Fails for a file that other users own or can read. Its passwords are those of other people, so that a warning, as for
/// `--password-file`, is not enough.
pub fn check_readers(path: &Path) -> Result<(), String> {
    match exposure(path).map_err(|error| error.to_string())? {
        Some(Exposure::ForeignOwner(owner)) => Err(format!("it belongs to user id {owner}")),
        Some(Exposure::Readable) => {
            Err("other users can read or change it; protect it with: chmod 600".to_owned())
        }
        None => Ok(()),
    }
}

/// Parses the accounts. Empty lines and lines that begin with `#` are ignored.
fn parse(text: &str) -> Result<Vec<Account>, LineError> {
    let mut accounts = Vec::new();
    let mut lines = HashMap::new();
    for (line, content) in (1..).zip(text.lines()) {
        if content.trim().is_empty() || content.starts_with('#') {
            continue;
        }
        let account = account(content).map_err(|detail| LineError { line, detail })?;
        if let Some(first) = lines.insert(account.name.to_uppercase(), line) {
            let detail = format!("field 1 (name): '{}' is already in line {first}", account.name);
            return Err(LineError { line, detail });
        }
        accounts.push(account);
    }
    Ok(accounts)
}

/// Parses one line; the error names the field.
fn account(line: &str) -> Result<Account, String> {
    // The full name may contain colons.
    let mut fields = line.splitn(4, ':');
    let mut field = || fields.next().unwrap_or_default();
    let name = field();
    let password = field();
    let groups = field();
    let full_name = field().trim();
    check_name("field 1 (name)", name)?;
    if password.is_empty() {
        return Err(format!("field 2 (password) is missing: write {FORM}"));
    }
    let groups: Vec<&str> = groups.split(',').map(str::trim).filter(|group| !group.is_empty()).collect();
    for group in &groups {
        check_name("field 3 (groups)", group)?;
    }
    if full_name.len() > MAX_FULL_NAME || full_name.contains(char::is_control) {
        return Err(format!(
            "field 4 (full name): give at most {MAX_FULL_NAME} bytes without control characters"
        ));
    }
    Ok(Account {
        name: name.to_owned(),
        password: Secret::new(password),
        groups: groups.into_iter().map(str::to_owned).collect(),
        full_name: full_name.to_owned(),
    })
}

/// Checks a name of a bindery, in which some characters separate names or are wildcards.
fn check_name(field: &str, name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > MAX_NAME {
        return Err(format!("{field}: '{name}' is not a name of 1 to {MAX_NAME} bytes"));
    }
    let wrong = |char: char| char.is_control() || char.is_whitespace() || r"/\:;,*?".contains(char);
    match name.chars().find(|char| wrong(*char)) {
        Some(char) => Err(format!("{field}: '{name}' contains {char:?}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn accounts_have_names_passwords_groups_and_full_names() {
        let text = "# staff\nalice:pa,ss word\n\nBob:x:lab, staff:Robert: the second\ncarol:y::Carol\n";
        let accounts = parse(text).unwrap();
        let [alice, bob, carol] = &accounts[..] else { panic!("{accounts:?}") };
        assert_eq!((&alice.name[..], alice.groups.len(), &alice.full_name[..]), ("alice", 0, ""));
        assert_eq!(&*alice.password.expose(), "pa,ss word");
        assert_eq!(
            (&bob.groups[..], &bob.full_name[..]),
            (&["lab".to_owned(), "staff".to_owned()][..], "Robert: the second")
        );
        assert_eq!((carol.groups.len(), &carol.full_name[..]), (0, "Carol"));
        assert!(!format!("{alice:?}").contains("pa,ss"), "no password in output");
    }

    #[test]
    fn errors_name_line_and_field_and_contain_no_password() {
        for (text, expected) in [
            ("alice", "line 1: field 2 (password) is missing"),
            ("\nalice::lab", "line 2: field 2 (password) is missing"),
            (":secret", "line 1: field 1 (name): '' is not a name of 1 to 47 bytes"),
            ("a*b:secret", "line 1: field 1 (name): 'a*b' contains '*'"),
            ("alice:secret:la b", "line 1: field 3 (groups): 'la b' contains ' '"),
            ("alice:secret\n# x\nALICE:secret", "line 3: field 1 (name): 'ALICE' is already in line 1"),
            (&format!("alice:secret:lab:{}", "n".repeat(128)), "line 1: field 4 (full name): give at most"),
        ] {
            let error = error(text);
            assert!(error.starts_with(expected), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn file_that_others_can_read_is_rejected() {
        use std::os::unix::fs::PermissionsExt;

        let path = std::env::temp_dir().join(format!("sharebench-accounts-{}", std::process::id()));
        std::fs::write(&path, "alice:secret\n").unwrap();
        for (mode, accepted) in [(0o600, true), (0o640, false), (0o604, false), (0o400, true)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(read(&path).is_ok(), accepted, "{mode:o}");
        }
        std::fs::remove_file(&path).unwrap();
    }
}
