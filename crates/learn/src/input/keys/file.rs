//! A file with keys of SMB sessions in the format of Wireshark's table `smb2_seskey_list`.
//!
//! A line has the session id, the session key, and the keys of messages to the client (`s2c`) and to the server (`c2s`), in
//! hexadecimal digits with commas between them. Wireshark writes an empty field as nothing or `""`, and reads digits only
//! without quotes. Here they may have quotes, and empty fields at the end may be missing.

use std::collections::HashMap;

use sharebench_target::{Secret, wipe};

/// Most keys of a file, and most of one session: identifiers repeat when a server restarts.
const MAX_KEYS: usize = 1 << 16;
const MAX_KEYS_OF_SESSION: usize = 16;
/// Digits of a session id.
const SESSION_DIGITS: usize = 16;
/// Bytes of keys for AES-128 and AES-256.
const SHORT_KEY: usize = 16;
const LONG_KEY: usize = 32;
/// The fields of a line.
const FIELDS: [&str; 4] = ["session id", "session key", "s2c key", "c2s key"];

/// The keys of a file. They are in no output and in no error.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SessionKeyTable {
    pub(super) name: String,
    pub(super) keys: Vec<SessionKey>,
    /// Indices of the keys of a session.
    pub(super) by_session: HashMap<u64, Vec<usize>>,
}

/// The keys of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionKey {
    pub(super) line: usize,
    pub(super) session: u64,
    /// What the other two are derived from.
    pub(super) base: Option<Key>,
    pub(super) to_client: Option<Key>,
    pub(super) to_server: Option<Key>,
}

/// A key, as its hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key(Secret);

/// A key as bytes for the moment in which it is used; wiped when dropped.
pub(super) struct ExposedKey(Vec<u8>);

/// A file of keys that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--keys {name}: {}{problem}", line.map_or_else(String::new, |line| format!("line {line}: ")))]
pub struct KeyFileError {
    /// The file.
    pub name: String,
    /// The number of the line; none if the file as a whole is wrong.
    pub line: Option<usize>,
    /// What is wrong with it.
    pub problem: KeyProblem,
}

/// What is wrong with a line, without its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    /// The file has no line with a key.
    #[error("no key: write one line for each session as session id,session key,s2c key,c2s key")]
    Empty,
    /// Too few or too many fields.
    #[error("{count} fields instead of 2 to 4: session id, session key, s2c key, c2s key")]
    Fields {
        /// Fields of the line.
        count: usize,
    },
    /// A quote without another one.
    #[error("the {field} has a quote at one end only")]
    Quote {
        /// The field.
        field: &'static str,
    },
    /// Something other than digits.
    #[error("the {field} has something other than hexadecimal digits")]
    NotHexadecimal {
        /// The field.
        field: &'static str,
    },
    /// A session id of another length.
    #[error("the session id has {digits} hexadecimal digits instead of 16")]
    SessionLength {
        /// Its digits.
        digits: usize,
    },
    /// A session key of another length.
    #[error("the session key has {digits} hexadecimal digits instead of 2 to 32, or 64")]
    SessionKeyLength {
        /// Its digits.
        digits: usize,
    },
    /// A key of another length.
    #[error("the {field} has {digits} hexadecimal digits instead of 32 or 64")]
    KeyLength {
        /// The field.
        field: &'static str,
        /// Its digits.
        digits: usize,
    },
    /// A session without a key.
    #[error("no key after the session id")]
    NoKey,
    /// More keys of a session than are tried.
    #[error("more than {MAX_KEYS_OF_SESSION} lines of the same session")]
    ManyOfSession,
    /// More keys than are kept.
    #[error("more than {MAX_KEYS} keys")]
    Many,
}

