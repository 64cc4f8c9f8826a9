//! The reads of a server's storage, as its system counts them, where a file of this machine reports them.

use std::path::Path;

/// Bytes of a sector in the kernel's statistics, whatever the device's own are.
const SECTOR: u64 = 512;

/// Bytes read so far; none where the file cannot be read or has no such count.
pub(crate) fn read_so_far(path: &Path) -> Option<u64> {
    parse(&std::fs::read_to_string(path).ok()?)
}

/// `io.stat` of a control group (`8:0 rbytes=1 wbytes=2 ..`), or `/sys/block/*/stat` (the third number counts sectors).
fn parse(text: &str) -> Option<u64> {
    let counts: Vec<u64> = text
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("rbytes="))
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    if !counts.is_empty() {
        return Some(counts.iter().sum());
    }
    let sectors: u64 = text.split_whitespace().nth(2)?.parse().ok()?;
    sectors.checked_mul(SECTOR)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn both_forms_of_the_kernel_are_read() {
        assert_eq!(parse("    1200   10    48000   99   3 4 5 6 0 7 8\n"), Some(48_000 * 512));
        let group = "7:0 rbytes=4096 wbytes=1 rios=1 wios=1 dbytes=0 dios=0\n8:0 rbytes=8192 wbytes=0\n";
        assert_eq!(parse(group), Some(12_288));
        assert_eq!(parse(""), None, "a group that has read nothing yet says nothing");
        assert_eq!(parse("a b c d"), None);
    }
}
