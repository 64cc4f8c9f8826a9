//! Where a credential's keys and tickets are: MIT's credential store.

use std::ffi::CString;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::symbols::{KeyValue, KeyValueSet};
use crate::error::GssError;

/// Keys and values for `gss_acquire_cred_from`.
pub(crate) struct CredentialStore(Vec<(&'static std::ffi::CStr, CString)>);

impl CredentialStore {
    /// A client's keytab, with a ticket cache of its own in memory, so that the user's cache stays as it is.
    pub(crate) fn client_keytab(file: &Path) -> Result<Self, GssError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let cache = format!("MEMORY:sharebench-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let cache = CString::new(cache).map_err(|_| GssError::ZeroByte { what: "the cache" })?;
        Ok(Self(vec![(c"client_keytab", keytab(file)?), (c"ccache", cache)]))
    }

    /// A server's keytab.
    pub(crate) fn server_keytab(file: &Path) -> Result<Self, GssError> {
        Ok(Self(vec![(c"keytab", keytab(file)?)]))
    }

    /// Calls `use_set` with the store in the library's form, which borrows from this value.
    pub(super) fn with<T>(&self, use_set: impl FnOnce(*const KeyValueSet) -> T) -> T {
        let mut elements: Vec<KeyValue> =
            self.0.iter().map(|(key, value)| KeyValue { key: key.as_ptr(), value: value.as_ptr() }).collect();
        let set = KeyValueSet { count: elements.len() as u32, elements: elements.as_mut_ptr() };
        use_set(&raw const set)
    }
}

fn keytab(file: &Path) -> Result<CString, GssError> {
    let name = [b"FILE:", file.as_os_str().as_encoded_bytes()].concat();
    CString::new(name).map_err(|_| GssError::ZeroByte { what: "the keytab's file name" })
}
