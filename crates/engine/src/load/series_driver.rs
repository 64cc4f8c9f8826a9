//! The course of a series of load steps: which step and which window comes next.

use sharebench_model::StepError;
use sharebench_plan::TransactionWork;

use crate::load::extension::GRACE;
use crate::record::tally::Tally;
use crate::time::clock::Clock;
use crate::time::stop::StopSignal;
use crate::time::window::Window;

/// Whoever wants the steps of a series: it announces each of them and receives what was measured, in their order.
pub(crate) trait SeriesSteps {
    /// A step begins: its new users log on next. An error ends the series before that.
    fn begin(&mut self, step: usize) -> Result<(), StepError>;
    /// The tally of a step, of all threads. Users work on meanwhile, except after the last step.
    fn measured(&mut self, step: usize, tally: Tally) -> Result<(), StepError>;
}

/// What the threads of a series do next.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SeriesCommand {
    /// Let the missing users of a step log on, or those beyond its number log off. The others work on.
    Step(usize),
    /// Measure a window.
    Window(Window),
    /// Log all users off.
    Finish,
}

/// What a thread reports, or all threads after [`Self::merge`].
#[derive(Debug, Default)]
pub(crate) enum SeriesReport {
    /// The thread has started and has no users yet.
    #[default]
    Started,
    /// The users of the step are logged on, and no others.
    Ready,
    /// The window has ended. This is its tally.
    Ended(Box<Tally>),
}

impl SeriesReport {
    /// Adds the report of another thread about the same command.
    pub fn merge(&mut self, other: Self) {
        if let (Self::Ended(tally), Self::Ended(more)) = (self, other) {
            tally.merge(*more);
        }
    }
}

/// Decides on the next command of a series. It keeps the tally of the last step until all users have logged off, because
/// the verification of their files and what they still finish belong to the accounts of the series.
pub(crate) struct SeriesDriver<'a> {
    works: Vec<&'a TransactionWork>,
    clock: &'a Clock,
    stop: &'a StopSignal,
    steps: &'a mut dyn SeriesSteps,
    step: usize,
    last: Option<Tally>,
    outcome: Result<(), StepError>,
}

impl<'a> SeriesDriver<'a> {
    /// Before the first of these steps.
    pub fn new(
        works: Vec<&'a TransactionWork>,
        clock: &'a Clock,
        stop: &'a StopSignal,
        steps: &'a mut dyn SeriesSteps,
    ) -> Self {
        Self { works, clock, stop, steps, step: 0, last: None, outcome: Ok(()) }
    }

    /// The command after `report`. An error ends the series, and [`Self::conclude`] returns it.
    pub fn next(&mut self, report: SeriesReport) -> SeriesCommand {
        self.decide(report).unwrap_or_else(|error| {
            self.outcome = Err(error);
            SeriesCommand::Finish
        })
    }

    fn decide(&mut self, report: SeriesReport) -> Result<SeriesCommand, StepError> {
        if self.stop.is_stopped() {
            return Err(StepError::Stopped);
        }
        match report {
            SeriesReport::Started => self.begin(),
            SeriesReport::Ready => Ok(SeriesCommand::Window(self.window())),
            SeriesReport::Ended(tally) if self.step + 1 == self.works.len() => {
                self.last = Some(*tally);
                Ok(SeriesCommand::Finish)
            }
            SeriesReport::Ended(tally) => {
                self.steps.measured(self.step, *tally)?;
                self.step += 1;
                self.begin()
            }
        }
    }

    fn begin(&mut self) -> Result<SeriesCommand, StepError> {
        self.steps.begin(self.step)?;
        Ok(SeriesCommand::Step(self.step))
    }

    fn window(&self) -> Window {
        let work = self.works[self.step];
        let start = self.clock.now() + GRACE.as_nanos() as u64;
        let measure = start + work.warm_up.as_nanos() as u64;
        Window { start, measure, end: measure + work.measure.as_nanos() as u64 }
    }

    /// Ends the series: `rest` is what users did after the last window until they had logged off.
    pub fn conclude(self, rest: Tally) -> Result<(), StepError> {
        self.outcome?;
        if self.stop.is_stopped() {
            return Err(StepError::Stopped);
        }
        let Some(mut tally) = self.last else { return Ok(()) };
        // The rest has no window, and so no seconds.
        let seconds = std::mem::take(&mut tally.seconds);
        tally.merge(rest);
        tally.seconds = seconds;
        self.steps.measured(self.step, tally)
    }
}
