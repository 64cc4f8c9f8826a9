//! A volume of an NCP server as a target.

use std::sync::atomic::Ordering;

use sharebench_model::{ErrorClass, Facts, IoPolicy};
use sharebench_target::{
    Capabilities, ConnectError, LocalBoxFuture, PolicyRefusal, PolicyTerms, Secret, Session, SessionSpec,
    Target, TargetUrl, UrlError, UrlPart,
};

use crate::options::NcpOptions;
use crate::policy::check_policy;
use crate::setup::open_session;

/// Largest record that is made several requests of.
const MAX_SPLIT: u32 = 16 << 20;

/// A directory of a volume: `ncp://user@host[:port]/VOLUME/dir?option=value`.
///
/// The port defaults to 524, the user to GUEST. Options: `transport=` tcp (default), udp, ipx in UDP, or ether, where the host
/// is the server's name and `iface=`, `frame=` (ii, raw, 802.2 or snap) and `network=` say where the client stands;
/// `profile=` a requester of the time, as a set of the options that follow; `sign=0..3`, the level of packet signatures
/// (default 1: if the server demands them); `checksum=0..3`, the same of IPX checksums (default 0); `buffer=` data bytes of a
/// request that are proposed, 512 to 61440 (default; over UDP 32768, on IPX and beside bursts 1024); `lip=off` keeps the path from
/// being probed; `split=on` makes several requests, one after another, of records above the buffer, which are refused
/// otherwise; `burst=on`, on datagrams, sends what one packet does not carry as packet bursts of `window=` data bytes
/// (default 61440) in packets of `packet=` bytes (default 1500) with a pause of `gap=` between them (default none);
/// `retry=` the first pause before a datagram is sent again (default 600ms); `cache=` buffers of a requester's cache for each
/// file (default off); `commit=on` commits on close; `names=` auto (default), long or dos; `connections=` connections of
/// a session, each with one request under way, and so its queue depth (default 1).
#[derive(Debug, Clone)]
pub struct NcpTarget {
    url: String,
    options: NcpOptions,
}

impl NcpTarget {
    /// Checks a URL; an option this adapter does not know is an error.
    pub fn from_url(url: TargetUrl, password: Secret) -> Result<Self, UrlError> {
        Ok(Self { url: url.to_string(), options: NcpOptions::from_url(url, password)? })
    }

    fn failure(&self, part: UrlPart, class: ErrorClass, detail: String) -> ConnectError {
        ConnectError { url: self.url.clone(), part, class, detail }
    }
}

impl Target for NcpTarget {
    fn url(&self) -> String {
        self.url.clone()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            protocol: "ncp",
            max_queue_depth: self.options.connections,
            max_record: if self.options.splits { MAX_SPLIT } else { self.options.most_record() },
            wire_counted: true,
            drop_cache: self.options.cache.is_some(),
            mapping: false,
            blocking: false,
        }
    }

    fn descriptors(&self) -> u32 {
        self.options.connections
    }

    fn final_facts(&self) -> Facts {
        let resent = self.options.resent.load(Ordering::Relaxed);
        Facts::from([("resent".to_owned(), resent.to_string())])
    }

    fn caches(&self) -> bool {
        self.options.cache.is_some()
    }

    fn policy(&self, wanted: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
        check_policy(wanted, self.options.cache.is_some())
    }

    fn connect<'a>(
        &'a self,
        spec: &'a SessionSpec,
    ) -> LocalBoxFuture<'a, Result<Box<dyn Session>, ConnectError>> {
        Box::pin(async move {
            if spec.slots > self.options.connections {
                let detail = format!(
                    "{} requests in flight: NCP has one per connection, and this target {}; give connections={}",
                    spec.slots, self.options.connections, spec.slots
                );
                return Err(self.failure(UrlPart::Option("connections"), ErrorClass::Unsupported, detail));
            }
            match open_session(&self.options, spec).await {
                Ok(session) => Ok(Box::new(session) as Box<dyn Session>),
                Err(error) => Err(self.failure(error.part, error.class, error.detail)),
            }
        })
    }
}
