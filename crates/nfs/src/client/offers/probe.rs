//! The probe of a server: calls of several kinds at the same time, within one deadline.

use std::net::SocketAddr;
use std::time::Duration;

use sharebench_gss::TicketPool;
use sharebench_target::offers::{OfferReport, add_addresses, identify_peer};
use sharebench_target::{LocalBoxFuture, TargetUrl, UrlError};
use sharebench_tls::ClientTls;
use tokio::time::{Instant, timeout_at};

use super::explain::incompatibility;
use super::mounts::{self, MountFindings};
use super::rows;
use super::session::{self, SessionFindings};
use super::versions::{self, VersionOffers};
use crate::client::options::{NfsOptions, Xprtsec};
use crate::client::rpc::port_lookup::{Ports, find_ports};
use crate::incompatibility::Incompatibility;
use crate::port_mapper::Registration;

/// A probe of the server of an `nfs://` URL.
///
/// It holds the checked URL; [`Self::run`] connects.
#[derive(Debug, Clone)]
pub struct NfsProbe {
    url: String,
    options: NfsOptions,
}

/// Everything that a probe found out.
#[derive(Debug)]
pub(super) struct Findings {
    pub(super) ports: Ports,
    pub(super) registrations: Option<Vec<Registration>>,
    pub(super) versions: VersionOffers,
    pub(super) mounts: MountFindings,
    pub(super) session: SessionFindings,
    pub(super) incompatibility: Option<Incompatibility>,
}

impl NfsProbe {
    /// Checks a URL.
    pub fn from_url(url: TargetUrl) -> Result<Self, UrlError> {
        Ok(Self { url: url.to_string(), options: NfsOptions::from_url(url)? })
    }

    /// Trusts the authorities of this configuration, where the URL requests TLS.
    #[must_use]
    pub fn with_tls(mut self, tls: ClientTls) -> Self {
        if let Some(route) = &mut self.options.route.tls {
            route.tls = Some(tls);
        }
        self
    }

    /// Logs in with one of these tickets instead of those in the user's cache.
    #[must_use]
    pub fn with_tickets(mut self, tickets: impl Into<TicketPool>) -> Self {
        self.options.tickets = tickets.into();
        self
    }

    /// True if the calls are protected by Kerberos.
    pub const fn uses_kerberos(&self) -> bool {
        self.options.security.is_some()
    }

    /// What the URL requests to protect the connections.
    pub fn xprtsec(&self) -> Xprtsec {
        self.options.route.tls.as_ref().map_or(Xprtsec::None, |route| route.requested)
    }

    /// Probes the server for at most `limit`. It uses about ten connections at the same time, each with a few calls.
    pub fn run(&self, limit: Duration) -> LocalBoxFuture<'_, OfferReport> {
        // Not an async function: the crate that awaits it would compile a second copy of the client.
        Box::pin(self.report(limit))
    }

    async fn report(&self, limit: Duration) -> OfferReport {
        let deadline = Instant::now() + limit;
        let mut report = OfferReport::new(self.url.clone(), "nfs");
        let port = self.options.port.unwrap_or_default();
        let server = match add_addresses(&mut report, &self.options.host, port, deadline).await {
            Ok(server) => server,
            Err(reason) => {
                report.incompatible(format!("host: {reason}"));
                return report;
            }
        };
        // Boxed: it holds the buffers of many connections.
        let findings = Box::pin(self.examine(server, limit, deadline)).await;
        rows::ports(&mut report, &findings);
        rows::versions(&mut report, &findings, &self.options);
        rows::security(&mut report, &findings, &self.options);
        rows::limits(&mut report, &findings);
        rows::session(&mut report, &findings);
        rows::exports(&mut report, &findings, &self.options);
        rows::space_and_clock(&mut report, &findings);
        rows::incompatibilities(&mut report, &findings, &self.options);
        report
    }

    async fn examine(&self, server: SocketAddr, limit: Duration, deadline: Instant) -> Findings {
        let host = server.ip();
        // A host that discards packets to the port mapper must not use up the time of the rest.
        let soon = deadline - limit * 3 / 4;
        let (ports, registrations) = tokio::join!(
            timeout_at(soon, find_ports(host, &self.options)),
            mounts::registrations(host, &self.options.route, soon)
        );
        let ports = ports.unwrap_or_else(|_| Ports::without_port_mapper(&self.options));
        let nfs = SocketAddr::new(host, ports.nfs);
        let mount = SocketAddr::new(host, ports.mount);
        // A quarter of the time is left to identify another protocol.
        let answered_by = deadline - limit / 4;
        let (versions, mounts, session) = tokio::join!(
            versions::call_each(nfs, mount, &self.options, answered_by),
            mounts::examine(mount, &self.options, answered_by),
            session::examine(&self.options, nfs, answered_by),
        );
        let mut found = incompatibility(&versions, ports, &self.options);
        if !versions.is_rpc() {
            let rest = deadline.saturating_duration_since(Instant::now());
            found = identify_peer(nfs, rest).await.and_then(Incompatibility::of_peer);
        }
        Findings { ports, registrations, versions, mounts, session, incompatibility: found }
    }
}
