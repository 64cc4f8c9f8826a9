//! How an open outlives its connection (MS-SMB2 3.3.5.9.6 to 3.3.5.9.12).

use std::time::Duration;

use sharebench_smb::wire::FileId;
use sharebench_smb::wire::create_context::CreateContext;
use sharebench_smb::wire::durable::{self, DurableContext, DurableGrant, grant_v1};

use crate::smb::caching::cache_request::GrantedCache;

/// Time for which an open of version 1 is kept, and the usual and the longest time in version 2.
const KEPT: Duration = Duration::from_secs(16 * 60);
const KEPT_V2: Duration = Duration::from_secs(60);
const MAX_KEPT_V2: Duration = Duration::from_secs(300);

/// How an open outlives its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Durability {
    /// The client's name for the open, in version 2.
    pub(crate) guid: Option<[u8; 16]>,
    pub(crate) time: Duration,
}

/// The open that a client reconnects to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReconnectTarget {
    pub(crate) file: FileId,
    /// The client's name for the open, in version 2.
    pub(crate) guid: Option<[u8; 16]>,
}

impl Durability {
    /// What a request is granted: nothing unless the client caches the handle, because only then it can learn that
    /// somebody else needs the file. Persistent opens are not granted.
    pub(crate) fn granted(request: Option<DurableContext>, cache: &GrantedCache) -> Option<Self> {
        if !cache.keeps_handle() {
            return None;
        }
        match request? {
            DurableContext::RequestV1 => Some(Self { guid: None, time: KEPT }),
            DurableContext::Request(request) => {
                let wanted = Duration::from_millis(u64::from(request.timeout));
                let time = if wanted.is_zero() { KEPT_V2 } else { wanted.min(MAX_KEPT_V2) };
                Some(Self { guid: Some(request.guid), time })
            }
            DurableContext::ReconnectV1(_) | DurableContext::Reconnect(_) => None,
        }
    }

    /// The context of the response.
    pub(crate) fn context(&self) -> CreateContext {
        if self.guid.is_none() {
            return grant_v1();
        }
        // Not persistent: a restart of the server closes the open.
        let grant = DurableGrant { timeout: self.time.as_millis() as u32, flags: 0 };
        CreateContext::new(durable::REQUEST, &grant.encode())
    }
}
