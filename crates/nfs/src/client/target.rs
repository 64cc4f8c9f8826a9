//! An NFS export as a target.

use std::time::Duration;

use sharebench_client_core::{DialError, check_session_size};
use sharebench_gss::TicketPool;
use sharebench_model::units::ByteSize;
use sharebench_model::{CachePolicy, ErrorClass, IoPolicy, TargetFacts};
use sharebench_target::{
    CallDepth, Capabilities, ConnectError, Connecting, LocalBoxFuture, PhaseObserver, PolicyRefusal,
    PolicyTerms, SessionSpec, Target, TargetUrl, UrlError, UrlPart,
};
use sharebench_tls::ClientTls;

use crate::client::connect::open_session;
use crate::client::offers::explain;
use crate::client::options::{NfsOptions, Xprtsec};
use crate::protocol::MAX_DATAGRAM_TRANSFER;

/// Maximum number of data operations in flight per session.
const MAX_QUEUE_DEPTH: u32 = 1024;
/// Largest record before the server's `rtmax` and `wtmax` are known.
const MAX_RECORD: u32 = 16 << 20;

/// A directory of an NFS export: `nfs://host[:port]/export/dir?option=value`.
///
/// The port defaults to the one that the port mapper reports, otherwise to 2049. Version 4 needs no port mapper and no MOUNT:
/// its paths begin at the pseudo root of the server. docs/protocols/url-options.md lists the options.
///
/// The target holds the checked URL and no connection: each [`Target::connect`] mounts the export anew and opens its own
/// connections. Targets are cheap to clone, so that every job or user may have one.
#[derive(Debug, Clone)]
pub struct NfsTarget {
    url: String,
    options: NfsOptions,
}

impl NfsTarget {
    /// Checks a URL. An unknown option is an error.
    pub fn from_url(url: TargetUrl) -> Result<Self, UrlError> {
        Ok(Self { url: url.to_string(), options: NfsOptions::from_url(url)? })
    }

    /// Logs in with the tickets of this identity instead of those in the user's cache.
    #[must_use]
    pub fn with_tickets(mut self, tickets: impl Into<TicketPool>) -> Self {
        self.options.tickets = tickets.into();
        self
    }

    /// Trusts the authorities of this configuration, and uses its certificate, where the URL requests TLS.
    #[must_use]
    pub fn with_tls(mut self, tls: ClientTls) -> Self {
        if let Some(route) = &mut self.options.route.tls {
            route.tls = Some(tls);
        }
        self
    }

    /// What the URL requests to protect the connections.
    pub fn xprtsec(&self) -> Xprtsec {
        self.options.route.tls.as_ref().map_or(Xprtsec::None, |route| route.requested)
    }

    /// Largest record before the server's limits are known.
    fn max_record(&self) -> u32 {
        if self.options.route.datagrams.is_some() { MAX_DATAGRAM_TRANSFER } else { MAX_RECORD }
    }

    fn check_datagram(&self, spec: &SessionSpec) -> Result<(), DialError> {
        if spec.allow_split || spec.slot_bytes <= self.max_record() {
            return Ok(());
        }
        let [record, max] = [spec.slot_bytes, self.max_record()].map(|bytes| ByteSize(bytes.into()));
        let detail = format!("record size {record} exceeds {max}, the largest over UDP; use proto=tcp");
        Err(DialError::new(UrlPart::Option("proto"), ErrorClass::Unsupported, detail))
    }

    /// True if the calls are protected by Kerberos.
    pub const fn uses_kerberos(&self) -> bool {
        self.options.security.is_some()
    }
}

/// Checks a policy. This client caches nothing, so it always works without a local cache; write-through is `FILE_SYNC`.
pub(crate) fn check_policy(wanted: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
    if wanted.cache == CachePolicy::Unbuffered {
        let reason = "NFS has no request that passes the server's cache (RFC 1813, 3.3.6 and 3.3.7; RFC 8881, 18.22 \
                      and 18.32); no-local is what this client always does";
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
            max_record: self.max_record(),
            wire_counted: true,
            drop_cache: false,
            mapping: false,
            blocking: false,
        }
    }

    fn policy(&self, wanted: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
        check_policy(wanted)
    }

    fn call_depth(&self) -> CallDepth {
        CallDepth { max: MAX_QUEUE_DEPTH, reason: "this client has at most as many slots" }
    }

    fn descriptors(&self) -> u32 {
        self.options.connections * (1 + self.options.route.tcp.far.descriptors())
    }

    fn final_facts(&self) -> TargetFacts {
        let mut facts = TargetFacts::new();
        self.options.delegations.add_facts(&mut facts);
        facts
    }

    fn connect<'a>(&'a self, spec: &'a SessionSpec) -> Connecting<'a> {
        self.connect_observed(spec, &drop)
    }

    fn connect_observed<'a>(&'a self, spec: &'a SessionSpec, reached: PhaseObserver<'a>) -> Connecting<'a> {
        Box::pin(async move {
            let opened = async {
                check_session_size(spec, MAX_QUEUE_DEPTH, MAX_RECORD)?;
                self.check_datagram(spec)?;
                open_session(&self.options, spec, reached).await
            };
            match opened.await {
                Ok(session) => Ok(session),
                Err(error) => Err(error.at_url(&self.url)),
            }
        })
    }

    fn explain(&self, error: ConnectError, limit: Duration) -> LocalBoxFuture<'_, ConnectError> {
        Box::pin(explain(&self.options, error, limit))
    }
}
