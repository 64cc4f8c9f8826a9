//! The phases of opening a session, timed by the caller.

use std::cell::RefCell;

use serde::Serialize;
use sharebench_engine::Clock;
use sharebench_target::{ConnectError, LoginPhase, Session, SessionSpec, Target};

/// Time of each phase of opening one session, nanoseconds, in order.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Login {
    /// Names and times of the phases.
    pub phases: Vec<(&'static str, f64)>,
    /// All of them, nanoseconds.
    pub total_ns: f64,
}

impl Login {
    /// Time of a phase, nanoseconds; 0 if the protocol has none of that name.
    pub fn time(&self, phase: LoginPhase) -> f64 {
        let name = name(phase);
        self.phases.iter().filter(|(known, _)| *known == name).map(|(_, time)| time).sum()
    }
}

/// Name of the phase that ends when `phase` is reached.
pub(crate) const fn name(phase: LoginPhase) -> &'static str {
    match phase {
        LoginPhase::NameResolved => "name resolution",
        LoginPhase::PortsFound => "port mapper",
        LoginPhase::Connected => "connect",
        LoginPhase::Negotiated => "negotiate",
        LoginPhase::LoggedIn => "log-in",
        LoginPhase::Attached => "share",
        LoginPhase::Opened => "directory",
    }
}

/// Opens a session and times its phases.
pub(crate) async fn connect(
    target: &dyn Target,
    spec: &SessionSpec,
    clock: &Clock,
) -> Result<(Box<dyn Session>, Login), ConnectError> {
    let start = clock.now();
    let login = RefCell::new(Login::default());
    let last = RefCell::new(start);
    let reached = |phase| {
        let now = clock.now();
        let before = last.replace(now);
        login.borrow_mut().phases.push((name(phase), (now - before) as f64));
    };
    let session = target.connect_observed(spec, &reached).await?;
    let mut login = login.into_inner();
    login.total_ns = (clock.now() - start) as f64;
    Ok((session, login))
}
