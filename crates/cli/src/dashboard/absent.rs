//! The dashboard of a program without the feature `pages`: there is none.

use std::time::Instant;

use sharebench_analysis::Analysis;
use sharebench_model::RunEvent;

use crate::exit::Failure;
use crate::flags::dashboard::DashboardFlags;
use crate::live::progress::RunProgress;

/// A dashboard that does not exist.
#[derive(Debug)]
pub enum Dashboard {}

#[expect(
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value,
    reason = "the interface of the feature `pages`"
)]
impl Dashboard {
    /// No dashboard.
    pub fn open(_flags: DashboardFlags, _title: &str) -> Result<Option<Self>, Failure> {
        Ok(None)
    }

    /// The address of the page.
    pub fn url(&self) -> &str {
        match *self {}
    }

    /// Shows one event.
    pub fn show(&mut self, _event: &RunEvent, _progress: &RunProgress, _at: Instant) {
        match *self {}
    }

    /// Publishes the progress.
    pub fn tick(&mut self, _progress: &RunProgress, _at: Instant) {
        match *self {}
    }

    /// Replaces the page by the report.
    pub fn end(&self, _analysis: Option<&Analysis>) {
        match *self {}
    }

    /// True if there is a report.
    pub fn has_report(&self) -> bool {
        match *self {}
    }

    /// Waits for the pages that are open.
    pub fn wait_for_pages(&self, _gives_up: impl Fn() -> bool) {
        match *self {}
    }
}
