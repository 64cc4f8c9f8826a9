//! The operations of a session, whatever the version of NFS.

use std::ops::{Deref, DerefMut};

use sharebench_client_core::Caller;

/// The operations of a session, each one call after another, with the methods of a version of NFS.
///
/// They look names up by handles of directories, the only thing that is kept between operations, as every client does.
/// As a whole it is the session of one user ([`Multiplexed`](sharebench_client_core::Multiplexed)).
#[derive(Debug)]
pub(crate) struct NfsCaller<S>(pub(crate) Caller<S>);

impl<S> Deref for NfsCaller<S> {
    type Target = Caller<S>;

    #[inline]
    fn deref(&self) -> &Caller<S> {
        &self.0
    }
}

impl<S> DerefMut for NfsCaller<S> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Caller<S> {
        &mut self.0
    }
}

impl<S> From<Caller<S>> for NfsCaller<S> {
    fn from(caller: Caller<S>) -> Self {
        Self(caller)
    }
}
