//! `--dashboard`: the live view of a run in the browser, which becomes the report when the run has ended.

mod snapshot;
mod stream;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use hyper::body::Bytes;
use sharebench_analysis::Analysis;
use sharebench_model::RunEvent;
use sharebench_report::dashboard_page;

use crate::exit::Failure;
use crate::flags::dashboard::DashboardFlags;
use crate::http::Listener;
use crate::http::access::{Access, with_slash};
use crate::live::progress::RunProgress;
use crate::output::line;
use snapshot::{Messages, finished_step, state};
use stream::{Shared, events};

/// Shortest time between two states that the page receives. The browser is on the machine that measures, so the page is
/// drawn less often than the terminal.
const INTERVAL: Duration = Duration::from_secs(1);
/// Longest time that the process of a script serves the report to pages that are open.
const GRACE: Duration = Duration::from_secs(5);
/// Pause between two checks whether the report was read.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The dashboard of one run.
///
/// The thread that moves the events of a run also owns the dashboard: it passes every event together with the progress
/// that the terminal shows, and at most once a second the dashboard publishes that progress as one JSON text. The
/// listener's thread sends the text to each page that is open, so a page that reads slowly or not at all delays neither
/// the run nor another page, and the engine does not know of it. [`Dashboard::end`] replaces the page by the report;
/// from then on the same address returns the report. Dropping it closes the listener.
#[derive(Debug)]
pub struct Dashboard {
    shared: Arc<Shared>,
    listener: Listener,
    url: String,
    messages: Messages,
    published: Option<Instant>,
}

impl Dashboard {
    /// Starts to serve a run with this title and prints the address, if the user wants a dashboard.
    pub fn open(flags: DashboardFlags, title: &str) -> Result<Option<Self>, Failure> {
        let Some(address) = flags.dashboard else { return Ok(None) };
        let access = Access::new("--dashboard", "--dashboard", address)?;
        let dashboard = Self::serve(address, title, access)?;
        line(format_args!("dashboard: {}", dashboard.url));
        Ok(Some(dashboard))
    }

    fn serve(address: SocketAddr, title: &str, access: Access) -> Result<Self, Failure> {
        let shared = Arc::new(Shared::new(dashboard_page(title, env!("CARGO_PKG_VERSION"))));
        let path = access.path();
        let routes = access.protect(routes(Arc::clone(&shared)));
        let listener = Listener::start("dashboard", address, routes)
            .map_err(|error| Failure::usage(format!("--dashboard {address}: {error}")))?;
        let url = format!("http://{}{path}", listener.address());
        Ok(Self { shared, listener, url, messages: Messages::default(), published: None })
    }

    /// Shows one event, which has changed the progress.
    pub fn show(&mut self, event: &RunEvent, progress: &RunProgress, at: Instant) {
        match event {
            RunEvent::StepFinished(step) => {
                self.shared.add_step(|number| finished_step(step, number).to_string());
            }
            RunEvent::Failure { detail, .. } => self.messages.add("failure", detail),
            RunEvent::Warning(text) => self.messages.add("warning", text),
            RunEvent::Finished(_) => self.published = None,
            _ => {}
        }
        self.tick(progress, at);
    }

    /// Publishes the progress if it is time to.
    pub fn tick(&mut self, progress: &RunProgress, at: Instant) {
        if self.published.is_some_and(|last| at.saturating_duration_since(last) < INTERVAL) {
            return;
        }
        self.published = Some(at);
        self.shared.publish(state(progress, &self.messages, at).to_string());
    }

    /// Replaces the page by the report; without an analysis the page stays, because the run is not stored.
    pub fn end(&self, analysis: Option<&Analysis>) {
        self.shared.end(analysis.map(|analysis| Bytes::from(sharebench_report::html(analysis))));
    }

    /// The address of the page.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// True if the page is the report now.
    pub fn has_report(&self) -> bool {
        self.shared.has_report()
    }

    /// Waits until the pages that were open at the end have loaded the report completely, for at most [`GRACE`], or until
    /// `gives_up`.
    pub fn wait_for_pages(&self, gives_up: impl Fn() -> bool) {
        let end = Instant::now() + GRACE;
        let is_read = || self.shared.unread_pages() == 0 && self.listener.open_connections() == 0;
        while Instant::now() < end && !is_read() && !gives_up() {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

fn routes(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/{token}", get(with_slash))
        .route("/{token}/", get(page))
        .route("/{token}/events", get(follow))
        .with_state(shared)
}

/// The dashboard, or the report after the end of the run.
async fn page(State(shared): State<Arc<Shared>>) -> Response {
    match shared.report() {
        Some(report) => Html(report).into_response(),
        None => Html(shared.page()).into_response(),
    }
}

/// The server-sent events of the run (HTML Living Standard, section 9.2).
async fn follow(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let next = last.and_then(|id| id.parse().ok()).unwrap_or(0);
    ([(header::CONTENT_TYPE, "text/event-stream")], events(shared, next)).into_response()
}

#[cfg(test)]
mod tests;
