//! Replies of sessions that answer some calls otherwise.

use sharebench_model::{ErrorClass, MetaReply, MetaYield, OpError, OpStep};

/// The reply to one request.
pub fn replied(result: Result<MetaYield, OpError>) -> MetaReply {
    MetaReply { result, requests: 1 }
}

/// A request that the server rejects.
pub fn rejected(class: ErrorClass, detail: &str) -> MetaReply {
    replied(Err(OpError::new(class, OpStep::Request("test"), detail)))
}
