//! The server's side of a login.

use std::path::Path;
use std::sync::Arc;

use crate::context::SecurityContext;
use crate::error::{GssError, Names};
use crate::initiator::ContextStep;
use crate::library::{CredentialStore, RawContext, RawCredential};

/// The keys of a server's keytab. Clones share them.
#[derive(Clone)]
pub struct AcceptorKeys(Arc<RawCredential>);

impl AcceptorKeys {
    /// Reads a keytab. A keytab without keys is an error.
    pub fn read(keytab: &Path) -> Result<Self, GssError> {
        let shown = keytab.display().to_string();
        let names = Names { principal: &shown, service: "" };
        let raw = RawCredential::of_store(&CredentialStore::server_keytab(keytab)?, None, names)?;
        Ok(Self(Arc::new(raw)))
    }
}

impl std::fmt::Debug for AcceptorKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AcceptorKeys(..)")
    }
}

/// A login at a server, which accepts a ticket for any principal of its keytab. The library rejects replayed tickets.
pub struct Acceptor {
    keys: AcceptorKeys,
    context: RawContext,
    client: Option<String>,
    established: bool,
}

impl Acceptor {
    /// A login that has not begun.
    pub const fn new(keys: AcceptorKeys) -> Self {
        Self { keys, context: RawContext::new(), client: None, established: false }
    }

    /// Answers a token of the client.
    pub fn step(&mut self, received: &[u8]) -> Result<ContextStep, GssError> {
        if self.established {
            return Err(GssError::Order { step: "a token" });
        }
        let stepped = self.context.accept(&self.keys.0, received, &mut Vec::new())?;
        self.client = stepped.client.or(self.client.take());
        self.established = stepped.complete;
        Ok(if stepped.complete {
            ContextStep::Done(stepped.token)
        } else {
            ContextStep::Continue(stepped.token)
        })
    }

    /// The established context, with the client's principal.
    pub fn into_context(self) -> Result<SecurityContext, GssError> {
        match (self.established, self.client) {
            (true, Some(client)) => Ok(SecurityContext::new(self.context, client)),
            _ => Err(GssError::Order { step: "the established context" }),
        }
    }
}

impl std::fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Acceptor(..)")
    }
}
