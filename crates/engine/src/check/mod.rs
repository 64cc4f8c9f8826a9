//! Self-checks of a step (docs/measure/measurement-rules.md R9): whether its own numbers belong together. Pure arithmetic
//! over what was read.

pub(crate) mod cache;
pub(crate) mod load;
pub(crate) mod machine;
pub(crate) mod policy;
pub(crate) mod ranks;
pub(crate) mod series;
pub(crate) mod server_side;
pub(crate) mod steady_state;
pub(crate) mod throughput;
pub(crate) mod verdict;

use sharebench_model::units::{percent, show_nanos, three_digits};
use sharebench_model::{Check, ErrorClass, Measure, MetadataGroup, Succession, Verdict};
use sharebench_plan::{Pace, Think, TransactionWork, Verify, Work};

use crate::check::cache::client_cache;
use crate::check::load::{deadlines, left_out, paced, requests, sessions, set_check, shared, visited};
use crate::check::policy::policy;
use crate::check::throughput::{job_shares, throughput};
use crate::check::verdict::{check, unless};
use crate::machine::machinery::MachineReadings;
use crate::record::occupancy::Occupancy;

/// Largest relative deviation from Little's law.
pub(crate) const LITTLE_TOLERANCE: f64 = 0.02;
/// Below this share of the requested depth the generator did not keep it.
const DEPTH_KEPT: f64 = 0.9;
/// Share of transactions that may start late because of the generator.
const LATE_SHARE: f64 = 0.01;
/// Lateness in nanoseconds that is always accepted.
const LATE_NS: u64 = 1_000_000;
/// Above this share of busy users, a late start waited for a free user and not for the generator.
const ALL_BUSY: f64 = 0.9;
/// Share of what was begun that may be unfinished when the window ends.
const CENSORED_SHARE: f64 = 0.01;

/// What the checks of a step use in addition to its measure. It is plain data, so that every check is a pure function
/// that tests can call with known numbers.
pub(crate) struct StepEvidence<'a> {
    pub work: &'a Work,
    pub verify: Verify,
    /// Whether the target's own sessions counted the wire, and not the operating system for a mount.
    pub wire_counted: bool,
    /// Times of the users of a load in addition to the transactions that ended in the window.
    pub occupancy: Occupancy,
    /// Readings of the machine; none in virtual time, where there is no machine.
    pub machinery: Option<MachineReadings<'a>>,
}

/// Every check of a measured step, in the order in which reports list them.
pub(crate) fn checks(measure: &Measure, evidence: &StepEvidence<'_>) -> Vec<Check> {
    let mut checks = errors(measure);
    checks.extend(wire_bytes(measure, evidence));
    checks.extend(verified(measure, evidence.verify));
    checks.extend(client_cache(measure));
    match evidence.work {
        Work::Records(work) if work.jobs.is_some() => checks.extend(throughput(measure, work.queue_depth)),
        Work::Records(work) => checks.extend(little(measure, work.queue_depth)),
        Work::Metadata(work) if work.test.declaration().succession != Succession::Immediate => {
            checks.push(job_shares(measure));
        }
        Work::Metadata(work) => checks.extend(throughput(measure, work.queue_depth)),
        Work::Transactions(work) => match &work.pace {
            // Who starts by a pace and comes too late is not late because of us, and thinks not at all.
            Pace::Closed(Think::Every(period)) => checks.push(paced(measure, work.users, *period)),
            Pace::Closed(_) => {
                checks.push(interactive_law(measure, work, evidence.occupancy));
                checks.push(lag(measure));
            }
            Pace::Visits { rate, .. } => {
                checks.push(visited(measure, *rate, work.users));
                checks.push(visit_lag(measure));
            }
            Pace::Open { rate, .. } => {
                checks.push(offered(measure, *rate, work.users));
                checks.push(open_lag(measure, work.users));
            }
        },
    }
    if let Work::Transactions(_) = evidence.work {
        checks.extend(deadlines(&measure.load));
        checks.extend(sessions(&measure.load));
        checks.extend(requests(&measure.load));
        checks.extend(left_out(&measure.load));
        checks.extend(shared(measure));
        checks.extend(set_check(&measure.load));
    }
    if let Work::Records(work) = evidence.work {
        checks.extend(policy(work, measure, evidence.wire_counted));
    }
    checks.push(participation(measure));
    checks.push(censored(measure));
    if let Some(machinery) = &evidence.machinery {
        checks.extend(machine::checks(measure, evidence.work, machinery));
    }
    checks
}

