//! Windows.

mod console;
mod machine;

use std::io;
use std::path::Path;

use windows_sys::Win32::Security::Cryptography::{BCRYPT_USE_SYSTEM_PREFERRED_RNG, BCryptGenRandom};

pub use console::{Keys, prepare_terminal, restore_keys, terminal_size};
pub use machine::{host_name, machine_facts};

use super::Exposure;

/// Characters other than letters and digits that `cmd` and PowerShell leave alone.
pub const PLAIN_CHARACTERS: &[u8] = b"-_./:=+\\";

/// A text in quotes. Neither shell has quotes in which nothing is special; these are right for paths and URLs.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\\\""))
}

/// False: only a sandbox of other systems needs to know it.
pub fn is_root() -> bool {
    false
}

/// Not known: access control lists of this system are not examined, only whether the file exists.
pub fn exposure(path: &Path) -> io::Result<Option<Exposure>> {
    std::fs::metadata(path).map(|_| None)
}

/// Fills a buffer with random bytes that nobody can guess.
pub fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    let len = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    // SAFETY: the buffer is live and has this length; without an algorithm the system's generator is used.
    let status = unsafe {
        BCryptGenRandom(std::ptr::null_mut(), bytes.as_mut_ptr(), len, BCRYPT_USE_SYSTEM_PREFERRED_RNG)
    };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::other(format!("BCryptGenRandom failed with {status:#010x}")))
    }
}
