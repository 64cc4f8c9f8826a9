//! Who logs in, and where the proof comes from.

use std::path::{Path, PathBuf};

use sharebench_target::Secret;

use crate::error::{GssError, Names};
use crate::library::{CredentialStore, RawCredential, RawName};

/// A client of Kerberos before its tickets are requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    principal: Option<String>,
    source: Source,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    TicketCache,
    Keytab(PathBuf),
    Password(Secret),
}

impl Identity {
    /// The default principal of the user's ticket cache (`KRB5CCNAME`).
    pub const fn ticket_cache() -> Self {
        Self { principal: None, source: Source::TicketCache }
    }

    /// A principal whose ticket is in the user's cache; without `@REALM` it is of the default realm.
    pub fn cached(principal: &str) -> Self {
        Self { principal: Some(principal.to_owned()), source: Source::TicketCache }
    }

    /// A principal whose key is in a keytab.
    pub fn keytab(file: &Path, principal: &str) -> Self {
        Self { principal: Some(principal.to_owned()), source: Source::Keytab(file.to_owned()) }
    }

    /// A principal with its password, from which the library requests a ticket.
    pub fn password(principal: &str, password: Secret) -> Self {
        Self { principal: Some(principal.to_owned()), source: Source::Password(password) }
    }

    /// The principal as the user wrote it; none for the default one of the ticket cache.
    pub fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    /// Obtains the ticket-granting ticket, or finds it in the cache. Blocks until the KDC answers.
    pub fn acquire(&self) -> Result<Credential, GssError> {
        let principal = self.principal.as_deref().unwrap_or_default();
        let names = Names { principal, service: "" };
        let name = self.principal.as_deref().map(|text| RawName::import(text, true)).transpose()?;
        let raw = match (&self.source, &name) {
            (Source::Keytab(file), Some(name)) => {
                let raw = RawCredential::of_store(&CredentialStore::client_keytab(file)?, Some(name), names);
                // The library looks for a cache where the keytab has no key.
                raw.map_err(|error| match error {
                    GssError::NoTicket(status) => {
                        GssError::NotInKeytab { principal: principal.to_owned(), status }
                    }
                    other => other,
                })?
            }
            (Source::Password(password), Some(name)) => RawCredential::of_password(name, password, names)?,
            _ => RawCredential::of_ticket_cache(name.as_ref(), names)?,
        };
        // The library requests the first ticket only when somebody looks at the credential.
        let (shown, lifetime) = raw.inquire(names)?;
        let principal = shown.unwrap_or_else(|| principal.to_owned());
        Ok(Credential { raw, principal, lifetime })
    }
}

/// The tickets of one principal.
///
/// It keeps the tickets of services as well, so that the logins of thousands of sessions request each ticket once.
/// Threads may share it.
pub struct Credential {
    raw: RawCredential,
    principal: String,
    lifetime: u32,
}

impl Credential {
    /// The principal with its realm.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// Lifetime of the ticket-granting ticket when it was obtained, in seconds.
    pub const fn lifetime_s(&self) -> u32 {
        self.lifetime
    }

    pub(crate) const fn raw(&self) -> &RawCredential {
        &self.raw
    }
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Credential({})", self.principal)
    }
}
