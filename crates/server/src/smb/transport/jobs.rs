//! Frames for worker threads.

use std::ops::Range;

use crate::front_ends::buffers::{BufferPool, Reusable};
use crate::smb::transport::replies::Replies;

thread_local! {
    /// Jobs for workers.
    pub(crate) static JOBS: BufferPool<Job> = const { BufferPool::new() };
}

/// A frame on its way to a worker, and its replies on the way back. It is reused for later frames.
#[derive(Default)]
pub(crate) struct Job {
    pub(crate) frame: Vec<u8>,
    /// The range of the message within `frame`.
    pub(crate) range: Range<usize>,
    pub(crate) replies: Replies,
    /// The client broke the protocol, so that the connection must be closed.
    pub(crate) broken: bool,
    pub(crate) arrival: Arrival,
}

impl Reusable for Job {
    fn memory(&self) -> usize {
        self.frame.len() + self.replies.memory()
    }

    fn clear(&mut self) {
        self.replies.clear();
        self.broken = false;
    }
}

/// What is known of a frame when it arrives.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Arrival {
    /// Position among the frames of the connection that workers process; 0 without workers.
    pub(crate) position: u64,
    /// The number of the message for signatures of SMB1.
    pub(crate) signature_number: Option<u32>,
}
