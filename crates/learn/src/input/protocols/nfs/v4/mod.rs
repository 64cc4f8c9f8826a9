//! NFS version 4 (RFC 7530 16, RFC 8881 18, RFC 7862 15): a call is a list of steps on a current and a saved file, which is
//! one operation, seldom several.

mod extensions;
mod results;
mod step;
mod steps;
mod walk;

use sharebench_nfs::v4::bitmap::Bitmap;
use sharebench_nfs::v4::compound::OK;
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::xdr::Reader;

use self::results::{Facts, Results};
use self::walk::Walk;
use super::status::outcome;
use crate::input::performed::Exchange;
use crate::input::recorder::Recording;
use crate::operation::Outcome;

pub(super) use self::step::CompoundStep;
pub(super) use self::steps::call;

/// Adds the operations that the call alone shows.
pub(super) fn without_results(
    steps: &[CompoundStep],
    outcome: Outcome,
    exchange: Exchange,
    recorder: &mut Recording<'_>,
) {
    let mut walk = Walk::new(exchange, recorder);
    walk.rest(steps, outcome);
    walk.finish();
}

/// Adds the operations by call and reply; false where the results end before what is needed.
pub(super) fn reply(
    steps: &[CompoundStep],
    reader: &mut Reader<'_>,
    exchange: Exchange,
    recorder: &mut Recording<'_>,
) -> bool {
    let Ok(Results { status, steps: results, whole }) = results::read(reader) else {
        without_results(steps, Outcome::NoReply, exchange, recorder);
        return false;
    };
    let mut walk = Walk::new(exchange, recorder);
    let mut failed = None;
    let mut reached = 0;
    for (index, result) in results.iter().enumerate() {
        reached = index + 1;
        // After the data of a long WRITE only the reply is known; GETATTR needs no more.
        let unknown = match Operation::from_code(result.head.operation) {
            Some(Operation::GetAttr) => CompoundStep::GetAttributes(Bitmap::default()),
            _ => CompoundStep::Ignored,
        };
        let step = steps.get(index).unwrap_or(&unknown);
        let handle = results.get(reached..).unwrap_or_default().iter().find_map(|later| match &later.facts {
            Facts::Handle(handle) => Some(Some(*handle)),
            _ => results::moves(later.head.operation).then_some(None),
        });
        walk.step(step, outcome(result.head.status), &result.facts, handle.flatten());
        if result.head.status != OK {
            failed = Some(outcome(result.head.status));
            break;
        }
    }
    let rest = steps.get(reached..).unwrap_or_default();
    let mut complete = true;
    if let Some(failed) = failed {
        // What the compound was for was not reached.
        if !walk.has_operation() {
            walk.rest(rest, failed);
        }
    } else if !whole {
        // The reply ends early; its status is that of its last step, and steps before it succeeded.
        let outcome = outcome(status);
        if outcome == Outcome::Done || !walk.has_operation() {
            walk.rest(rest, outcome);
        }
        complete = walk.data_was_last;
    }
    walk.finish();
    complete
}
