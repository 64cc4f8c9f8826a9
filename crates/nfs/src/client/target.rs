//! An NFS export as a target.

use sharebench_model::{CachePolicy, ErrorClass, IoPolicy};
use sharebench_target::{
    Capabilities, ConnectError, LocalBoxFuture, PolicyRefusal, PolicyTerms, Session, SessionSpec, Target,
    TargetUrl, UrlError, UrlPart,
};

use crate::client::mounting::open_session;
use crate::client::options::NfsOptions;

/// Most data operations in flight per session.
const MAX_QUEUE_DEPTH: u32 = 1024;
/// Largest record before the server's `rtmax` and `wtmax` are known.
const MAX_RECORD: u32 = 16 << 20;

/// A directory of an NFSv3 export: `nfs://host[:port]/export/dir?option=value`.
///
/// The port defaults to what the port mapper says, else 2049. Options: `mountport=` (default: the port
/// mapper's, else the port of NFS), `uid=` and `gid=` (default: this process's), `gids=` (a list),
/// `resvport=1` (call from a port below 1024), `vers=3`.
#[derive(Debug, Clone)]
pub struct NfsTarget {
    url: String,
    options: NfsOptions,
}

impl NfsTarget {
    /// Checks a URL; an option this adapter does not know is an error.
    pub fn from_url(url: TargetUrl) -> Result<Self, UrlError> {
        Ok(Self { url: url.to_string(), options: NfsOptions::from_url(url)? })
    }

    fn failure(&self, part: UrlPart, class: ErrorClass, detail: String) -> ConnectError {
        ConnectError { url: self.url.clone(), part, class, detail }
    }
}

/// This client caches nothing, so that without a local cache is as ever; writing through is `FILE_SYNC`.
pub(crate) fn check_policy(wanted: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
    if wanted.cache == CachePolicy::Unbuffered {
        let reason = "NFSv3 has no request that passes the server's cache (RFC 1813, 3.3.6 and 3.3.7); \
                      no-local is what this client always does";
        return Err(PolicyRefusal::cache(wanted, reason));
    }
    Ok(PolicyTerms::ANY)
}

impl Target for NfsTarget {
    fn url(&self) -> String {
        self.url.clone()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            protocol: "nfs",
            max_queue_depth: MAX_QUEUE_DEPTH,
            max_record: MAX_RECORD,
            wire_counted: true,
            drop_cache: false,
            mapping: false,
            blocking: false,
        }
    }

    fn policy(&self, wanted: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
        check_policy(wanted)
    }

    fn descriptors(&self) -> u32 {
        1
    }

    fn connect<'a>(
        &'a self,
        spec: &'a SessionSpec,
    ) -> LocalBoxFuture<'a, Result<Box<dyn Session>, ConnectError>> {
        Box::pin(async move {
            if spec.slots > MAX_QUEUE_DEPTH || spec.slot_bytes > MAX_RECORD {
                let detail = format!(
                    "{} slots of {} bytes; at most {MAX_QUEUE_DEPTH} of {MAX_RECORD}",
                    spec.slots, spec.slot_bytes
                );
                return Err(self.failure(UrlPart::Share, ErrorClass::Unsupported, detail));
            }
            match open_session(&self.options, spec).await {
                Ok(session) => Ok(Box::new(session) as Box<dyn Session>),
                Err(error) => Err(self.failure(error.part, error.class, error.detail)),
            }
        })
    }
}
