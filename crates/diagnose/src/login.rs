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

/// Time of a phase from which the log-in is measured once more, nanoseconds: what slows it by accident is rarely there
/// twice.
const REPEATED_NS: f64 = 300e6;

impl Login {
    /// True if a phase other than the name resolution, which systems cache, took long.
    pub(crate) fn needs_repetition(&self) -> bool {
        self.phases.iter().any(|(phase, ns)| *phase != name(LoginPhase::NameResolved) && *ns >= REPEATED_NS)
    }

    /// The shorter time of each phase of two log-ins; the name resolution is that of the first one.
    pub(crate) fn faster(mut self, other: &Self) -> Self {
        for (phase, ns) in &mut self.phases {
            let again = other.phases.iter().find(|(known, _)| known == phase);
            if let Some((_, again)) = again.filter(|_| *phase != name(LoginPhase::NameResolved)) {
                *ns = ns.min(*again);
            }
        }
        self.total_ns = self.phases.iter().map(|(_, ns)| ns).sum();
        self
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_phase_counts_if_it_is_slow_twice() {
        let login = |phases: &[(&'static str, f64)]| Login {
            phases: phases.to_vec(),
            total_ns: phases.iter().map(|(_, ns)| ns).sum(),
        };
        let first = login(&[("name resolution", 1e9), ("negotiate", 2e9), ("log-in", 3e9)]);
        let second = login(&[("name resolution", 1e3), ("negotiate", 1e6), ("log-in", 3.1e9)]);
        assert!(
            first.needs_repetition()
                && !login(&[("name resolution", 1e9), ("negotiate", 1e6)]).needs_repetition()
        );
        let both = first.faster(&second);
        assert_eq!(both.phases, [("name resolution", 1e9), ("negotiate", 1e6), ("log-in", 3e9)]);
        assert!((both.total_ns - 4.001e9).abs() < 1.0);
    }
}
