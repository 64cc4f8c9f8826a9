//! Sizes in a report.

use sharebench_model::units::ByteSize;

/// Longest exact text of a size; longer ones are rounded.
const MAX_EXACT: usize = 8;
const UNITS: [(&str, f64); 4] = [
    ("TiB", (1u64 << 40) as f64),
    ("GiB", (1u64 << 30) as f64),
    ("MiB", (1u64 << 20) as f64),
    ("KiB", 1024.0),
];

/// A size in bytes for a reader: exact if that is short, otherwise rounded to a tenth of its unit.
pub fn size_text(bytes: u64) -> String {
    let exact = ByteSize(bytes).to_string();
    if exact.len() <= MAX_EXACT {
        return exact;
    }
    let size = bytes as f64;
    let (unit, factor) = UNITS.into_iter().find(|(_, factor)| size >= *factor).unwrap_or(("B", 1.0));
    format!("{:.1} {unit}", size / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_sizes_are_exact_and_long_ones_rounded() {
        assert_eq!(size_text(8 << 20), "8MiB");
        assert_eq!(size_text(65_535), "65535B");
        assert_eq!(size_text(13_204_889_601), "12.3 GiB");
        assert_eq!(size_text(u64::MAX), "16777216.0 TiB");
    }
}
