//! The program that the tests run: built with the tests, so that it is never older than they are.

use std::process::ExitCode;

fn main() -> ExitCode {
    sharebench_cli::main(None)
}
