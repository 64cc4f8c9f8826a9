//! The error type of the benchmark.

/// Why the table cannot be printed, as a text for the user.
pub type Failure = Box<dyn std::error::Error>;
