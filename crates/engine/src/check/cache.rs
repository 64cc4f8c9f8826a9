//! Whether a step measured the server or the client's cache: bytes of the application against bytes on the wire.

use sharebench_model::units::whole_percent;
use sharebench_model::{CLIENT_CACHED_FROM, Check, Measure, Verdict};

/// Reports the share of the client's cache. The step stays valid: users see this speed, but the server did not deliver it.
pub(crate) fn client_cache(measure: &Measure) -> Option<Check> {
    let wire = (*measure.wire)?;
    let share = measure.client_cache_share()?;
    if share < CLIENT_CACHED_FROM {
        return None;
    }
    let percent = whole_percent(share);
    let detail = format!(
        "served by the client's cache: {percent} % of the bytes did not cross the wire ({} B read, {} B of them from \
         the server; {} B written, {} B of them to it)",
        measure.bytes.read, wire.payload_received, measure.bytes.written, wire.payload_sent
    );
    Some(Check::new("client-cache", Verdict::Valid, detail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sharebench_model::{IoBytes, WireCount};

    fn detail_of(read: u64, received: u64) -> Option<String> {
        let wire = WireCount { payload_received: received, ..WireCount::default() };
        let measure =
            Measure { bytes: IoBytes { read, written: 0 }, wire: Some(wire).into(), ..Measure::default() };
        client_cache(&measure).map(|check| check.detail.clone())
    }

    #[test]
    fn cells_are_flagged_from_two_percent_on() {
        let detail = detail_of(1_000_000, 0).unwrap();
        assert!(
            detail.starts_with("served by the client's cache: 100 % of the bytes did not cross the wire")
        );
        assert!(detail_of(1_000_000, 1).unwrap().contains(" 99 % "));
        assert!(detail_of(1_000_000, 980_000).unwrap().contains(" 2 % "));
        assert_eq!(detail_of(1_000_000, 981_000), None);
        assert_eq!(detail_of(1_000_000, 5_000_000), None, "read-ahead is no cache hit");
    }
}
