//! The program: the command line, with the message library and the allocator of this build.

use std::process::ExitCode;

// The allocator of musl has one lock for all threads (docs/design/memory.md).
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

// Its copies and comparisons are slow too.
#[cfg(target_env = "musl")]
use sharebench_musl_memory as _;

fn main() -> ExitCode {
    sharebench_cli::main(sharebench_mpi::START)
}
