//! The receivers of a run's events: results database, live view, dashboard and monitoring.

use std::time::Instant;

use sharebench_engine::StopSignal;
use sharebench_model::{ErrorClass, RunEvent, RunHeader, StepResult, axis};
use sharebench_results::RunSink;

use crate::dashboard::Dashboard;
use crate::live::LiveView;
use crate::monitoring::Monitoring;

/// The receivers of a run's events: results database, live view, dashboard and monitoring.
///
/// It belongs to the thread that started the run and takes events in the order in which the engine sends them. The
/// run is created in the database when its first step starts; facts of targets that arrive before wait until then. A
/// failure of the database stops the run and is reported at its end, because results that are not stored are lost.
pub struct EventSink {
    pub sink: RunSink,
    pub view: LiveView,
    pub dashboard: Option<Dashboard>,
    /// The header of the run, until the run begins in the results database.
    header: Option<RunHeader>,
    waiting: Vec<RunEvent>,
    /// The first error of the results database.
    pub failed: Option<String>,
    /// True if a read returned other data than was written.
    pub data_errors: bool,
    /// The first load step in which every operation failed, with the number of failures.
    pub all_failed: Option<String>,
    monitoring: Monitoring,
}

impl EventSink {
    /// Receivers that wait for the first event.
    pub fn new(
        sink: RunSink,
        view: LiveView,
        dashboard: Option<Dashboard>,
        header: RunHeader,
        monitoring: Monitoring,
    ) -> Self {
        Self {
            sink,
            view,
            dashboard,
            header: Some(header),
            waiting: Vec::new(),
            failed: None,
            data_errors: false,
            all_failed: None,
            monitoring,
        }
    }

    /// Receives one event.
    pub fn take(&mut self, event: &RunEvent, stop: &StopSignal) {
        if let RunEvent::StepFinished(step) = event
            && let Some(known) = self.monitoring.complete(step)
        {
            return self.pass_on(&RunEvent::StepFinished(Box::new(known)), stop);
        }
        self.pass_on(event, stop);
    }

    /// Updates what shows the run, between events.
    pub fn tick(&mut self) {
        self.view.tick();
        if let Some(dashboard) = &mut self.dashboard {
            dashboard.tick(self.view.progress(), Instant::now());
        }
    }

    fn pass_on(&mut self, event: &RunEvent, stop: &StopSignal) {
        self.view.show(event);
        if let Some(dashboard) = &mut self.dashboard {
            dashboard.show(event, self.view.progress(), Instant::now());
        }
        self.monitoring.show(event);
        if let RunEvent::StepFinished(step) = event {
            self.judge_failures(step);
        }
        let begins = matches!(event, RunEvent::StepStarted { .. } | RunEvent::Finished(_));
        if !begins && self.header.is_some() {
            // The run is created in the results database when its first step starts, so that a target that
            // cannot be reached, or has too little space, leaves no trace there (docs/design/results-store.md).
            return self.waiting.push(event.clone());
        }
        if let Some(header) = self.header.take() {
            self.record(&RunEvent::Started(Box::new(header)), stop);
            for event in std::mem::take(&mut self.waiting) {
                self.record(&event, stop);
            }
        }
        self.record(event, stop);
    }

    /// Notes failures of a step that determine the exit code.
    pub fn judge_failures(&mut self, step: &StepResult) {
        self.data_errors |= step.measure.errors.contains_key(&ErrorClass::DataMismatch);
        self.all_failed = self.all_failed.take().or_else(|| wholly_failed(step));
    }

    /// Stores an event; the first error stops the run.
    fn record(&mut self, event: &RunEvent, stop: &StopSignal) {
        if self.failed.is_some() {
            return;
        }
        if let Err(error) = self.sink.record(event) {
            // Measuring without storing would be lost time.
            stop.stop();
            self.failed = Some(error.to_string());
        }
    }
}

/// The reason if every operation of a load step failed. Such a step measured nothing.
///
/// Logins alone do not decide: where some users are rejected, the others may have had nothing to do in a short window.
fn wholly_failed(step: &StepResult) -> Option<String> {
    let failed = step.measure.error_count();
    let is_load = step.coordinates.get(axis::WORKLOAD).is_some();
    let load = &step.measure.load;
    let transactions_failed = load.transactions.iter().any(|part| !part.errors.is_empty());
    let is_attempted = transactions_failed || load.users_with_session == 0;
    // The operations of a load are those that succeeded; failures are counted apart.
    (is_load && failed > 0 && step.measure.operations == 0 && is_attempted)
        .then(|| format!("every operation failed ({failed} failures) in step {}", step.coordinates))
}

#[cfg(test)]
mod tests {
    use sharebench_model::{Coordinates, LoadDetail, Measure, Part, Value};

    use super::*;

    fn step(coordinates: Coordinates, operations: u64, failed: u64) -> StepResult {
        let mut measure = Measure { operations, ..Measure::default() };
        if failed > 0 {
            measure.errors.insert(ErrorClass::Timeout, failed);
        }
        StepResult {
            index: 0,
            target: 0,
            repetition: 0,
            coordinates,
            started_unix_ms: 0,
            unmeasured_ms: 0,
            measure,
            checks: Vec::new().into(),
        }
    }

    #[test]
    fn a_load_step_in_which_every_operation_failed_is_reported_with_its_numbers() {
        let load = || {
            Coordinates::new().with(axis::WORKLOAD, Value::text("office")).with(axis::USERS, Value::Count(3))
        };
        let expected = "every operation failed (41 failures) in step users=3 workload=office";
        assert_eq!(wholly_failed(&step(load(), 0, 41)).as_deref(), Some(expected));
        assert_eq!(wholly_failed(&step(load(), 1, 40)), None);
        assert_eq!(wholly_failed(&step(load(), 0, 0)), None);
        let cell = Coordinates::new().with(axis::TEST, Value::text("read"));
        assert_eq!(wholly_failed(&step(cell, 41, 41)), None);
    }

    #[test]
    fn a_load_step_whose_users_are_partly_logged_on_and_idle_has_not_failed() {
        let load = || {
            Coordinates::new().with(axis::WORKLOAD, Value::text("office")).with(axis::USERS, Value::Count(40))
        };
        let with = |users_with_session, transactions| {
            let mut step = step(load(), 0, 32);
            step.measure.load =
                LoadDetail { users_with_session, transactions, ..LoadDetail::default() }.into();
            wholly_failed(&step)
        };
        assert_eq!(with(8, vec![Part::named("save")]), None, "32 of 40 users were rejected");
        assert!(with(0, vec![Part::named("save")]).is_some(), "nobody could log on");
        let failed = Part { errors: [(ErrorClass::Timeout, 1)].into(), ..Part::named("save") };
        assert!(with(8, vec![failed]).is_some(), "what they did failed");
    }
}
