//! The client's side of a login.

use std::sync::Arc;

use crate::context::SecurityContext;
use crate::error::{GssError, Names};
use crate::identity::Credential;
use crate::library::{RawContext, RawName};
use crate::service::Service;

/// What a step of a login leads to.
#[derive(PartialEq, Eq)]
pub enum ContextStep {
    /// Send this token; the peer answers it.
    Continue(Vec<u8>),
    /// The context is established; send this token unless it is empty.
    Done(Vec<u8>),
}

/// A login of a client at a service, with mutual authentication.
///
/// [`Self::step`] takes no token first, then each token of the server, until it returns [`ContextStep::Done`];
/// [`Self::into_context`] then returns the context. Kerberos needs one round trip.
pub struct Initiator {
    credential: Arc<Credential>,
    service: Service,
    context: RawContext,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Fresh,
    InProgress,
    Established,
}

impl Initiator {
    /// A login that has not begun.
    pub fn new(credential: Arc<Credential>, service: &Service) -> Self {
        Self { credential, service: service.clone(), context: RawContext::new(), state: State::Fresh }
    }

    /// The next token. The first call requests the ticket of the service, and blocks until the KDC answers.
    pub fn step(&mut self, received: &[u8]) -> Result<ContextStep, GssError> {
        if self.state == State::Established || (self.state == State::Fresh) != received.is_empty() {
            return Err(GssError::Order { step: "a token" });
        }
        let service = self.service.to_string();
        let names = Names { principal: self.credential.principal(), service: &service };
        let name = RawName::import(self.service.import_form(), self.service.is_principal())?;
        let stepped = self.context.initiate(self.credential.raw(), &name, received, names);
        let stepped = stepped.map_err(|error| error.of_answer(received))?;
        self.state = if stepped.complete { State::Established } else { State::InProgress };
        Ok(if stepped.complete {
            ContextStep::Done(stepped.token)
        } else {
            ContextStep::Continue(stepped.token)
        })
    }

    /// The established context. A server that did not authenticate itself is an error.
    pub fn into_context(self) -> Result<SecurityContext, GssError> {
        match self.state {
            State::Established if self.context.flags().is_mutual() => {
                Ok(SecurityContext::new(self.context, self.credential.principal().to_owned()))
            }
            State::Established => Err(GssError::NotMutual),
            _ => Err(GssError::Order { step: "the established context" }),
        }
    }
}

impl std::fmt::Debug for Initiator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Initiator({} at {})", self.credential.principal(), self.service)
    }
}

impl std::fmt::Debug for ContextStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, token) = match self {
            Self::Continue(token) => ("Continue", token),
            Self::Done(token) => ("Done", token),
        };
        write!(f, "{name}({} bytes)", token.len())
    }
}
