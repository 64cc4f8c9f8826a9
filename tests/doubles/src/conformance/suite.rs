//! What the suite assumes about the system under test.

use std::time::Duration;

/// What the suite assumes about the system under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suite {
    /// Largest record tried, bytes; also limited by the target's capabilities.
    pub max_record: u32,
    /// Every offset and size of data operations is a multiple of this many bytes (direct I/O); 1 allows any.
    pub alignment: u32,
    /// Most operations in flight tried; also limited by the target's capabilities.
    pub max_depth: u32,
    /// Requests of a durable write: 2 where the system has no single call for it.
    pub durable_write_requests: u32,
    /// Deadline of one step; a target that blocks its thread escapes it.
    pub deadline: Duration,
    /// A text, such as the password, that no fact, URL or error may show.
    pub secret: Option<String>,
    /// Steps left out, by name as in [`Suite::step_names`]; each needs a reason at the call.
    pub skip: &'static [&'static str],
}

impl Default for Suite {
    fn default() -> Self {
        Self {
            max_record: 1 << 20,
            alignment: 1,
            max_depth: 32,
            durable_write_requests: 1,
            deadline: Duration::from_secs(60),
            secret: None,
            skip: &[],
        }
    }
}
