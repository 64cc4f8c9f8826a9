//! The program that the tests run under `mpirun`.

use std::process::ExitCode;

fn main() -> ExitCode {
    sharebench_cli::main(sharebench_mpi::START)
}
