//! Strings of SMB 1 (MS-CIFS 2.2.1.1): UTF-16LE or bytes of the OEM character set, both as UTF-16LE.

use crate::input::protocols::smb2::bytes::short;

/// Longest string that is read, bytes of UTF-16LE. What follows is left out.
const MAX_BYTES: usize = 2 << 10;
/// `BufferFormat` of a string (2.2.1.1.3).
const STRING: u8 = 0x04;
/// Characters of patterns (2.2.1.1.3, MS-FSCC 2.1.4.4): `*`, `?` and what NT makes of them.
const WILDCARDS: [u8; 5] = *b"*?<>\"";

/// Where a string is in a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strings<'a> {
    pub(super) message: &'a [u8],
    /// Where the field after the last one begins.
    pub(super) at: usize,
    /// Where the fields end.
    pub(super) end: usize,
    pub(super) unicode: bool,
}

impl Strings<'_> {
    /// The next string; none if the message was cut within it.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        if !self.unicode {
            return self.next_oem();
        }
        // Counted from the header (2.2.1.1).
        self.at += self.at % 2;
        let mut text = Vec::new();
        while self.at + 1 < self.end {
            let unit = short(self.message, self.at)?;
            self.at += 2;
            if unit == 0 {
                break;
            }
            if text.len() < MAX_BYTES {
                text.extend(unit.to_le_bytes());
            }
        }
        Some(text)
    }

    fn next_oem(&mut self) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        while self.at < self.end {
            let byte = *self.message.get(self.at)?;
            self.at += 1;
            if byte == 0 {
                break;
            }
            if text.len() < MAX_BYTES {
                text.extend([byte, 0]);
            }
        }
        Some(text)
    }

    /// The next string as a name within its share.
    pub(super) fn name(&mut self) -> Option<Vec<u8>> {
        self.next().map(|text| within_share(&text))
    }

    /// The next string, which follows its format.
    pub(super) fn formatted(&mut self) -> Option<Vec<u8>> {
        if self.at < self.end && *self.message.get(self.at)? == STRING {
            self.at += 1;
        }
        self.next()
    }

    /// The next name, which follows its format.
    pub(super) fn formatted_name(&mut self) -> Option<Vec<u8>> {
        self.formatted().map(|text| within_share(&text))
    }
}

/// A name without separators at its ends, as those of SMB 2 are. POSIX names of the UNIX extensions have slashes.
pub(super) fn within_share(text: &[u8]) -> Vec<u8> {
    let units = || text.chunks_exact(2);
    let is_separator = |unit: &&[u8]| matches!(unit, [b'/' | b'\\', 0]);
    let before = units().take_while(is_separator).count();
    let after = units().rev().take_while(is_separator).count();
    let kept = units().count().saturating_sub(before + after);
    let replaced = |unit: &[u8]| match unit {
        [b'/', 0] => [b'\\', 0],
        [low, high] => [*low, *high],
        _ => [0, 0],
    };
    units().skip(before).take(kept).flat_map(replaced).collect()
}

/// A name that may stand for several files.
pub(super) fn is_pattern(name: &[u8]) -> bool {
    name.chunks_exact(2).any(|unit| matches!(unit, [letter, 0] if WILDCARDS.contains(letter)))
}
