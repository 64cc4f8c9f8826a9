//! Exit codes, and the failures that lead to them.

use std::fmt;
use std::process::ExitCode;

use sharebench_engine::StartError;
use sharebench_plan::Mistakes;
use sharebench_results::StoreError;
use sharebench_target::UrlError;

use crate::next_step::with_next_step;

/// The exit codes as `--help` shows them.
pub const TABLE: &str = "Exit codes:
  0    done
  1    sharebench itself failed
  2    an error in arguments, plan, run reference or database, or a failed --pre-step-cmd command
  3    a target was not reached, refused an operation, was lost, or failed a whole load step; finished steps are kept
  4    a read returned other data than was written
  5    results could not be stored; finished steps are kept
  6    doctor --prove: an experiment failed on a quiet machine
  7    doctor --prove: none failed, but the machine was too noisy for some, or they could not run
  8    compare --max-slower: a later system is significantly slower than an earlier one; gate: the run is slower
  9    compare --max-slower, --require-sharpness; gate: inconclusive
  10   gate: the run is incomplete or has wrong data, or cannot be compared
  130  stopped by Ctrl-C, SIGTERM or SIGHUP; finished steps are kept";

/// sharebench itself failed.
pub const INTERNAL: u8 = 1;
/// A read returned wrong data.
pub const DATA: u8 = 4;
/// An error in what the user gave.
pub const USAGE: u8 = 2;
/// Results could not be stored.
pub const STORING: u8 = 5;
/// A target failed, also by failing every operation of a load step.
pub const TARGET: u8 = 3;
/// An experiment of the doctor failed.
pub const DISPROVED: u8 = 6;
/// An experiment of the doctor had no result.
pub const UNPROVED: u8 = 7;
/// `compare --max-slower` found a slower system, or `gate` a slower run.
pub const SLOWER: u8 = 8;
/// `compare --max-slower` or `--require-sharpness`, or `gate`, is inconclusive.
pub const INCONCLUSIVE: u8 = 9;
/// `gate` cannot compare the run.
pub const INVALID: u8 = 10;
/// The user stopped the run.
pub const STOPPED: u8 = 130;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// An error in arguments, plan, run reference or database: exit code 2.
    Usage(String),
    /// A target failed: exit code 3.
    Target(String),
    /// Results could not be stored: exit code 5.
    Storing(String),
    /// A signal stopped the command before anything was measured: exit code 130.
    Stopped,
    /// sharebench itself failed: exit code 1.
    Internal(anyhow::Error),
}

impl Failure {
    /// An error in what the user gave.
    pub fn usage(text: impl fmt::Display) -> Self {
        Self::Usage(text.to_string())
    }

    /// The process's exit code.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Internal(_) => INTERNAL,
            Self::Usage(_) => USAGE,
            Self::Target(_) => TARGET,
            Self::Storing(_) => STORING,
            Self::Stopped => STOPPED,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Target(text) | Self::Storing(text) => f.write_str(text),
            Self::Stopped => f.write_str("stopped before the first step; nothing was measured"),
            Self::Internal(error) => write!(f, "{error:#}"),
        }
    }
}

impl From<UrlError> for Failure {
    fn from(error: UrlError) -> Self {
        Self::usage(error)
    }
}

impl From<Mistakes> for Failure {
    fn from(mistakes: Mistakes) -> Self {
        Self::usage(mistakes)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::usage(error)
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Runtime(_) => Self::Internal(error.into()),
            StartError::Beyond { .. } => Self::usage(error),
            StartError::Connect(error) => Self::Target(with_next_step(&error)),
            _ => Self::Target(error.to_string()),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Internal(error.into())
    }
}
