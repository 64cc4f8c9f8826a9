//! The report on the captured server.

use std::collections::BTreeMap;

use super::caches::{CacheUse, cache_use};
use super::percentile::{Percentile, percentiles};
use super::responses::{kind, size_class};
use crate::operation::{Action, Observed, Outcome, Protocol, Unseen};

/// Percentiles of response times.
const WANTED: [f64; 3] = [0.5, 0.95, 0.99];
/// Percentiles of sizes.
const SIZES: [f64; 3] = [0.5, 0.9, 0.99];
/// Users with the longest response times that are listed.
const MAX_USERS: usize = 5;
/// Fewest response times of a listed user.
const MIN_TIMES: usize = 20;

/// One kind of operation.
#[derive(Debug, Clone, PartialEq)]
pub struct KindReport {
    /// Its name.
    pub operation: &'static str,
    /// The class of its sizes; none for operations without data, and for all sizes together.
    pub size_class: Option<&'static str>,
    /// How many.
    pub count: u64,
    /// Those that named something that does not exist.
    pub not_found: u64,
    /// Those that failed otherwise.
    pub failed: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Percentiles of the bytes that one successful operation transferred; none for operations without
    /// data.
    pub sizes: Vec<SizePercentile>,
    /// Response times: from the request to its reply, as the capturing machine saw them.
    pub response: Vec<Percentile>,
}

/// A percentile of sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizePercentile {
    /// Which, 0 to 1.
    pub p: f64,
    /// Bytes of an operation.
    pub bytes: u64,
}

/// The response times of one user.
#[derive(Debug, Clone, PartialEq)]
pub struct UserReport {
    /// Number in the order of appearance, from 1.
    pub user: u32,
    /// Number of its client, from 1.
    pub client: u32,
    /// How it spoke.
    pub protocol: Protocol,
    /// Operations with a reply.
    pub count: u64,
    /// Response times.
    pub response: Vec<Percentile>,
}

/// What the input shows of the server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerReport {
    /// Length of the input, ns.
    pub duration: u64,
    /// Wall clock at its start, s since 1970; 0 where unknown.
    pub started: u64,
    /// Users.
    pub users: u32,
    /// Clients.
    pub clients: u32,
    /// Operations.
    pub operations: u64,
    /// Bytes read and written.
    pub bytes: (u64, u64),
    /// By operation, then by the size of requests.
    pub kinds: Vec<KindReport>,
    /// Users with the highest 95th percentile, the highest first.
    pub slowest_users: Vec<UserReport>,
    /// The 95th percentiles of all users with enough response times, in the middle, ns.
    pub usual_user_p95: Option<u64>,
    /// What is visible of caches.
    pub caches: CacheUse,
    /// What the input could not show.
    pub unseen: Unseen,
}

#[derive(Default)]
struct Tally {
    count: u64,
    not_found: u64,
    failed: u64,
    bytes: u64,
    /// Sizes of successful operations with data, with their numbers.
    sizes: BTreeMap<u32, u64>,
    times: Vec<(u64, u64)>,
}

impl Tally {
    fn sizes(&self) -> Vec<SizePercentile> {
        let n: u64 = self.sizes.values().sum();
        let percentile = |p: f64| {
            let rank = ((n as f64 * p).ceil() as u64).max(1);
            let mut seen = 0;
            let (size, _) = self.sizes.iter().find(|(_, count)| {
                seen += **count;
                seen >= rank
            })?;
            Some(SizePercentile { p, bytes: u64::from(*size) })
        };
        SIZES.into_iter().filter_map(percentile).collect()
    }
}

