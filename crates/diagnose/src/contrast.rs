//! Two systems compared by their latency budgets, in words.

use sharebench_model::units::{counted, percent, show_nanos};
use sharebench_stats::Interval;

use crate::budget::{Budget, Part};
use crate::diagnose::Diagnosis;

/// Difference of the times of an operation from which it is stated, as a share of the longer one.
const STATED: f64 = 0.03;

/// One sentence for each operation that both diagnoses measured: which system is faster, by how much, and why.
pub fn contrast(one: &Diagnosis, other: &Diagnosis) -> Vec<String> {
    let names = names(one, other);
    let pairs = one.budgets.iter().filter_map(|budget| {
        let same = other.budgets.iter().find(|other| other.operation == budget.operation)?;
        Some((budget, same))
    });
    pairs.map(|(a, b)| sentence([(&names[0], a), (&names[1], b)])).collect()
}

/// The protocols, if they differ; otherwise the URLs.
fn names(one: &Diagnosis, other: &Diagnosis) -> [String; 2] {
    let mounted = |diagnosis: &Diagnosis| match &diagnosis.evidence.mount {
        Some(mount) => format!("the {} mount", mount.file_system),
        None => diagnosis.evidence.protocol.clone(),
    };
    let names = [mounted(one), mounted(other)];
    if names[0] == names[1] { [one.url.clone(), other.url.clone()] } else { names }
}

fn sentence([one, other]: [(&str, &Budget); 2]) -> String {
    let what = one.1.operation.name();
    let [fast, slow] =
        if one.1.total_ns.value <= other.1.total_ns.value { [one, other] } else { [other, one] };
    let times = [fast.1.total_ns, slow.1.total_ns];
    let difference = 1.0 - times[0].value / times[1].value.max(f64::MIN_POSITIVE);
    let is_certain = match times.map(|time| time.interval) {
        [Some(fast), Some(slow)] => are_apart(fast, slow),
        _ => false,
    };
    if difference < STATED || !is_certain {
        return format!(
            "{what}: no difference beyond chance ({} {}, {} {})",
            one.0,
            show_nanos(one.1.total_ns.value),
            other.0,
            show_nanos(other.1.total_ns.value)
        );
    }
    // Rounded to 100 %, nothing would be left.
    let decimals = if difference < 0.99 { 0 } else { 2 };
    format!(
        "{what}: {} takes {} less time ({} instead of {}), because {}",
        fast.0,
        percent(difference, decimals),
        show_nanos(times[0].value),
        show_nanos(times[1].value),
        reason(fast.1, slow.1)
    )
}

const fn are_apart(fast: Interval, slow: Interval) -> bool {
    fast.high < slow.low
}

/// The part by which the two differ most, and the number of requests if that is why.
fn reason(fast: &Budget, slow: &Budget) -> String {
    let longer = |part: &Part| slow.time(*part) - fast.time(*part);
    let largest = Part::ALL.into_iter().max_by(|a, b| longer(a).total_cmp(&longer(b)));
    let part = largest.unwrap_or(Part::Storage);
    let per_request = matches!(part, Part::Network | Part::Protocol);
    let requests = [fast, slow].map(|budget| budget.requests.round() as u64);
    if per_request && requests[0] < requests[1] {
        return format!(
            "it needs {} instead of {}, and {} takes {} instead of {}",
            counted(requests[0], "round trip"),
            requests[1],
            part.noun(),
            show_nanos(fast.time(part)),
            show_nanos(slow.time(part))
        );
    }
    format!(
        "{} takes {} instead of {}",
        part.noun(),
        show_nanos(fast.time(part)),
        show_nanos(slow.time(part))
    )
}

#[cfg(test)]
mod tests {
    use sharebench_stats::Estimate;

    use super::*;
    use crate::budget::PartShare;
    use crate::operations::Operation;

    fn estimate(value: f64) -> Estimate {
        Estimate { value, interval: Some(Interval::new(value * 0.98, value * 1.02)), n: 20 }
    }

    fn budget(requests: f64, network: f64, storage: f64) -> Budget {
        let parts = Part::ALL.into_iter().map(|part| {
            let time = match part {
                Part::Network => requests * network,
                Part::Storage => storage,
                _ => 0.0,
            };
            PartShare { part, time_ns: estimate(time) }
        });
        Budget {
            operation: Operation::OpenReadClose,
            total_ns: estimate(requests * network + storage),
            requests,
            parts: parts.collect(),
            merged: Vec::new(),
        }
    }

    #[test]
    fn fewer_round_trips_are_the_reason() {
        let nfs = budget(2.0, 1e6, 1e5);
        let smb = budget(3.0, 1e6, 1e5);
        assert_eq!(
            sentence([("smb", &smb), ("nfs", &nfs)]),
            "open, read, close: nfs takes 32 % less time (2.10 ms instead of 3.10 ms), because it needs 2 round trips \
             instead of 3, and the network's round trip takes 2.00 ms instead of 3.00 ms"
        );
    }

    #[test]
    fn longer_part_is_the_reason() {
        let fast = budget(1.0, 1e6, 1e5);
        let slow = budget(1.0, 1e6, 5e6);
        assert_eq!(
            sentence([("a", &fast), ("b", &slow)]),
            "open, read, close: a takes 82 % less time (1.10 ms instead of 6.00 ms), because the server's cache or storage \
             takes 100 us instead of 5.00 ms"
        );
    }

    #[test]
    fn intervals_that_overlap_are_no_difference() {
        let a = budget(1.0, 1e6, 1e5);
        let b = budget(1.0, 1e6, 1.3e5);
        assert_eq!(
            sentence([("a", &a), ("b", &b)]),
            "open, read, close: no difference beyond chance (a 1.10 ms, b 1.13 ms)"
        );
    }
}
