//! Whether the server did the work of a server-side test by itself: file data on the wire against the bytes of the files.

use sharebench_model::units::{show_size, three_digits};
use sharebench_model::{Check, FileData, Measure, Verdict};
use sharebench_plan::MetadataWork;

/// Share of the bytes of a file that may cross the wire while a server copies it.
const MAX_SHARE: f64 = 0.01;

/// Reports the bytes on the wire per operation. File data on the wire mean that the client copied: a mount does so where
/// its server cannot.
pub(crate) fn wire(measure: &Measure, work: &MetadataWork) -> Option<Check> {
    let wire = (*measure.wire)?;
    if measure.operations == 0 {
        return None;
    }
    let each = |bytes: u64| bytes as f64 / measure.operations as f64;
    let bytes = each(wire.sent + wire.received).max(each(wire.payload()));
    let percent = |bytes: f64| three_digits(100.0 * bytes / work.entry_size as f64);
    let mut detail = format!(
        "{} per operation crossed the wire, {} % of the {} of its file",
        show_size(bytes.round() as u64),
        percent(bytes),
        show_size(work.entry_size)
    );
    let data = each(wire.payload());
    let stays = work.test.declaration().file_data == FileData::Stays;
    let crossed = stays && data > MAX_SHARE * work.entry_size as f64;
    if crossed {
        detail.push_str(": the client copied, and not the server");
    }
    let verdict = if crossed { Verdict::Warning } else { Verdict::Valid };
    Some(Check::new("server-side", verdict, detail))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sharebench_model::{MetadataTest, WireCount};

    use super::*;

    fn checked(test: MetadataTest, wire: WireCount) -> (Verdict, String) {
        let work = MetadataWork { entry_size: 1 << 20, ..MetadataWork::new(test, Duration::ZERO) };
        let measure = Measure { operations: 8, wire: Some(wire).into(), ..Measure::default() };
        let check = super::wire(&measure, &work).unwrap();
        (check.verdict, check.detail.clone())
    }

    #[test]
    fn data_on_the_wire_means_that_the_client_copied() {
        let little = WireCount { sent: 8 * 1000, received: 8 * 500, ..WireCount::default() };
        let (verdict, detail) = checked(MetadataTest::ServerCopy, little);
        assert_eq!(verdict, Verdict::Valid);
        assert!(detail.contains("0.14 % of the 1 MiB of its file"), "{detail}");
        let data = WireCount { payload_received: 8 << 20, payload_sent: 8 << 20, ..WireCount::default() };
        let (verdict, detail) = checked(MetadataTest::ServerCopy, data);
        assert_eq!(verdict, Verdict::Warning);
        assert!(
            detail.contains("200 %") && detail.ends_with("the client copied, and not the server"),
            "{detail}"
        );
        assert_eq!(checked(MetadataTest::SparseRead, data).0, Verdict::Valid);
    }
}
