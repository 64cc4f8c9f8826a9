//! A fault: how it is planted, and what the diagnosis has to say.

use std::any::Any;
use std::io;

use sharebench_tests::{KernelGuest, Need};

/// With the fault, or without it to know what its removal gains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    Faulty,
    Fixed,
}

impl Condition {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Faulty => "faulty",
            Self::Fixed => "fixed",
        }
    }

    pub fn is_faulty(self) -> bool {
        self == Self::Faulty
    }
}

/// A part of the time of an operation that is known from the relay, the device model or the slow call.
pub struct KnownFault {
    pub operation: &'static str,
    pub part: &'static str,
    /// Time per operation, milliseconds.
    pub ms: f64,
}

/// A fault of a server, of the network or of this machine. A fault without causes is a clean server.
pub struct Fault {
    pub id: &'static str,
    pub server: &'static str,
    pub what: &'static str,
    /// Identifiers of the causes that are right.
    pub causes: &'static [&'static str],
    pub known: &'static [KnownFault],
    /// The removal of the fault is what the finding predicts, so that one run without it measures the actual gain.
    pub has_gain: bool,
    pub needs: &'static [Need],
    pub plant: fn(Condition) -> io::Result<Planted>,
}

/// The server of a table of faults.
pub struct FaultyServer {
    pub name: &'static str,
    pub needs: &'static [Need],
}

impl FaultyServer {
    /// A fault of which no time is known.
    pub const fn fault(
        &self,
        id: &'static str,
        what: &'static str,
        causes: &'static [&'static str],
        has_gain: bool,
        plant: fn(Condition) -> io::Result<Planted>,
    ) -> Fault {
        Fault { id, server: self.name, what, causes, known: &[], has_gain, needs: self.needs, plant }
    }
}

/// A guest in which the program runs, and the shell commands before that.
pub struct GuestRun {
    pub guest: KernelGuest,
    pub setup: String,
}

/// A planted fault; dropping it ends the servers.
pub struct Planted {
    pub url: String,
    /// Further arguments of `diagnose`.
    pub flags: Vec<String>,
    /// Command that starts the program.
    pub words: Vec<String>,
    /// Environment of the program.
    pub env: Vec<(&'static str, String)>,
    /// The program runs in it, instead of on this machine.
    pub guest: Option<GuestRun>,
    /// Servers and files that the fault needs until it was measured.
    kept: Vec<Box<dyn Any>>,
}

impl Planted {
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            flags: Vec::new(),
            words: Vec::new(),
            env: Vec::new(),
            guest: None,
            kept: Vec::new(),
        }
    }

    /// Runs the program in a guest.
    #[must_use]
    pub fn in_guest(self, guest: GuestRun) -> Self {
        Self { guest: Some(guest), ..self }
    }

    /// Keeps what the fault needs while it is measured.
    #[must_use]
    pub fn keeping(mut self, kept: impl Any) -> Self {
        self.kept.push(Box::new(kept));
        self
    }
}

/// An option of a URL that has options already or not.
pub fn with_option(url: &str, option: &str) -> String {
    let sign = if url.contains('?') { '&' } else { '?' };
    format!("{url}{sign}{option}")
}
