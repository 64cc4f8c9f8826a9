//! The rights to cache files of the memory target: who holds one, and who waits until it is given back.

use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};

use sharebench_model::OpError;

use crate::memory_sharing::Opener;

/// The right of one open file.
#[derive(Debug)]
struct Lease {
    holder: Opener,
    /// Another open waits for the right.
    is_recalled: bool,
    is_returned: bool,
    wakers: Vec<Waker>,
}

/// The rights of all files, by their paths. A file has one at a time.
#[derive(Debug, Default)]
pub(crate) struct Leases(BTreeMap<String, Lease>);

impl Leases {
    /// Grants the right to a file that nobody else has open.
    pub(crate) fn grant(&mut self, path: String, holder: Opener) {
        let lease = Lease { holder, is_recalled: false, is_returned: false, wakers: Vec::new() };
        self.0.insert(path, lease);
    }

    /// Ends the right of a closed file.
    pub(crate) fn leave(&mut self, opener: Opener) {
        self.0.retain(|_, lease| {
            let stays = lease.holder != opener;
            if !stays {
                lease.wakers.drain(..).for_each(Waker::wake);
            }
            stays
        });
    }

    /// True if an open of the path has to wait.
    pub(crate) fn is_held(&self, path: &str) -> bool {
        self.0.get(path).is_some_and(|lease| !lease.is_returned)
    }

    /// Takes the right back, and waits until its holder has returned it.
    pub(crate) fn poll_take_back(&mut self, path: &str, cx: &mut Context<'_>) -> Poll<()> {
        let Some(lease) = self.0.get_mut(path).filter(|lease| !lease.is_returned) else {
            return Poll::Ready(());
        };
        if !lease.is_recalled {
            lease.is_recalled = true;
            lease.wakers.drain(..).for_each(Waker::wake);
        }
        lease.wakers.push(cx.waker().clone());
        Poll::Pending
    }

    /// Waits until the right is taken back.
    pub(crate) fn poll_recall(&mut self, holder: Opener, cx: &mut Context<'_>) -> Poll<Result<(), OpError>> {
        let Some(lease) = self.held_by(holder) else { return Poll::Ready(Err(OpError::no_right())) };
        if !lease.is_recalled {
            lease.wakers.push(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    /// Returns the right.
    pub(crate) fn give_back(&mut self, holder: Opener) -> Result<(), OpError> {
        let lease = self.held_by(holder).ok_or_else(OpError::no_right)?;
        lease.is_returned = true;
        lease.wakers.drain(..).for_each(Waker::wake);
        Ok(())
    }

    fn held_by(&mut self, holder: Opener) -> Option<&mut Lease> {
        self.0.values_mut().find(|lease| lease.holder == holder && !lease.is_returned)
    }
}
