//! Requests and what is counted of them: a request from submission to its check, the tally of each thread, its
//! histograms, batches and seconds.

pub(crate) mod meter;
pub(crate) mod mount_wire;
pub(crate) mod occupancy;
pub(crate) mod operation_kind;
pub(crate) mod request;
pub(crate) mod response_batches;
pub(crate) mod seconds;
pub(crate) mod tally;
pub(crate) mod verify;
