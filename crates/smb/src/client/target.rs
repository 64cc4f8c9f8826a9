//! An SMB share as a target.

use sharebench_model::{CachePolicy, ErrorClass, IoPolicy};
use sharebench_target::{
    Capabilities, ConnectError, LocalBoxFuture, PolicyRefusal, PolicyTerms, Secret, Session, SessionSpec,
    Target, TargetUrl, UrlError, UrlPart,
};

use crate::client::dial::DialError;
use crate::client::handshake::open_session;
use crate::client::options::SmbOptions;
use crate::client::policy::SECTOR;

/// Most data operations in flight per session.
const MAX_QUEUE_DEPTH: u32 = 1024;
/// Largest record before the server's limits are known.
const MAX_RECORD: u32 = 8 << 20;

/// A directory of an SMB share: `smb://user@host[:port]/share/dir?option=value`.
///
/// Without a user the session is anonymous. Options: `dialect=` (exactly this one: `2.0.2`, `2.1`, `3.0`,
/// `3.0.2`, `3.1.1`), `sign=` and `encrypt=` (`auto`: when the server demands it, `required`, `off`),
/// `domain=`.
#[derive(Debug, Clone)]
pub struct SmbTarget {
    url: String,
    options: SmbOptions,
}

impl SmbTarget {
    /// Checks a URL; an option this adapter does not know is an error.
    pub fn from_url(url: TargetUrl, password: Secret) -> Result<Self, UrlError> {
        Ok(Self { url: url.to_string(), options: SmbOptions::from_url(url, password)? })
    }

    fn failure(&self, error: DialError) -> ConnectError {
        ConnectError { url: self.url.clone(), part: error.part, class: error.class, detail: error.detail }
    }

    async fn open(&self, spec: &SessionSpec) -> Result<Box<dyn Session>, DialError> {
        if spec.slots > MAX_QUEUE_DEPTH || spec.slot_bytes > MAX_RECORD {
            let detail = format!(
                "{} slots of {} bytes; at most {MAX_QUEUE_DEPTH} of {MAX_RECORD}",
                spec.slots, spec.slot_bytes
            );
            return Err(DialError::new(UrlPart::Share, ErrorClass::Unsupported, detail));
        }
        let session = tokio::time::timeout(spec.connect_timeout, open_session(&self.options, spec)).await;
        let session = session.unwrap_or_else(|_| {
            let detail = format!("no session within {:?}", spec.connect_timeout);
            Err(DialError::new(UrlPart::Host, ErrorClass::Timeout, detail))
        })?;
        Ok(Box::new(session))
    }
}

impl Target for SmbTarget {
    fn url(&self) -> String {
        self.url.clone()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            protocol: "smb",
            max_queue_depth: MAX_QUEUE_DEPTH,
            max_record: MAX_RECORD,
            wire_counted: true,
            drop_cache: false,
            mapping: false,
            blocking: false,
        }
    }

    /// Every policy can be said in every dialect; what a server makes of it is its own affair.
    fn policy(&self, wanted: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
        let unbuffered = wanted.cache == CachePolicy::Unbuffered;
        Ok(PolicyTerms { alignment: if unbuffered { SECTOR } else { 1 } })
    }

    fn descriptors(&self) -> u32 {
        1
    }

    fn connect<'a>(
        &'a self,
        spec: &'a SessionSpec,
    ) -> LocalBoxFuture<'a, Result<Box<dyn Session>, ConnectError>> {
        Box::pin(async move { self.open(spec).await.map_err(|error| self.failure(error)) })
    }
}
