//! One credential for many logins.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{GssError, Names};
use crate::identity::{Credential, Identity};

/// A credential with less lifetime than this is obtained again.
const MIN_LIFETIME_S: u32 = 60;

/// An identity whose tickets are requested at the first login, shared by later ones, and requested again before they
/// expire. Clones share the tickets.
///
/// Logins at the same time wait for one request to the KDC instead of sending one each.
#[derive(Debug, Clone)]
pub struct SharedCredential(Arc<Slot>);

#[derive(Debug)]
struct Slot {
    identity: Identity,
    credential: Mutex<Option<Arc<Credential>>>,
}

impl SharedCredential {
    /// Requests nothing yet.
    pub fn new(identity: Identity) -> Self {
        Self(Arc::new(Slot { identity, credential: Mutex::new(None) }))
    }

    /// Who logs in.
    pub fn identity(&self) -> &Identity {
        &self.0.identity
    }

    /// The credential. Blocks until the KDC answers if a ticket has to be requested.
    pub fn get(&self) -> Result<Arc<Credential>, GssError> {
        let mut kept = self.0.credential.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(credential) = &*kept
            && credential.remaining_s().is_ok_and(|left| left >= MIN_LIFETIME_S)
        {
            return Ok(Arc::clone(credential));
        }
        let credential = Arc::new(self.0.identity.acquire()?);
        *kept = Some(Arc::clone(&credential));
        Ok(credential)
    }
}

impl Credential {
    /// Remaining lifetime of the ticket-granting ticket in seconds.
    fn remaining_s(&self) -> Result<u32, GssError> {
        self.raw().inquire(Names::default()).map(|(_, lifetime)| lifetime)
    }
}
