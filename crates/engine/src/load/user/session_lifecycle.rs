//! The life cycle of a user's session: login, pauses, loss, reconnection, and visits of users that arrive and leave.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::time::Duration;

use sharebench_model::OpError;
use sharebench_plan::Pace;
use sharebench_target::Session;

use crate::load::user::thread_context::ThreadContext;
use crate::load::user::user_activity::Activity;
use crate::load::user::virtual_user::VirtualUser;

/// Pause before a user opens a lost session again.
const RECONNECT: Duration = Duration::from_millis(500);

impl VirtualUser<'_> {
    /// Opens the user's session, makes its part of the data set and opens the files it keeps open; a failure is
    /// counted and tried again later.
    pub async fn connect(&mut self) {
        let ThreadContext { groups, work, target, spec, .. } = self.thread;
        match groups.open(self.group, work.users_per_session, *target, spec).await {
            Ok((session, session_member)) => {
                (self.session, self.session_member) = (Some(session), session_member);
                self.activity.has_session.set(true);
                let ready = match self.lay_out().await {
                    Ok(true) => self.open_kept().await,
                    // The run was stopped: no transaction will need its files.
                    Ok(false) => Ok(()),
                    Err(error) => Err(error),
                };
                if let Err(error) = ready {
                    self.lose_session();
                    self.book_failure(error);
                }
                // The bytes of login and layout are not those of a transaction, so counting starts here.
                self.wire = self.session.as_deref().map(Session::wire).unwrap_or_default();
                self.release_buffers();
            }
            Err(error) => self.book_failure(OpError::from(error)),
        }
    }

    /// Tries to open a lost session again; the instant at which to try once more if that failed.
    pub(crate) async fn reconnect(&mut self) -> u64 {
        let thread = self.thread;
        let from = thread.clock.now();
        self.activity.now.set(Activity::WithoutSession { from });
        self.connect().await;
        let now = thread.clock.now();
        let window = thread.window_at(now);
        self.activity.end();
        let again = now + RECONNECT.as_nanos() as u64;
        let is_lost = self.session.is_none();
        thread.miss_session(from, if is_lost { again } else { now }, window);
        if is_lost && window.measures(now) {
            thread.tally.borrow_mut().detail.timeline.failed(now - window.measure);
        }
        again
    }

    /// True when the next start is that of a visit, whose user has no session yet.
    pub(crate) fn arrives(&self) -> bool {
        matches!(self.thread.work.pace, Pace::Visits { .. }) && !self.visiting
    }

    /// A user comes and logs on; false when that failed, which is an end of the visit.
    pub(crate) async fn log_on(&mut self, intended: u64) -> bool {
        self.activity.now.set(Activity::InTransaction { intended, started: None });
        let mut result = self.connect_again().await;
        if result.is_ok() && !self.own.laid_out {
            // Nobody could lay it out before the window.
            result = self.lay_out().await.map(drop);
        }
        self.visiting = result.is_ok();
        if let Err(error) = result {
            let now = self.thread.clock.now();
            let window = self.thread.window_at(now);
            self.lose_session();
            if window.measures(now) {
                self.thread.tally.borrow_mut().detail.timeline.failed(now - window.measure);
            }
            if now < self.activity.leaves.get() {
                self.book_failure(error);
            }
            self.activity.end();
        }
        self.visiting
    }

    /// Ends a visit: closes the files and the session.
    pub(crate) async fn log_off(&mut self) {
        self.visiting = false;
        self.close_kept().await;
        self.activity.has_session.set(false);
        if let Some(session) = self.session.take() {
            session.close().await;
        }
    }

    /// Waits for the user's turn to send a request for data, where others use its session too.
    pub(crate) async fn turn(&self) {
        if let Some(session_member) = &self.session_member {
            session_member.turn().await;
        }
    }

    /// Returns the memory that only operations need, at the beginning of a pause.
    pub(crate) fn release_buffers(&mut self) {
        if let Some(session) = &mut self.session {
            session.release_buffers();
        }
    }

    /// Sleeps until `instant` or slightly longer, and answers keep-alive requests of the server meanwhile.
    pub(crate) async fn sleep_with_keepalive(&mut self, instant: u64) {
        let mut nap = self.thread.clock.sleep_coarse(instant);
        poll_fn(|cx| {
            if let Some(session) = &mut self.session {
                session.poll_keepalive(cx);
            }
            Pin::new(&mut nap).poll(cx)
        })
        .await;
    }

    /// Drops a session after a failure that makes it unusable.
    pub(crate) fn lose_session(&mut self) {
        (self.session, self.session_member) = (None, None);
        self.activity.has_session.set(false);
        self.outage = true;
        self.kept.clear();
        self.watched.clear();
        self.lose_semaphore();
        self.replay.open.clear();
        // Handles ended with the session: the loadfile starts again from its first line, with its files as
        // they were then.
        self.replay.ready = false;
        self.replay.at = 0;
    }
}