fn errors(measure: &Measure) -> Vec<Check> {
    let failed = |(class, count): (&ErrorClass, &u64)| {
        // A busy server may accept the same operation later; any other failure changes the meaning of the
        // number.
        let verdict = if *class == ErrorClass::Busy { Verdict::Warning } else { Verdict::Invalid };
        check("errors", verdict, format!("{count} of {} operations failed: {class}", measure.attempted()))
    };
    let mut checks: Vec<Check> = measure.errors.iter().map(failed).collect();
    if measure.operations == 0 {
        checks.push(check("errors", Verdict::Invalid, "no operation completed".into()));
    } else if checks.is_empty() {
        checks.push(check("errors", Verdict::Valid, format!("none in {} operations", measure.operations)));
    }
    checks
}

/// Requested = returned holds already, since a short transfer is an error; here returned = on the wire.
fn wire_bytes(measure: &Measure, evidence: &StepEvidence<'_>) -> Option<Check> {
    // What a server does by itself has a check of its own.
    if let Work::Metadata(work) = evidence.work
        && work.test.group() == MetadataGroup::ServerSide
    {
        return server_side::wire(measure, work);
    }
    let wire = measure.wire.filter(|_| evidence.wire_counted)?;
    let app = measure.bytes;
    let received = wire.payload_received;
    let sent = wire.payload_sent;
    let detail = format!(
        "application read {} B and wrote {} B, the wire carried {received} B and {sent} B of file data",
        app.read, app.written
    );
    // With several users per session, bytes at the edge of the window cannot be attributed to one of them.
    let edge = match evidence.work {
        Work::Transactions(work) if work.users_per_session > 1 => {
            u64::from(work.users) * u64::from(work.workload.largest_request())
        }
        _ => 0,
    };
    let missing = received + edge < app.read || sent + edge < app.written;
    // An adapter of ours has no cache: bytes that it did not carry were not moved.
    let direct = evidence.machinery.as_ref().is_none_or(|machinery| !machinery.blocking);
    Some(if missing && direct {
        check("bytes", Verdict::Invalid, format!("{detail}: these bytes never crossed it"))
    } else {
        let more = received > app.read + edge || sent > app.written + edge;
        unless("bytes", missing || more, detail, "a cache or a read-ahead stood between; measure directly")
    })
}

fn verified(measure: &Measure, verify: Verify) -> Option<Check> {
    if measure.bytes.read == 0 {
        return None;
    }
    let detail = format!("{} of {} bytes read were verified", measure.verified, measure.bytes.read);
    Some(if verify == Verify::Off {
        check("verified", Verdict::NotKnown, "nothing was verified (verify off)".into())
    } else {
        let wrong = measure.verified != measure.bytes.read;
        unless(
            "verified",
            wrong,
            detail,
            "the rest held records whose last write had failed, or failed itself",
        )
    })
}

/// Operations in flight = rate x mean service time, over the time in which something was in flight.
fn little(measure: &Measure, depth: u32) -> Vec<Check> {
    // Flushes and closes that count as busy are no operations of the depth.
    let busy_ns = measure.operations_ns();
    if busy_ns == 0 || measure.service.is_empty() {
        return vec![check("little", Verdict::NotKnown, "nothing was in flight".into())];
    }
    let in_flight = measure.service.mean() * measure.service.len() as f64 / busy_ns as f64;
    let detail = format!("rate x service time gives {} of {depth} in flight", three_digits(in_flight));
    let wide = in_flight > f64::from(depth) * (1.0 + LITTLE_TOLERANCE);
    let law = unless("little", wide, detail, "more than were allowed: times or counts are wrong");
    // Too few operations: filling and draining the depth at both ends would dominate the average.
    if wide || measure.service.len() < 100 * u64::from(depth) {
        return vec![law];
    }
    let detail = format!("on average {} of {depth} in flight", three_digits(in_flight));
    let remedy = "the generator could not keep the depth; try --verify off, larger records or larger files";
    vec![law, unless("depth", in_flight < f64::from(depth) * DEPTH_KEPT, detail, remedy)]
}