/// Reports on the captured server.
pub fn server_report(observed: &Observed) -> ServerReport {
    let mut tallies: BTreeMap<(&'static str, Option<&'static str>), Tally> = BTreeMap::new();
    let mut bytes = (0, 0);
    for operation in &observed.operations {
        let moved = match operation.action {
            Action::Read { bytes: read, .. } => {
                bytes.0 += u64::from(read);
                Some(read)
            }
            Action::Write { bytes: written, .. } => {
                bytes.1 += u64::from(written);
                Some(written)
            }
            _ => None,
        };
        let name = kind(&operation.action);
        for class in std::iter::once(None).chain(size_class(&operation.action).map(Some)) {
            let tally = tallies.entry((name, class)).or_default();
            tally.count += 1;
            tally.bytes += u64::from(moved.unwrap_or(0));
            if let Some(size) = moved.filter(|_| operation.outcome == Outcome::Done) {
                *tally.sizes.entry(size).or_default() += 1;
            }
            tally.not_found += u64::from(operation.outcome == Outcome::NotFound);
            tally.failed += u64::from(matches!(operation.outcome, Outcome::Failed(_)));
            if let Some(end) = operation.end {
                tally.times.push((operation.start, end.saturating_sub(operation.start)));
            }
        }
    }
    let kinds = kinds(tallies, observed.duration);
    let (slowest_users, usual_user_p95) = users(observed);
    let clients: std::collections::BTreeSet<u32> = observed.users.iter().map(|user| user.client).collect();
    ServerReport {
        duration: observed.duration,
        started: observed.started,
        users: observed.users.len() as u32,
        clients: clients.len() as u32,
        operations: observed.operations.len() as u64,
        bytes,
        kinds,
        slowest_users,
        usual_user_p95,
        caches: cache_use(observed),
        unseen: observed.unseen.clone(),
    }
}

/// The most frequent operation first, each followed by its classes of sizes where there are several.
fn kinds(tallies: BTreeMap<(&'static str, Option<&'static str>), Tally>, duration: u64) -> Vec<KindReport> {
    let totals: BTreeMap<&'static str, u64> = tallies
        .iter()
        .filter(|((_, class), _)| class.is_none())
        .map(|((name, _), tally)| (*name, tally.count))
        .collect();
    let mut classes: BTreeMap<&'static str, usize> = BTreeMap::new();
    for (name, class) in tallies.keys() {
        *classes.entry(name).or_default() += usize::from(class.is_some());
    }
    let mut found: Vec<KindReport> = tallies
        .into_iter()
        .filter(|((name, class), _)| class.is_none() || classes.get(name).is_some_and(|classes| *classes > 1))
        .map(|((operation, size_class), mut tally)| KindReport {
            operation,
            size_class,
            count: tally.count,
            not_found: tally.not_found,
            failed: tally.failed,
            bytes: tally.bytes,
            sizes: tally.sizes(),
            response: percentiles(&mut tally.times, duration, &WANTED),
        })
        .collect();
    let total = |report: &KindReport| totals.get(report.operation).copied().unwrap_or(0);
    // Classes of sizes by how large their requests are.
    let mean = |report: &KindReport| report.size_class.map(|_| report.bytes / report.count.max(1));
    found.sort_by_key(|report| (std::cmp::Reverse(total(report)), report.operation, mean(report)));
    found
}

/// The users with the longest response times, and the usual 95th percentile of a user.
fn users(observed: &Observed) -> (Vec<UserReport>, Option<u64>) {
    let mut times: Vec<Vec<(u64, u64)>> = vec![Vec::new(); observed.users.len()];
    for operation in &observed.operations {
        if let (Some(own), Some(end)) = (times.get_mut(operation.user as usize), operation.end) {
            own.push((operation.start, end.saturating_sub(operation.start)));
        }
    }
    let mut found: Vec<UserReport> = Vec::new();
    for (index, (mut own, person)) in times.into_iter().zip(&observed.users).enumerate() {
        if own.len() >= MIN_TIMES {
            found.push(UserReport {
                user: index as u32 + 1,
                client: person.client.saturating_add(1),
                protocol: person.protocol,
                count: own.len() as u64,
                response: percentiles(&mut own, observed.duration, &WANTED),
            });
        }
    }
    let p95 = |user: &UserReport| user.response.get(1).map_or(0, |percentile| percentile.ns);
    let usual = sharebench_stats::upper_median(&mut found.iter().map(p95).collect::<Vec<_>>());
    found.sort_by_key(|user| (std::cmp::Reverse(p95(user)), user.user));
    found.truncate(MAX_USERS);
    (found, usual)
}
