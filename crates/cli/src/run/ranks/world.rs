//! MPI where this program was built with it, and what to do where it was not.

use sharebench_cluster::{Launched, Transport};

use crate::exit::Failure;

/// MPI in this process.
#[cfg(feature = "mpi")]
pub struct World(sharebench_mpi::MpiProcess);

/// There is none.
#[cfg(not(feature = "mpi"))]
pub enum World {}

#[cfg(feature = "mpi")]
impl World {
    /// Starts it.
    pub fn start(_: &Launched) -> Result<Self, Failure> {
        sharebench_mpi::MpiProcess::start().map(Self).map_err(Failure::usage)
    }

    /// All processes.
    pub fn transport(&self) -> Box<dyn Transport> {
        self.0.transport()
    }

    /// Ends it, together with all others.
    pub fn end(self) {
        self.0.end();
    }

    /// Ends all processes at once.
    pub fn abort(&self, code: u8) -> ! {
        self.0.abort(code)
    }
}

#[cfg(not(feature = "mpi"))]
impl World {
    /// Says how to get it.
    pub fn start(launched: &Launched) -> Result<Self, Failure> {
        Err(Failure::usage(format!(
            "this is one of {} processes ({} is set), but this sharebench was built without MPI, so that each would \
             measure alone: build it by `cargo build --release --features mpi` (on Debian with libopenmpi-dev and \
             libclang-dev), or start it without the launcher",
            launched.size, launched.variable
        )))
    }

    /// Of nobody.
    pub fn transport(&self) -> Box<dyn Transport> {
        match *self {}
    }

    /// Never.
    pub fn end(self) {
        match self {}
    }

    /// Never.
    pub fn abort(&self, _: u8) -> ! {
        match *self {}
    }
}