impl SessionKeyTable {
    /// Reads the text of a file with this name. Empty lines and lines that begin with `#` are ignored.
    pub fn parse(name: &str, text: &str) -> Result<Self, KeyFileError> {
        let mut table = Self { name: name.to_owned(), ..Self::default() };
        let failed = |line, problem| KeyFileError { name: name.to_owned(), line, problem };
        for (number, content) in (1..).zip(text.lines()) {
            let content = content.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            table.line(number, content).map_err(|problem| failed(Some(number), problem))?;
        }
        if table.keys.is_empty() { Err(failed(None, KeyProblem::Empty)) } else { Ok(table) }
    }

    fn line(&mut self, line: usize, content: &str) -> Result<(), KeyProblem> {
        let count = content.split(',').count();
        if !(2..=FIELDS.len()).contains(&count) {
            return Err(KeyProblem::Fields { count });
        }
        let mut digits = [""; FIELDS.len()];
        for ((place, field), text) in digits.iter_mut().zip(FIELDS).zip(content.split(',')) {
            *place = unquoted(field, text.trim())?;
        }
        let [session, base, to_client, to_server] = digits;
        let session = session_id(session)?;
        let [_, _, s2c, c2s] = FIELDS;
        let keys = (session_key(base)?, cipher_key(s2c, to_client)?, cipher_key(c2s, to_server)?);
        if keys == (None, None, None) {
            return Err(KeyProblem::NoKey);
        }
        if self.keys.len() >= MAX_KEYS {
            return Err(KeyProblem::Many);
        }
        let of_session = self.by_session.entry(session).or_default();
        if of_session.len() >= MAX_KEYS_OF_SESSION {
            return Err(KeyProblem::ManyOfSession);
        }
        of_session.push(self.keys.len());
        let (base, to_client, to_server) = keys;
        self.keys.push(SessionKey { line, session, base, to_client, to_server });
        Ok(())
    }
}

impl Key {
    pub(super) fn expose(&self) -> ExposedKey {
        ExposedKey(bytes(&self.0.expose()))
    }
}

impl std::ops::Deref for ExposedKey {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for ExposedKey {
    fn drop(&mut self) {
        wipe(std::mem::take(&mut self.0));
    }
}

/// The digits of a field.
fn unquoted<'a>(field: &'static str, text: &'a str) -> Result<&'a str, KeyProblem> {
    let digits = match (text.strip_prefix('"'), text.strip_suffix('"')) {
        (None, None) => text,
        (Some(rest), Some(_)) => rest.strip_suffix('"').ok_or(KeyProblem::Quote { field })?,
        _ => return Err(KeyProblem::Quote { field }),
    };
    if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        Ok(digits)
    } else {
        Err(KeyProblem::NotHexadecimal { field })
    }
}

/// A session id, in the order of its bytes on the wire (MS-SMB2 2.2.1.2).
fn session_id(digits: &str) -> Result<u64, KeyProblem> {
    match (digits.len(), u64::from_str_radix(digits, 16)) {
        (SESSION_DIGITS, Ok(number)) => Ok(number.swap_bytes()),
        (digits, _) => Err(KeyProblem::SessionLength { digits }),
    }
}

/// A session key. One of less than 16 bytes, as old types of Kerberos have, is padded when keys are derived from it.
fn session_key(digits: &str) -> Result<Option<Key>, KeyProblem> {
    let len = digits.len() / 2;
    if digits.len().is_multiple_of(2) && (len <= SHORT_KEY || len == LONG_KEY) {
        return Ok(key(digits));
    }
    Err(KeyProblem::SessionKeyLength { digits: digits.len() })
}

fn cipher_key(field: &'static str, digits: &str) -> Result<Option<Key>, KeyProblem> {
    if [0, SHORT_KEY * 2, LONG_KEY * 2].contains(&digits.len()) {
        return Ok(key(digits));
    }
    Err(KeyProblem::KeyLength { field, digits: digits.len() })
}

fn key(digits: &str) -> Option<Key> {
    (!digits.is_empty()).then(|| Key(Secret::new(digits)))
}

fn bytes(digits: &str) -> Vec<u8> {
    let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
    let pairs = digits.as_bytes().as_chunks::<2>().0;
    pairs.iter().map(|[high, low]| value(*high) << 4 | value(*low)).collect()
}
