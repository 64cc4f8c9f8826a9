//! The state of a session that several calls use alternately, without a lock and without a check at each use.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use std::task::{Context, Poll};

/// One holder of a state that several holders use alternately, all on one thread.
///
/// An operation on names is an `async fn` that works on the session by `&mut self`, and waits for each of its requests. Several
/// of them in flight cannot all hold the session. So each has a holder of its own, and the state itself (the connection, the
/// open files and all else) moves: while an operation waits, the state is in a place that all holders share, and an
/// operation that continues takes it from there. Moving it is moving a pointer. The code of an operation is the same
/// whether it is alone or one of many.
///
/// There is one owner, which has the state except within [`Self::lend`], and any number of borrowers, which have it only while
/// they are polled within that. [`Self::wait`] and [`Self::pause`] of a borrower give the state back; those of the owner keep it.
pub struct SharedState<S> {
    held: Option<Box<S>>,
    place: Rc<Cell<Option<Box<S>>>>,
    owns: bool,
}

impl<S> SharedState<S> {
    /// The owner of a state.
    pub fn new(state: S) -> Self {
        Self { held: Some(Box::new(state)), place: Rc::default(), owns: true }
    }

    /// A borrower of the same state, which does not have it yet.
    #[must_use]
    pub fn borrower(&self) -> Self {
        Self { held: None, place: Rc::clone(&self.place), owns: false }
    }

    /// The state itself, which ends the life of its owner.
    ///
    /// # Panics
    /// Panics if this is not the owner.
    pub fn into_inner(self) -> S {
        *self.held.expect(NOT_ITS_TURN)
    }

    /// Lends the state to the borrowers that `turns` polls.
    pub fn lend<T>(&mut self, turns: impl FnOnce() -> T) -> T {
        self.place.set(self.held.take());
        let done = turns();
        self.held = self.place.take();
        done
    }

    /// Begins the turns of a borrower, which is being polled for the first time.
    pub fn enter(&mut self) {
        self.take();
    }

    /// Ends the turns of a borrower.
    pub fn leave(&mut self) {
        self.give();
    }

    /// Waits until `poll` is ready. It is polled with the state, which others have in between.
    pub async fn wait<T>(&mut self, mut poll: impl FnMut(&mut S, &mut Context<'_>) -> Poll<T>) -> T {
        poll_fn(|cx| {
            self.take();
            let polled = poll(&mut **self, cx);
            if polled.is_pending() {
                self.give();
            }
            polled
        })
        .await
    }

    /// Waits for something that does not need the state.
    pub async fn pause<T>(&mut self, waiting: impl Future<Output = T>) -> T {
        self.give();
        let done = waiting.await;
        self.take();
        done
    }

    /// True for a borrower: somebody else drives the connection.
    pub fn is_borrower(&self) -> bool {
        !self.owns
    }

    #[inline]
    fn take(&mut self) {
        if self.held.is_none() {
            self.held = self.place.take();
        }
    }

    #[inline]
    fn give(&mut self) {
        if !self.owns {
            self.place.set(self.held.take());
        }
    }
}

impl<S> std::fmt::Debug for SharedState<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedState").field("owns", &self.owns).finish_non_exhaustive()
    }
}

/// What happens if a holder is used outside its turns, which would be a mistake of this crate's users.
const NOT_ITS_TURN: &str = "the state is used by one holder at a time";

impl<S> Deref for SharedState<S> {
    type Target = S;

    #[inline]
    fn deref(&self) -> &S {
        self.held.as_deref().expect(NOT_ITS_TURN)
    }
}

impl<S> DerefMut for SharedState<S> {
    #[inline]
    fn deref_mut(&mut self) -> &mut S {
        self.held.as_deref_mut().expect(NOT_ITS_TURN)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Waker;

    use super::*;

    #[test]
    fn operations_take_turns_and_see_what_the_others_did() {
        let mut owner = SharedState::new(Vec::new());
        let worker = |name: u32| {
            let mut state = owner.borrower();
            async move {
                state.enter();
                for round in 0..3 {
                    state.push((name, round));
                    let length = state.len();
                    let has_grown = |state: &mut Vec<_>, _: &mut Context<'_>| {
                        if state.len() > length { Poll::Ready(()) } else { Poll::Pending }
                    };
                    state.wait(has_grown).await;
                }
                state.leave();
            }
        };
        let mut first = pin!(worker(1));
        let mut second = pin!(worker(2));
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..4 {
            owner.lend(|| {
                let _ = first.as_mut().poll(&mut cx);
                let _ = second.as_mut().poll(&mut cx);
            });
            owner.push((0, 0));
        }
        let of =
            |name| owner.iter().filter(|(by, _)| *by == name).map(|(_, round)| *round).collect::<Vec<_>>();
        assert_eq!((of(1), of(2)), (vec![0, 1, 2], vec![0, 1, 2]));
    }

    #[test]
    fn the_owner_keeps_its_state_while_it_waits() {
        let mut owner = SharedState::new(0);
        let mut cx = Context::from_waker(Waker::noop());
        {
            let mut waiting = pin!(owner.wait(|state, _| {
                *state += 1;
                if *state == 2 { Poll::Ready(()) } else { Poll::Pending }
            }));
            assert!(waiting.as_mut().poll(&mut cx).is_pending());
            assert!(waiting.as_mut().poll(&mut cx).is_ready());
        }
        assert_eq!((*owner, owner.is_borrower(), owner.borrower().is_borrower()), (2, false, true));
        assert_eq!(owner.into_inner(), 2);
    }
}
