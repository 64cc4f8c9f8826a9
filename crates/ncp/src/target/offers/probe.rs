//! The probe of a server: one session and connections without a login, within one deadline.

use std::net::SocketAddr;
use std::time::Duration;

use sharebench_target::offers::{OfferReport, add_addresses, identify_peer};
use sharebench_target::{LocalBoxFuture, Secret, TargetUrl, UrlError};
use tokio::time::Instant;

use super::negotiation::{self, NegotiationFindings};
use super::rows;
use super::session::{self, SessionFindings};
use crate::target::incompatibility::Incompatibility;
use crate::target::options::NcpOptions;
use crate::wire::TransportKind;

/// A probe of the server of an `ncp://` URL, which may have no volume.
///
/// It holds the checked URL and the password; [`Self::run`] connects. Without a password for a named account it reports
/// what a server offers before the login.
#[derive(Debug, Clone)]
pub struct NcpProbe {
    url: String,
    options: NcpOptions,
    logs_in: bool,
}

/// Everything that a probe found out.
#[derive(Debug)]
pub(super) struct Findings {
    pub(super) session: SessionFindings,
    /// Over the transport of the URL.
    pub(super) negotiated: Result<NegotiationFindings, String>,
    /// Over UDP, if the URL selects TCP.
    pub(super) over_udp: Option<Result<NegotiationFindings, String>>,
    pub(super) incompatibility: Option<Incompatibility>,
}

impl NcpProbe {
    /// Checks a URL. Without `password`, an account in the URL is not logged in.
    pub fn from_url(url: TargetUrl, password: Option<Secret>) -> Result<Self, UrlError> {
        let shown = url.to_string();
        let logs_in = url.user.is_none() || password.is_some();
        let options = NcpOptions::with_optional_volume(url, password.unwrap_or_default())?;
        Ok(Self { url: shown, options, logs_in })
    }

    /// Probes the server for at most `limit`. It uses two connections at the same time, because some servers admit few.
    pub fn run(&self, limit: Duration) -> LocalBoxFuture<'_, OfferReport> {
        // Not an async function: the crate that awaits it would compile a second copy of the client.
        Box::pin(self.report(limit))
    }

    async fn report(&self, limit: Duration) -> OfferReport {
        let deadline = Instant::now() + limit;
        let mut report = OfferReport::new(self.url.clone(), "ncp");
        let mut server = None;
        if self.options.ether.is_none() {
            let found = add_addresses(&mut report, &self.options.host, self.options.port, deadline).await;
            match found {
                Ok(address) => server = Some(address),
                Err(reason) => {
                    report.incompatible(format!("host: {reason}"));
                    return report;
                }
            }
            report.fact("host", "port", self.options.port);
        }
        let findings = self.examine(server, limit, deadline).await;
        rows::server(&mut report, &findings, &self.options);
        rows::security(&mut report, &findings);
        rows::login(&mut report, &findings, &self.options, self.logs_in);
        rows::limits(&mut report, &findings);
        rows::features(&mut report, &findings);
        rows::volumes(&mut report, &findings, &self.options);
        rows::clock(&mut report, &findings);
        rows::incompatibilities(&mut report, &findings);
        report
    }

    async fn examine(&self, server: Option<SocketAddr>, limit: Duration, deadline: Instant) -> Findings {
        let options = &self.options;
        // A quarter of the time is left to identify another protocol.
        let attached_by = deadline - limit / 4;
        let (session, (negotiated, over_udp)) =
            tokio::join!(session::examine(options, self.logs_in, attached_by, deadline), async {
                let negotiated = negotiation::examine(options, options.transport, attached_by).await;
                let over_udp = match options.transport {
                    TransportKind::Tcp => {
                        Some(negotiation::examine(options, TransportKind::Udp, attached_by).await)
                    }
                    _ => None,
                };
                (negotiated, over_udp)
            });
        let mut incompatibility = None;
        if let Some(server) = server.filter(|_| session.info.is_none()) {
            let rest = deadline.saturating_duration_since(Instant::now());
            let over_tcp = options.transport == TransportKind::Tcp;
            let peer = identify_peer(server, rest).await;
            incompatibility = peer.and_then(|peer| Incompatibility::of_peer(peer, over_tcp));
        }
        let nds_only = session.methods.is_some_and(super::login_methods::LoginMethods::is_nds_only);
        if nds_only && !session.logged_in {
            incompatibility = Some(Incompatibility::NdsLoginOnly);
        }
        Findings { session, negotiated, over_udp, incompatibility }
    }
}
