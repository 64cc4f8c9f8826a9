//! An SMB share as a target.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sharebench_client_core::{DialError, Multiplexed, check_session_size, resolve};
use sharebench_gss::TicketPool;
use sharebench_model::{CachePolicy, ErrorClass, IoPolicy, TargetFacts};
use sharebench_target::offers::identify_peer;
use sharebench_target::{
    CallDepth, Capabilities, ConnectError, Connecting, LocalBoxFuture, LoginPhase, PhaseObserver,
    PolicyRefusal, PolicyTerms, Secret, Session, SessionSpec, Target, TargetUrl, UrlError, UrlPart,
};

use crate::client::channels::session_counts::SessionCounts;
use crate::client::connect::handshake::open_session;
use crate::client::names::policy::SECTOR;
use crate::client::offers::explain;
use crate::client::options::SmbOptions;
use crate::client::rights::lease_choice::LeaseChoice;
use crate::client::smb1;
use crate::incompatibility::Incompatibility;

/// Maximum number of data operations in flight per session.
const MAX_QUEUE_DEPTH: u32 = 1024;
/// Time without a session after which the client finds out whether the server speaks SMB, and the time that this may take.
const SILENCE: Duration = Duration::from_secs(1);
const IDENTIFICATION: Duration = Duration::from_secs(4);
/// Largest record before the server's limits are known.
const MAX_RECORD: u32 = 8 << 20;

/// A directory of an SMB share: `smb://user@host[:port]/share/dir?option=value`.
///
/// Without a user name the session is anonymous. docs/protocols/url-options.md lists the options.
///
/// The target holds the checked URL and the password, and no connection: each [`Target::connect`] opens a session with its
/// own login and connections. Targets are cheap to clone, so that every job or user may have one.
#[derive(Debug, Clone)]
pub struct SmbTarget {
    url: String,
    options: SmbOptions,
    counts: Arc<SessionCounts>,
    /// A slow session has found out what the server speaks, or is about to.
    is_identified: Arc<AtomicBool>,
}

impl SmbTarget {
    /// Checks a URL. An unknown option is an error.
    pub fn from_url(url: TargetUrl, password: Secret) -> Result<Self, UrlError> {
        Ok(Self {
            url: url.to_string(),
            options: SmbOptions::from_url(url, password)?,
            counts: Arc::default(),
            is_identified: Arc::default(),
        })
    }

    /// Logs in with the tickets of this identity instead of those of the URL's account.
    #[must_use]
    pub fn with_tickets(mut self, tickets: impl Into<TicketPool>) -> Self {
        self.options.tickets = tickets.into();
        self
    }

    /// True if the URL requires Kerberos.
    pub fn requires_kerberos(&self) -> bool {
        self.options.requires_kerberos()
    }

    /// True if the user's cache has a ticket for the account of the URL, and the URL does not forbid its use.
    pub fn has_ticket(&self) -> bool {
        self.options.has_ticket()
    }

    async fn open(
        &self,
        spec: &SessionSpec,
        reached: &dyn Fn(LoginPhase),
    ) -> Result<Box<dyn Session>, DialError> {
        check_session_size(spec, MAX_QUEUE_DEPTH, MAX_RECORD)?;
        let opened = async {
            tokio::select! {
                opened = self.open_dialect(spec, reached) => opened,
                other = self.other_protocol() => Err(other.into()),
            }
        };
        let session = tokio::time::timeout(spec.connect_timeout, opened).await;
        session.unwrap_or_else(|_| {
            let detail = format!("no session within {:?}", spec.connect_timeout);
            Err(DialError::new(UrlPart::Host, ErrorClass::Timeout, detail))
        })
    }

    /// Waits until a server that has not answered for a while turns out to speak another protocol: one of ONC RPC waits for the rest of
    /// the NEGOTIATE for ever. Only the first session that is slow looks for it.
    async fn other_protocol(&self) -> Incompatibility {
        tokio::time::sleep(SILENCE).await;
        if !self.is_identified.swap(true, Ordering::Relaxed)
            && let Ok(addresses) = resolve(&self.options.host).await
            && let Some(host) = addresses.first()
        {
            let peer = identify_peer(SocketAddr::new(*host, self.options.port), IDENTIFICATION).await;
            if let Some(other @ Incompatibility::OtherProtocol(_)) = peer.and_then(Incompatibility::of_peer) {
                return other;
            }
        }
        std::future::pending().await
    }

    async fn open_dialect(
        &self,
        spec: &SessionSpec,
        reached: &dyn Fn(LoginPhase),
    ) -> Result<Box<dyn Session>, DialError> {
        if self.options.nt1.is_some() {
            return Ok(Box::new(smb1::open_session(&self.options, spec, &self.counts, reached).await?));
        }
        let session = open_session(&self.options, spec, &self.counts, reached).await?;
        Ok(Box::new(Multiplexed::new(session)))
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

    /// Every dialect can express every policy. Whether a server honours it is for the engine's checks to find out.
    fn policy(&self, wanted: IoPolicy) -> Result<PolicyTerms, PolicyRefusal> {
        let unbuffered = wanted.cache == CachePolicy::Unbuffered;
        Ok(PolicyTerms { alignment: if unbuffered { SECTOR } else { 1 } })
    }

    fn call_depth(&self) -> CallDepth {
        if self.options.nt1.is_some() {
            return CallDepth::one("the client of SMB1 performs operations on names one at a time");
        }
        CallDepth { max: MAX_QUEUE_DEPTH, reason: "this client has at most as many slots" }
    }

    fn descriptors(&self) -> u32 {
        self.options.channels * (1 + self.options.tcp.far.descriptors())
    }

    fn final_facts(&self) -> TargetFacts {
        let mut facts = TargetFacts::new();
        self.counts.add_renewal_facts(&mut facts);
        if self.options.channels > 1 {
            self.counts.add_channel_facts(&mut facts);
        }
        if self.options.lease != LeaseChoice::None || self.counts.has_leases() {
            self.counts.add_lease_facts(&mut facts);
        }
        self.counts.add_oplock_facts(&mut facts);
        if self.options.durable {
            self.counts.add_durable_facts(&mut facts);
        }
        facts
    }

    fn connect<'a>(&'a self, spec: &'a SessionSpec) -> Connecting<'a> {
        self.connect_observed(spec, &drop)
    }

    fn connect_observed<'a>(&'a self, spec: &'a SessionSpec, reached: PhaseObserver<'a>) -> Connecting<'a> {
        Box::pin(async move {
            let opened = self.open(spec, reached).await;
            opened.map_err(|error| error.at_url(&self.url).with_source_of(&self.options.password))
        })
    }

    fn explain(&self, error: ConnectError, limit: Duration) -> LocalBoxFuture<'_, ConnectError> {
        Box::pin(explain(&self.options, error, limit))
    }
}
