//! What becomes of a run's events: the results database, the live view, and whoever else looks on.

use sharebench_engine::StopSignal;
use sharebench_model::{ErrorClass, RunEvent, RunHeader};
use sharebench_results::RunSink;

use crate::live::LiveView;
use crate::monitoring::Monitoring;

/// Takes events to store and view. The run is begun in the store when its first step starts, so that a
/// plan whose targets cannot be reached leaves no empty run.
pub struct EventSink {
    pub sink: RunSink,
    pub view: LiveView,
    header: Option<RunHeader>,
    waiting: Vec<RunEvent>,
    /// Why results could not be stored.
    pub failed: Option<String>,
    /// Data that was read was not the data written.
    pub data_errors: bool,
    monitoring: Monitoring,
}

impl EventSink {
    /// Before the first event.
    pub fn new(sink: RunSink, view: LiveView, header: RunHeader, monitoring: Monitoring) -> Self {
        let (header, waiting) = (Some(header), Vec::new());
        Self { sink, view, header, waiting, failed: None, data_errors: false, monitoring }
    }

    /// Takes one event.
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

    /// A store that cannot take a step ends the run: numbers that nobody keeps are not worth the load.
    fn record(&mut self, event: &RunEvent, stop: &StopSignal) {
        if self.failed.is_some() {
            return;
        }
        if let Err(error) = self.sink.record(event) {
            stop.stop();
            self.failed = Some(error.to_string());
        }
    }
}
