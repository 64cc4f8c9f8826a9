//! Where the bytes of a cell came from: client cache, server cache or storage.

pub(crate) mod rectangles;
pub(crate) mod server_evidence;
pub(crate) mod shares;
