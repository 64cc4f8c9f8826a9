//! The credentials that the sessions of one target use.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::shared::SharedCredential;

/// One or several credentials. Sessions take them in turn, so that a thousand virtual users have a thousand tickets.
#[derive(Debug, Clone)]
pub struct TicketPool {
    credentials: Arc<[SharedCredential]>,
    taken: Arc<AtomicUsize>,
}

impl TicketPool {
    /// A pool of several credentials; none if the list is empty.
    pub fn new(credentials: Vec<SharedCredential>) -> Option<Self> {
        if credentials.is_empty() {
            return None;
        }
        Some(Self { credentials: credentials.into(), taken: Arc::default() })
    }

    /// The credential of the next session. None never happens, because a pool is never empty.
    pub fn next(&self) -> Option<SharedCredential> {
        let turn = self.taken.fetch_add(1, Ordering::Relaxed);
        self.credentials.get(turn % self.credentials.len().max(1)).cloned()
    }
}

impl From<SharedCredential> for TicketPool {
    fn from(credential: SharedCredential) -> Self {
        Self { credentials: vec![credential].into(), taken: Arc::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Identity;

    #[test]
    fn sessions_take_the_credentials_in_turn() {
        let of = |name: &str| SharedCredential::new(Identity::cached(name));
        let pool = TicketPool::new(vec![of("a"), of("b")]).unwrap();
        let other = pool.clone();
        let taken: Vec<_> = [&pool, &other, &pool].into_iter().filter_map(TicketPool::next).collect();
        let names: Vec<_> = taken.iter().filter_map(|credential| credential.identity().principal()).collect();
        assert_eq!(names, ["a", "b", "a"]);
        assert!(TicketPool::new(Vec::new()).is_none());
    }
}
