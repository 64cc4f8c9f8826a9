//! The probe of a server: connections of several kinds at the same time, within one deadline.

use std::net::SocketAddr;
use std::time::Duration;

use sharebench_gss::TicketPool;
use sharebench_target::offers::{OfferReport, add_addresses, identify_peer};
use sharebench_target::{LocalBoxFuture, Secret, TargetUrl, UrlError};
use tokio::time::Instant;

use super::dialects::{self, DialectOffers};
use super::rows;
use super::session::{self, SessionFindings};
use crate::client::negotiated::MULTI_CHANNEL;
use crate::client::options::SmbOptions;
use crate::incompatibility::Incompatibility;

/// A probe of the server of an `smb://` URL, which may have no share.
///
/// It holds the checked URL and the password; [`Self::run`] connects. Without a password or ticket for a named account it
/// reports what a server offers before the login.
#[derive(Debug, Clone)]
pub struct SmbProbe {
    url: String,
    options: SmbOptions,
    logs_in: bool,
}

impl SmbProbe {
    /// Checks a URL. Without `password`, an account in the URL is logged in if it has a ticket or the URL requires one.
    pub fn from_url(url: TargetUrl, password: Option<Secret>) -> Result<Self, UrlError> {
        let shown = url.to_string();
        let needs_none = url.user.is_none() || password.is_some();
        let mut options = SmbOptions::with_optional_share(url, password.unwrap_or_default())?;
        let logs_in = needs_none || options.requires_kerberos() || options.has_ticket();
        // A server announces several channels only to a client that announces them (MS-SMB2 3.3.5.4).
        options.further_capabilities = MULTI_CHANNEL;
        Ok(Self { url: shown, options, logs_in })
    }

    /// Logs in with one of these tickets.
    #[must_use]
    pub fn with_tickets(mut self, tickets: TicketPool) -> Self {
        self.options.tickets = tickets;
        self
    }

    /// True if the URL requires Kerberos.
    pub fn requires_kerberos(&self) -> bool {
        self.options.requires_kerberos()
    }

    /// True if it logs in: without an account, or with a password or ticket.
    pub const fn logs_in(&self) -> bool {
        self.logs_in
    }

    /// Probes the server for at most `limit`. It uses about ten connections at the same time, each with one request, and
    /// one session.
    pub fn run(&self, limit: Duration) -> LocalBoxFuture<'_, OfferReport> {
        // Not an async function: the crate that awaits it would compile a second copy of the client.
        Box::pin(self.report(limit))
    }

    async fn report(&self, limit: Duration) -> OfferReport {
        let deadline = Instant::now() + limit;
        let mut report = OfferReport::new(self.url.clone(), "smb");
        let server = match add_addresses(&mut report, &self.options.host, self.options.port, deadline).await {
            Ok(server) => server,
            Err(reason) => {
                report.incompatible(format!("host: {reason}"));
                return report;
            }
        };
        report.fact("host", "port", self.options.port);
        let (offers, findings) =
            tokio::join!(dialects::negotiate_each(server, deadline), self.examine(server, limit, deadline));
        self.add_rows(&mut report, &offers, &findings);
        report
    }

    /// Opens a session; if the server does not even negotiate, finds out what it speaks instead.
    async fn examine(&self, server: SocketAddr, limit: Duration, deadline: Instant) -> SessionFindings {
        // Half of the time is for the negotiation, so that the rest suffices to identify another protocol.
        let negotiated_by = deadline - limit / 2;
        let mut findings = session::examine(&self.options, self.logs_in, negotiated_by, deadline).await;
        if findings.negotiated.is_none() && findings.connected {
            let rest = deadline.saturating_duration_since(Instant::now());
            let peer = identify_peer(server, rest).await;
            findings.incompatibility = peer.and_then(Incompatibility::of_peer);
        }
        findings
    }

    fn add_rows(&self, report: &mut OfferReport, offers: &DialectOffers, findings: &SessionFindings) {
        rows::versions(report, offers, findings);
        rows::security(report, offers, findings);
        rows::login(report, offers, findings, &self.options);
        rows::limits(report, offers, findings);
        rows::features(report, offers, findings);
        rows::shares(report, findings, &self.options);
        rows::space_and_clock(report, findings);
        rows::incompatibilities(report, offers, findings, &self.options);
    }
}
