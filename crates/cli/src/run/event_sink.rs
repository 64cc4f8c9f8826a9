//! The receivers of a run's events: results database, live view and monitoring.

use sharebench_engine::StopSignal;
use sharebench_model::{ErrorClass, RunEvent, RunHeader};
use sharebench_results::RunSink;

use crate::live::LiveView;
use crate::monitoring::Monitoring;

/// The receivers of a run's events: results database, live view and monitoring.
///
/// It belongs to the thread that started the run and takes events in the order in which the engine sends them. The
/// run is created in the database when its first step starts; facts of targets that arrive before wait until then. A
/// failure of the database stops the run and is reported at its end, because results that are not stored are lost.
pub struct EventSink {
    pub sink: RunSink,
    pub view: LiveView,
    /// The header of the run, until the run begins in the results database.
    header: Option<RunHeader>,
    waiting: Vec<RunEvent>,
    /// The first error of the results database.
    pub failed: Option<String>,
    /// True if a read returned other data than was written.
    pub data_errors: bool,
    monitoring: Monitoring,
}

impl EventSink {
    /// Receivers that wait for the first event.
    pub fn new(sink: RunSink, view: LiveView, header: RunHeader, monitoring: Monitoring) -> Self {
        Self {
            sink,
            view,
            header: Some(header),
            waiting: Vec::new(),
            failed: None,
            data_errors: false,
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

    fn pass_on(&mut self, event: &RunEvent, stop: &StopSignal) {
        self.view.show(event);
        self.monitoring.show(event);
        if let RunEvent::StepFinished(step) = event {
            self.data_errors |= step.measure.errors.contains_key(&ErrorClass::DataMismatch);
        }
        if let RunEvent::TargetReady { .. } = event
            && self.header.is_some()
        {
            // The run is created in the results database when its first step starts, so that a target that
            // cannot be reached leaves no trace there (docs/adr/0008).
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
