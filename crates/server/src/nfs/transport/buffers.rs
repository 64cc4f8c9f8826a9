//! The buffers that the connections of a thread share.

use std::cell::RefCell;

use sharebench_nfs::xdr::Writer;

use crate::nfs::transport::workers::Job;

/// Initial size of a receive buffer; it grows only as bytes arrive.
const INITIAL_BYTES: usize = 64 << 10;
/// Memory that a thread keeps for its next calls, in bytes. It covers sixteen calls of the largest size.
const MAX_FREE_BYTES: usize = 16 << 20;

thread_local! {
    static FREE: RefCell<FreeBuffers> = RefCell::new(FreeBuffers::default());
}

/// Buffers that no connection of this thread uses at the moment.
///
/// A connection takes a buffer when bytes arrive and returns it when no part of a call is left in it, so that an idle
/// connection has no buffers. Buffers keep their memory here, up to [`MAX_FREE_BYTES`] in total, so that a busy thread
/// neither allocates nor fills memory with zeros. The buffers are initialized up to their length.
#[derive(Default)]
struct FreeBuffers {
    receive: Vec<Vec<u8>>,
    jobs: Vec<Job>,
    replies: Vec<Writer>,
    bytes: usize,
}

impl FreeBuffers {
    /// True if this number of bytes may be kept, which counts them.
    fn keep(&mut self, bytes: usize) -> bool {
        let fits = bytes > 0 && self.bytes + bytes <= MAX_FREE_BYTES;
        self.bytes += if fits { bytes } else { 0 };
        fits
    }
}

fn job_bytes(job: &Job) -> usize {
    job.call.len() + job.reply.memory()
}

/// A buffer for received bytes.
pub(crate) fn take_receive_buffer() -> Vec<u8> {
    let free = FREE.with_borrow_mut(|free| {
        let buffer = free.receive.pop();
        free.bytes -= buffer.as_ref().map_or(0, Vec::len);
        buffer
    });
    let mut buffer = free.unwrap_or_default();
    if buffer.len() < INITIAL_BYTES {
        buffer.resize(INITIAL_BYTES, 0);
    }
    buffer
}

/// Returns a buffer for received bytes.
pub(crate) fn return_receive_buffer(buffer: Vec<u8>) {
    FREE.with_borrow_mut(|free| {
        if free.keep(buffer.len()) {
            free.receive.push(buffer);
        }
    });
}

/// A job for a worker.
pub(crate) fn take_job() -> Job {
    FREE.with_borrow_mut(|free| {
        let job = free.jobs.pop();
        free.bytes -= job.as_ref().map_or(0, job_bytes);
        job.unwrap_or_default()
    })
}

/// Returns a job whose reply was sent.
pub(crate) fn return_job(mut job: Job) {
    job.reply.clear();
    job.datagram = None;
    FREE.with_borrow_mut(|free| {
        if free.keep(job_bytes(&job)) {
            free.jobs.push(job);
        }
    });
}

/// A writer for the replies of one burst of calls.
pub(crate) fn take_replies() -> Writer {
    FREE.with_borrow_mut(|free| {
        let replies = free.replies.pop();
        free.bytes -= replies.as_ref().map_or(0, Writer::memory);
        replies.unwrap_or_default()
    })
}

/// Returns a writer whose replies were sent.
pub(crate) fn return_replies(mut replies: Writer) {
    replies.clear();
    FREE.with_borrow_mut(|free| {
        if free.keep(replies.memory()) {
            free.replies.push(replies);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_returned_buffers_up_to_a_limit() {
        std::thread::spawn(|| {
            let first = take_receive_buffer();
            let address = first.as_ptr();
            return_receive_buffer(first);
            let again = take_receive_buffer();
            assert_eq!(again.as_ptr(), address);
            for _ in 0..1000 {
                return_receive_buffer(vec![1; 1 << 20]);
                return_job(Job { call: vec![1; 1 << 20], ..Job::default() });
                return_replies(Writer::with_capacity(1 << 20));
            }
            FREE.with_borrow(|free| {
                let sum: usize = free.receive.iter().map(Vec::len).sum::<usize>()
                    + free.jobs.iter().map(job_bytes).sum::<usize>()
                    + free.replies.iter().map(Writer::memory).sum::<usize>();
                assert_eq!(sum, free.bytes);
                assert!(sum <= MAX_FREE_BYTES);
            });
            while FREE.with_borrow(|free| free.bytes > 0) {
                drop((take_receive_buffer(), take_job(), take_replies()));
            }
        })
        .join()
        .unwrap();
    }
}
