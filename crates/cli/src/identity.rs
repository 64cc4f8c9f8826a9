//! The file of `--identity`: Kerberos principals and keys, and TLS certificates.

use std::path::{Path, PathBuf};

use sharebench_plan::nearest;
use toml::de::{DeTable, DeValue};

use crate::exit::Failure;
use crate::files;

/// Who reads the file; each has fields of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A command that connects to targets.
    Client,
    /// `serve`.
    Server,
}

impl Role {
    const fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Client => &["keytab", "principal", "credentials", "tls_ca", "tls_cert", "tls_key"],
            Self::Server => &["keytab", "tls_cert", "tls_key", "tls_client_ca", "tls_required"],
        }
    }
}

/// Who this program is: what the file of `--identity` names. It holds paths, which are relative to its directory, and no
/// secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdentityFile {
    /// The file itself, for messages; empty without one.
    pub file: PathBuf,
    /// Kerberos keys: of a client instead of the tickets of the user's cache; of a server those of its services.
    pub keytab: Option<PathBuf>,
    /// Principal whose key is in `keytab`, or whose ticket is in the user's cache.
    pub principal: Option<String>,
    /// Principals that sessions take in turn, one per line: PRINCIPAL:PASSWORD, or PRINCIPAL with its key in `keytab`.
    pub credentials: Option<PathBuf>,
    /// Trusted certificate authorities (PEM), instead of those of the system.
    pub tls_ca: Option<PathBuf>,
    /// Certificate with its chain (PEM).
    pub tls_cert: Option<PathBuf>,
    /// Private key of `tls_cert` (PEM), which only its owner may read.
    pub tls_key: Option<PathBuf>,
    /// Authorities (PEM) that must have signed the certificate of a client.
    pub tls_client_ca: Option<PathBuf>,
    /// NFS calls without TLS are denied.
    pub tls_required: bool,
}

impl IdentityFile {
    /// Reads a file.
    pub fn read(path: &Path, role: Role) -> Result<Self, Failure> {
        let text = files::read_text(path);
        let text = text.map_err(|error| Failure::usage(format!("--identity {}: {error}", path.display())))?;
        Self::parse(path, &text, role)
    }

    /// An error about the file; `problem` begins with the field at fault.
    pub fn error(&self, problem: impl std::fmt::Display) -> Failure {
        Failure::usage(format!("--identity {}: {problem}", self.file.display()))
    }

    /// The same without what only Kerberos uses.
    pub fn without_tickets(&self) -> Self {
        Self { keytab: None, principal: None, credentials: None, ..self.clone() }
    }

    fn parse(path: &Path, text: &str, role: Role) -> Result<Self, Failure> {
        let mut identity = Self { file: path.to_owned(), ..Self::default() };
        let line = |at: usize| text[..at].matches('\n').count() + 1;
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(String::new(), |span| format!("line {}: ", line(span.start)));
            identity.error(format!("{line}{}", error.message()))
        })?;
        for (key, value) in table.get_ref() {
            let field = key.get_ref().as_ref();
            let at = line(key.span().start);
            if !role.fields().contains(&field) {
                let known = role.fields();
                let meant =
                    nearest(field, known).map_or(String::new(), |name| format!("did you mean {name}? "));
                return Err(identity.error(format!(
                    "line {at}: unknown field {field}; {meant}known are {}",
                    known.join(", ")
                )));
            }
            match (field, value.get_ref()) {
                ("tls_required", DeValue::Boolean(required)) => identity.tls_required = *required,
                ("tls_required", _) => {
                    return Err(identity.error(format!("line {at}: tls_required: write true or false")));
                }
                (_, DeValue::String(text)) => identity.set(field, text.as_ref()),
                (_, _) => return Err(identity.error(format!("line {at}: {field}: write a text in quotes"))),
            }
        }
        identity.check()?;
        Ok(identity)
    }

    fn set(&mut self, field: &str, text: &str) {
        let path = Some(self.file.parent().unwrap_or(Path::new("")).join(text));
        match field {
            "keytab" => self.keytab = path,
            "principal" => self.principal = Some(text.to_owned()),
            "credentials" => self.credentials = path,
            "tls_ca" => self.tls_ca = path,
            "tls_cert" => self.tls_cert = path,
            "tls_key" => self.tls_key = path,
            "tls_client_ca" => self.tls_client_ca = path,
            _ => {}
        }
    }

    /// Checks the fields against each other.
    fn check(&self) -> Result<(), Failure> {
        let problem = if self.tls_cert.is_some() != self.tls_key.is_some() {
            "tls_cert and tls_key need each other"
        } else if self.principal.is_some() && self.credentials.is_some() {
            "principal and credentials exclude each other"
        } else if (self.tls_client_ca.is_some() || self.tls_required) && self.tls_cert.is_none() {
            "tls_client_ca and tls_required need tls_cert"
        } else {
            return Ok(());
        };
        Err(self.error(problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_file() {
        let text = "keytab = 'alice.keytab'\nprincipal = 'alice'\ntls_ca = '/etc/ca.pem'\n";
        let identity = IdentityFile::parse(Path::new("lab/me.toml"), text, Role::Client).unwrap();
        assert_eq!(identity.keytab.as_deref(), Some(Path::new("lab/alice.keytab")));
        assert_eq!(identity.tls_ca.as_deref(), Some(Path::new("/etc/ca.pem")));
        assert_eq!(identity.principal.as_deref(), Some("alice"));
    }

    #[test]
    fn mistakes_name_the_file_and_the_field() {
        for (role, text, word) in [
            (
                Role::Client,
                "keytabs = 'x'",
                "line 1: unknown field keytabs; did you mean keytab? known are keytab,",
            ),
            (Role::Client, "\ntls_required = true", "line 2: unknown field tls_required"),
            (Role::Server, "principal = 'x'", "unknown field principal"),
            (Role::Client, "keytab = 3", "keytab: write a text in quotes"),
            (Role::Server, "tls_required = 'yes'", "tls_required: write true or false"),
            (Role::Client, "tls_cert = 'x'", "tls_cert and tls_key need each other"),
            (Role::Client, "principal = 'x'\ncredentials = 'y'", "principal and credentials exclude"),
            (Role::Server, "tls_required = true", "need tls_cert"),
            (Role::Client, "keytab", "line 1: "),
        ] {
            let error = IdentityFile::parse(Path::new("me.toml"), text, role).unwrap_err().to_string();
            assert!(error.starts_with("--identity me.toml: ") && error.contains(word), "{text}: {error}");
        }
    }
}
