//! What Linux and macOS have in common.

use std::io::{self, IsTerminal, stderr, stdin, stdout};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
};

use super::Exposure;

/// Characters other than letters and digits that a shell leaves alone.
pub const PLAIN_CHARACTERS: &[u8] = b"-_./:@=,+%";

/// A text in quotes, of which a shell changes nothing.
pub fn quoted(text: &str) -> String {
    // A quote ends the quoted text, is written with a backslash, and begins the next one.
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Name of this machine in the network.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// True for the user who may do everything.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether other users could read or change a file. A pipe of the shell, as in `--password-file <(pass nas)`, has no
/// readers.
///
/// # Errors
/// The file cannot be examined.
pub fn exposure(path: &Path) -> io::Result<Option<Exposure>> {
    let found = std::fs::metadata(path)?;
    if !found.is_file() {
        return Ok(None);
    }
    let caller = rustix::process::geteuid().as_raw();
    if found.uid() != caller && found.uid() != 0 {
        return Ok(Some(Exposure::ForeignOwner(found.uid())));
    }
    Ok((found.mode() & 0o077 != 0).then_some(Exposure::Readable))
}

/// Columns and rows of the terminal on standard output or standard error, if there is one.
pub fn terminal_size() -> Option<(usize, usize)> {
    let size = tcgetwinsize(stdout()).or_else(|_| tcgetwinsize(stderr())).ok()?;
    (size.ws_col > 0).then_some((usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// Prepares the terminal for escape sequences: terminals of these systems understand them.
pub fn prepare_terminal() {}

/// Settings of the terminal while keys are read.
static CHANGED: Mutex<Option<Termios>> = Mutex::new(None);

/// The keys of the terminal, delivered at once and without echo until this is dropped.
pub struct Keys {
    saved: Termios,
}

impl Keys {
    /// Changes the settings of the terminal. None if standard input is not a terminal or belongs to another job.
    pub fn read() -> Option<Self> {
        let input = stdin();
        if !input.is_terminal() || tcgetpgrp(&input).ok()? != getpgrp() {
            return None;
        }
        let saved = tcgetattr(&input).ok()?;
        let mut changed = saved.clone();
        changed.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        changed.special_codes[SpecialCodeIndex::VMIN] = 0;
        changed.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&input, OptionalActions::Now, &changed).ok()?;
        *CHANGED.lock().unwrap_or_else(PoisonError::into_inner) = Some(saved.clone());
        Some(Self { saved })
    }

    /// The letters that were typed since the last call.
    #[expect(clippy::unused_self, reason = "only with these settings does the read return at once")]
    pub fn typed(&self) -> Vec<u8> {
        let mut typed = [0_u8; 32];
        // The read returns at once, because VMIN and VTIME are 0.
        let read = rustix::io::read(stdin(), &mut typed).unwrap_or(0);
        typed[..read].to_vec()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        CHANGED.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.saved);
    }
}

/// Restores the settings when the process ends without dropping [`Keys`]; false if they were not changed.
pub fn restore_keys() -> bool {
    match CHANGED.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(saved) => tcsetattr(stdin(), OptionalActions::Now, &saved).is_ok(),
        None => false,
    }
}
