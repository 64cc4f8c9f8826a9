//! Strings of SMB 1 (MS-CIFS 2.2.1.1): UTF-16LE or bytes of the OEM character set.

use sharebench_smb::wire::from_utf16;

/// Longest string that is read, in characters of its set. What follows is left out.
const MAX_LEN: usize = 1 << 10;
/// `BufferFormat` of a string (2.2.1.1.3).
const STRING: u8 = 0x04;
/// Characters of patterns (2.2.1.1.3, MS-FSCC 2.1.4.4): `*`, `?` and what NT makes of them.
const WILDCARDS: [char; 5] = ['*', '?', '<', '>', '"'];
const SEPARATORS: [char; 2] = ['/', '\\'];

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
    pub(super) fn next(&mut self) -> Option<String> {
        if self.unicode {
            // Counted from the header (2.2.1.1).
            self.at += self.at % 2;
            let text = self.take::<2>()?;
            return Some(from_utf16(&text.concat()));
        }
        // Bytes above those of ASCII are letters of a set that is not known: those of Latin-1 are as good as others.
        Some(self.take::<1>()?.concat().into_iter().map(char::from).collect())
    }

    /// The units before the next one of zeros, or before the end of the fields.
    fn take<const N: usize>(&mut self) -> Option<Vec<[u8; N]>> {
        let mut text = Vec::new();
        while self.at + N <= self.end {
            let unit = *self.message.get(self.at..)?.first_chunk()?;
            self.at += N;
            if unit == [0; N] {
                break;
            }
            if text.len() < MAX_LEN {
                text.push(unit);
            }
        }
        Some(text)
    }

    /// The next string as a name within its share.
    pub(super) fn name(&mut self) -> Option<String> {
        self.next().map(|text| within_share(&text))
    }

    /// The next string, which follows its format.
    pub(super) fn formatted(&mut self) -> Option<String> {
        if self.at < self.end && *self.message.get(self.at)? == STRING {
            self.at += 1;
        }
        self.next()
    }

    /// The next name, which follows its format.
    pub(super) fn formatted_name(&mut self) -> Option<String> {
        self.formatted().map(|text| within_share(&text))
    }
}

/// A name without separators at its ends, as those of SMB 2 are. POSIX names of the UNIX extensions have slashes.
pub(super) fn within_share(text: &str) -> String {
    text.trim_matches(SEPARATORS).replace('/', "\\")
}

/// A name within a directory of its share.
pub(super) fn joined(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}\\{name}") }
}

/// A name that may stand for several files.
pub(super) fn is_pattern(name: &str) -> bool {
    name.contains(WILDCARDS)
}
