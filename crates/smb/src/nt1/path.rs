//! Commands on names, and ECHO (MS-CIFS 2.2.4.1, 2.2.4.2, 2.2.4.7, 2.2.4.8, 2.2.4.17, 2.2.4.39). The bytes of a command on names
//! are texts, each after a byte that states its format.

use super::message::{TextBytes, put_text, take_text, text_at, words};
use crate::wire::Field;

/// Format of a text that ends with NUL.
const TEXT: u8 = 4;
/// Attributes of entries to find: hidden and system files too.
pub const FILES: u16 = 0x0006;
/// Attributes of entries to find: directories too.
pub const ALL: u16 = 0x0016;

words! {
    /// DELETE and RENAME requests (MS-CIFS 2.2.4.7.1, 2.2.4.8.1).
    SearchAttributes, 1 {
        /// See [`FILES`] and [`ALL`].
        attributes: u16,
    }
}

words! {
    /// ECHO, both directions (MS-CIFS 2.2.4.39).
    Echo, 1 {
        /// Number of responses; in a response its number.
        count: u16,
    }
}

/// Appends a name; `start` is where the header of the message starts.
pub fn put_name(name: &str, start: usize, out: &mut Vec<u8>) {
    TEXT.put(out);
    put_text(name, start, out);
}

/// Takes the names of a request. `offset` is where its bytes start in the message, which decides on padding.
pub fn names(bytes: &[u8], offset: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = bytes;
    // A rename has two names.
    while let [TEXT, text @ ..] = rest {
        let at = offset + bytes.len() - text.len();
        let text = text.get(at % 2..).unwrap_or_default();
        let (name, following) = take_text(text);
        found.push(name);
        rest = following;
        if found.len() == 2 {
            break;
        }
    }
    found
}

/// Takes the names of a request of either encoding; see [`names`].
pub fn names_of(text: TextBytes<'_>, unicode: bool) -> Vec<String> {
    if unicode {
        return names(text.bytes, text.start);
    }
    let mut found = Vec::new();
    let mut at = 0;
    while found.len() < 2 && text.bytes.get(at) == Some(&TEXT) {
        let (name, next) = text_at(text, at + 1, false);
        found.push(name);
        at = next;
    }
    found
}
