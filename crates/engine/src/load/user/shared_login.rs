//! The login of shared sessions: the first user of a group that needs the session opens it, and the others wait for
//! it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use sharebench_target::{ConnectError, Session, SessionSpec, Target};

use crate::load::user::shared_session::{SessionMember, Shared};

/// The shared sessions of a thread's users, by group. The first user of a group logs in; the others wait for it and
/// get the same result.
#[derive(Default)]
pub(crate) struct Groups(RefCell<BTreeMap<u32, Group>>);

#[derive(Default)]
struct Group {
    shared: Option<Rc<RefCell<Shared>>>,
    /// True while a user of the group logs in.
    opening: bool,
    waiting: Vec<Waker>,
    /// The error of the last login, for the users who waited for it.
    failed: Option<ConnectError>,
}

/// A session for a user that logs in, with its membership if the session is shared.
pub(crate) type Opened = (Box<dyn Session>, Option<SessionMember>);

impl Groups {
    /// A session of the user's own, or its place at that of its group.
    pub async fn open(
        &self,
        group: u32,
        users_per_session: u32,
        target: &dyn Target,
        spec: &SessionSpec,
    ) -> Result<Opened, ConnectError> {
        if users_per_session == 1 {
            return Ok((target.connect(spec).await?, None));
        }
        let waited = self.wait(group).await;
        let known = self.usable(group);
        let shared = match (known, waited) {
            (Some(shared), _) => shared,
            (None, Some(failed)) => return Err(failed),
            (None, None) => {
                self.begin(group);
                let opened = target.connect(spec).await;
                let opened = opened.map(|session| Shared::new(session, spec.slots));
                self.end(group, opened.as_ref());
                opened?
            }
        };
        let session = Shared::share(&shared, spec.slot_bytes);
        let session_member = session.session_member();
        Ok((Box::new(session), Some(session_member)))
    }

    fn usable(&self, group: u32) -> Option<Rc<RefCell<Shared>>> {
        let groups = self.0.borrow();
        let shared = groups.get(&group)?.shared.as_ref()?;
        (!shared.borrow().is_lost()).then(|| Rc::clone(shared))
    }

    fn begin(&self, group: u32) {
        self.0.borrow_mut().entry(group).or_default().opening = true;
    }

    fn end(&self, group: u32, opened: Result<&Rc<RefCell<Shared>>, &ConnectError>) {
        let mut groups = self.0.borrow_mut();
        let group = groups.entry(group).or_default();
        group.opening = false;
        group.shared = opened.ok().map(Rc::clone);
        group.failed = opened.err().cloned();
        group.waiting.drain(..).for_each(Waker::wake);
    }

    /// Waits while another user of the group logs in, and returns that user's error if its login failed.
    async fn wait(&self, group: u32) -> Option<ConnectError> {
        let mut waited = false;
        poll_fn(|cx| {
            let mut groups = self.0.borrow_mut();
            let group = groups.entry(group).or_default();
            if group.opening {
                waited = true;
                group.waiting.push(cx.waker().clone());
                return Poll::Pending;
            }
            // Only those who waited for this login share its failure; a later user tries again.
            Poll::Ready(group.failed.clone().filter(|_| waited))
        })
        .await
    }
}
