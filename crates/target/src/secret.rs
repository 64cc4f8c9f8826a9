//! A password that cannot be printed by accident.

use std::hash::{BuildHasher, RandomState};
use std::ops::Deref;

/// A password: no `Display`, a `Debug` without content, wiped from memory when dropped. While it is kept, memory holds it only
/// masked, so that no core dump has it as text.
#[derive(Clone, Default)]
pub struct Secret {
    masked: Vec<u8>,
    mask: Vec<u8>,
    /// Where the user gave it, such as `SHAREBENCH_PASSWORD`.
    source: Option<String>,
}

/// A password as text for the moment in which it is used; wiped when dropped.
pub struct Exposed(String);

impl Secret {
    /// Stores a password and overwrites the text.
    pub fn new(text: impl Into<String>) -> Self {
        let text = Exposed(text.into());
        let random = RandomState::new();
        let mask: Vec<u8> = (0..text.len()).map(|place| random.hash_one(place) as u8).collect();
        let masked = text.bytes().zip(&mask).map(|(byte, mask)| byte ^ mask).collect();
        Self { masked, mask, source: None }
    }

    /// States where the user gave the password, for the message of a rejected one.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Where the user gave the password.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// True if there is no password.
    pub fn is_empty(&self) -> bool {
        self.masked.is_empty()
    }

    /// The password itself, for the one place that hashes or sends it.
    pub fn expose(&self) -> Exposed {
        let bytes = self.masked.iter().zip(&self.mask).map(|(byte, mask)| byte ^ mask).collect();
        // Masking twice restores the text.
        Exposed(String::from_utf8(bytes).unwrap_or_default())
    }
}

/// Overwrites bytes that held a password.
pub fn wipe(mut bytes: Vec<u8>) {
    bytes.fill(0);
    // Without the fence the compiler may remove the fill as a dead store.
    std::hint::black_box(&bytes);
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        *self.expose() == *other.expose()
    }
}

impl Eq for Secret {}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        wipe(std::mem::take(&mut self.masked));
    }
}

impl Deref for Exposed {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Drop for Exposed {
    fn drop(&mut self) {
        wipe(std::mem::take(&mut self.0).into_bytes());
    }
}

impl std::fmt::Debug for Exposed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Exposed(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn debug_shows_nothing() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret:?} {:?}", secret.expose()), "Secret(..) Exposed(..)");
    }

    #[test]
    fn what_is_kept_is_not_the_text_and_what_is_exposed_is() {
        let secret = Secret::new("open Sesame 42");
        assert_ne!(secret.masked, b"open Sesame 42");
        assert_eq!(&*secret.expose(), "open Sesame 42");
        assert_eq!(secret, Secret::new("open Sesame 42"));
        assert_ne!(secret, Secret::new("open Sesame 43"));
        assert_eq!(&*Secret::default().expose(), "");
    }
}
