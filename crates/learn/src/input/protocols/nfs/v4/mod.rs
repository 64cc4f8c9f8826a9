//! NFS version 4 (RFC 7530 16, RFC 8881 18, RFC 7862 15): a call is a list of steps on a current and a saved file, which is
//! one operation, seldom several.

mod results;
mod steps;
mod walk;

use std::net::SocketAddr;

use self::results::{Facts, Results};
pub(super) use self::steps::{Step, call};
use self::walk::Walk;
use super::outcome;
use super::xdr::Xdr;
use crate::input::recorder::Recorder;
use crate::operation::{Action, Outcome};

/// What an operation was and how it ended.
pub(super) type Done = (Action, Outcome);

/// The operations by the call alone.
pub(super) fn without_results(
    steps: &[Step],
    outcome: Outcome,
    server: SocketAddr,
    recorder: &mut Recorder,
) -> Vec<Done> {
    let mut walk = Walk::new(server);
    walk.rest(steps, outcome, recorder);
    walk.done()
}

/// The operations by call and reply. `complete` becomes false where the results end before what is needed.
pub(super) fn reply(
    steps: &[Step],
    xdr: &mut Xdr<'_>,
    complete: &mut bool,
    server: SocketAddr,
    recorder: &mut Recorder,
) -> Vec<Done> {
    let Some(Results { status, steps: results, whole }) = results::read(xdr) else {
        *complete = false;
        return without_results(steps, Outcome::NoReply, server, recorder);
    };
    let mut walk = Walk::new(server);
    let mut failed = None;
    let mut reached = 0;
    for (index, result) in results.iter().enumerate() {
        reached = index + 1;
        // After the data of a long WRITE only the reply is known; GETATTR needs no more.
        let unknown = match result.code {
            9 => Step::GetAttributes(0),
            _ => Step::Ignored,
        };
        let step = steps.get(index).unwrap_or(&unknown);
        let handle = results.get(reached..).unwrap_or_default().iter().find_map(|later| match &later.facts {
            Facts::Handle(handle) => Some(Some(handle.as_slice())),
            _ => results::moves(later.code).then_some(None),
        });
        walk.step(step, outcome(result.status), &result.facts, handle.flatten(), recorder);
        if result.status != 0 {
            failed = Some(outcome(result.status));
            break;
        }
    }
    let rest = steps.get(reached..).unwrap_or_default();
    if let Some(failed) = failed {
        // What the compound was for was not reached.
        if !walk.has_operation() {
            walk.rest(rest, failed, recorder);
        }
    } else if !whole {
        // The reply ends early; its status is that of its last step, and steps before it succeeded.
        let outcome = outcome(status);
        if outcome == Outcome::Done || !walk.has_operation() {
            walk.rest(rest, outcome, recorder);
        }
        *complete = walk.data_was_last;
    }
    walk.done()
}
