//! Whether one connection was the limit of a session: the same system with more connections is faster.

use sharebench_model::Fact;

use crate::align::Aligned;
use crate::align::settings::changes;
use crate::estimate::Estimated;
use crate::estimate::pairing::Pairs;
use crate::judge::family::Family;
use crate::types::{Mechanism, MechanismGuess, SettingChange};

/// Smallest ratio of the rate with several connections over that with one.
const GAIN: f64 = 1.3;

/// Pairs of systems that are known to differ in the number of connections alone, one of them with one connection: the
/// cells that are faster with several, by [`GAIN`] at least.
pub(super) fn one_connection(
    aligned: &Aligned<'_>,
    estimated: &Estimated,
    index: usize,
    family: &Family,
) -> Vec<MechanismGuess> {
    let mut found = Vec::new();
    for (comparison, pair) in aligned.compared.iter().enumerate() {
        let Some((one, more, connections)) = connections_of(aligned, pair.a, pair.b) else { continue };
        let gain = |pairs: &Pairs| {
            let log = family.difference(&[pairs]).filter(|_| !pairs.is_client_cached())?;
            Some(if more == pair.a { log.exp() } else { (-log).exp() })
        };
        let cells = estimated.pairs[index][comparison].iter().flatten();
        let gains: Vec<f64> = cells.filter_map(gain).filter(|gain| *gain >= GAIN).collect();
        if gains.is_empty() {
            continue;
        }
        let ratios = gains.iter().fold((f64::INFINITY, 0.0f64), |(l, h), gain| (l.min(*gain), h.max(*gain)));
        found.push(MechanismGuess {
            section: index,
            system: one,
            mechanism: Mechanism::OneConnection { more, connections, ratios },
            cells: gains.len(),
            text: String::new(),
        });
    }
    found
}

/// The system with one connection, the one with several, and their number, if the two differ in nothing else.
fn connections_of(aligned: &Aligned<'_>, a: usize, b: usize) -> Option<(usize, usize, u64)> {
    let changes = changes(&aligned.systems[a], &aligned.systems[b]);
    let [SettingChange { name, a: Some(of_a), b: Some(of_b) }] = changes.as_slice() else { return None };
    if name != Fact::Connections.words() {
        return None;
    }
    match (of_a.parse().ok()?, of_b.parse().ok()?) {
        (1, more @ 2..) => Some((a, b, more)),
        (more @ 2.., 1) => Some((b, a, more)),
        _ => None,
    }
}