/// N = X (R + Z) with measured R and Z, and what was under way at the edges of the window counted in.
fn interactive_law(measure: &Measure, work: &TransactionWork, occupancy: Occupancy) -> Check {
    if measure.window_ns == 0 || measure.transactions == 0 {
        return check("little", Verdict::NotKnown, "no transaction ended in the window".into());
    }
    let responding = measure.response.mean() * measure.response.len() as f64;
    // The law holds over an interval if time in flight counts where it was spent: the part of the first
    // transactions before the window is subtracted, the part of unfinished ones is added.
    let edges = occupancy.unfinished_ns as f64 - occupancy.before_ns as f64;
    let users = (responding + occupancy.thinking_ns as f64 + edges) / measure.window_ns as f64;
    let assigned = f64::from(work.users);
    let residual = (users / assigned - 1.0).abs();
    let think = occupancy.thinking_ns as f64 / measure.transactions as f64;
    let detail = format!(
        "{} transactions/s x ({} response + {} think) account for {} of {} users ({} off)",
        three_digits(measure.transaction_rate().unwrap_or_default()),
        show_nanos(measure.response.mean()),
        show_nanos(think),
        three_digits(users),
        work.users,
        percent(residual, 1)
    );
    let remedy = "users were disconnected, reconnecting or failing";
    unless("little", residual > LITTLE_TOLERANCE, detail, remedy)
}

fn participation(measure: &Measure) -> Check {
    let reported = measure.users_reported;
    let assigned = measure.users_assigned;
    let detail = format!("{reported} of {assigned} users reported");
    let remedy =
        "censored step: response times are mostly those of the others; measure longer or use fewer users";
    unless("participation", reported < assigned, detail, remedy)
}

fn censored(measure: &Measure) -> Check {
    let begun = measure.transactions + measure.censored;
    let share = measure.censored as f64 / begun.max(1) as f64;
    let detail = format!("{} of {begun} transactions were unfinished at the end", measure.censored);
    let remedy = "percentiles above are lower bounds; measure longer";
    unless("censored", share > CENSORED_SHARE, detail, remedy)
}

/// More than 1 % of starts late by more than max(1 ms, 10 % of the median) is our fault, not the target's.
fn lag(measure: &Measure) -> Check {
    let (late, detail) = match lateness(measure) {
        Ok(judged) => judged,
        Err(unknown) => return unknown,
    };
    unless("lag", late, detail, "this machine, not the target, set the pace; use fewer users")
}

/// The same where users come and go: one who comes may have waited for another to go.
fn visit_lag(measure: &Measure) -> Check {
    match lateness(measure) {
        Ok((late, detail)) => {
            let remedy = "users waited for others to go, or this machine was late; use more users (steps)";
            unless("lag", late, detail, remedy)
        }
        Err(unknown) => unknown,
    }
}

/// The same where a schedule decides: a start that was late although users were free is our fault, and is
/// part of every response time; one that waited for a user is the load's.
fn open_lag(measure: &Measure, users: u32) -> Check {
    let (late, detail) = match lateness(measure) {
        Ok(judged) => judged,
        Err(unknown) => return unknown,
    };
    let busy = measure.transaction_rate().unwrap_or_default() * measure.service.mean() / 1e9;
    if late && busy < f64::from(users) * ALL_BUSY {
        let busy = three_digits(busy);
        let why = format!("with {busy} of {users} users busy: this machine, not the target, set the pace");
        return check("lag", Verdict::Invalid, format!("{detail} {why}; lower the rates"));
    }
    unless("lag", late, detail, "starts waited for a free user; use more users (steps)")
}

/// Whether starts were late, and by how much; or that they are too few to judge.
fn lateness(measure: &Measure) -> Result<(bool, String), Check> {
    if measure.lag.len() < 100 {
        let detail = format!("{} starts are too few to judge", measure.lag.len());
        return Err(check("lag", Verdict::NotKnown, detail));
    }
    // The limit of docs/measure/measurement-rules.md 1.2.
    let limit = (measure.service.quantile(0.5) / 10).max(LATE_NS);
    let late = measure.lag.quantile(1.0 - LATE_SHARE);
    let shown = show_nanos(late as f64);
    let most = show_nanos(limit as f64);
    Ok((late > limit, format!("99 % of transactions started at most {shown} late (limit {most})")))
}

/// An open load ends as many transactions as its schedule starts, or the queue grows without end.
fn offered(measure: &Measure, rate: u32, users: u32) -> Check {
    let planned = f64::from(rate) * measure.window_ns as f64 / 1e9;
    // Four standard deviations of a Poisson schedule, and what is always under way at the end.
    let least = planned * 0.98 - 4.0 * planned.sqrt() - f64::from(users);
    let ended = three_digits(measure.transaction_rate().unwrap_or_default());
    let detail = format!("{ended} of {rate} intended transactions/s ended");
    let remedy = "the schedule was not kept up with: response times grow with the window; lower the rates";
    unless("offered", (measure.transactions as f64) < least, detail, remedy)
}

#[cfg(test)]
#[path = "step_tests.rs"]
mod tests;
