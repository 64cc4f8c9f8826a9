//! The program that the tests run under `mpirun`.

use std::process::ExitCode;

fn main() -> ExitCode {
    sharebench_cli::main(Some(sharebench_mpi::start))
}
