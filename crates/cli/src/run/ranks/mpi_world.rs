//! MPI in this process, or the error of a build without it.

use sharebench_cluster::{Launched, Transport};

use crate::exit::Failure;

/// MPI in this process, from start to end.
#[cfg(feature = "mpi")]
pub struct MpiWorld(sharebench_mpi::MpiProcess);

/// A build without MPI has no value of this type.
#[cfg(not(feature = "mpi"))]
pub enum MpiWorld {}

#[cfg(feature = "mpi")]
impl MpiWorld {
    /// Starts MPI.
    pub fn start(_: &Launched) -> Result<Self, Failure> {
        sharebench_mpi::MpiProcess::start().map(Self).map_err(Failure::usage)
    }

    /// The connection to all ranks.
    pub fn transport(&self) -> Box<dyn Transport> {
        self.0.transport()
    }

    /// Ends MPI; waits for all ranks.
    pub fn end(self) {
        self.0.end();
    }

    /// Ends all processes at once with an exit code.
    pub fn abort(&self, code: u8) -> ! {
        self.0.abort(code)
    }
}

#[cfg(not(feature = "mpi"))]
impl MpiWorld {
    /// Fails with the command that builds sharebench with MPI.
    pub fn start(launched: &Launched) -> Result<Self, Failure> {
        Err(Failure::usage(format!(
            "this is one of {} processes ({} is set), but this sharebench was built without MPI, so each process would \
             measure alone: build it with `cargo build --release --features mpi` (on Debian with libopenmpi-dev and \
             libclang-dev), or start it without the launcher",
            launched.size, launched.variable
        )))
    }

    /// Never called.
    pub fn transport(&self) -> Box<dyn Transport> {
        match *self {}
    }

    /// Never called.
    pub fn end(self) {
        match self {}
    }

    /// Never called.
    pub fn abort(&self, _: u8) -> ! {
        match *self {}
    }
}
