//! Readings of the machine over one step.

use crate::machine::clock_facts::ClockFacts;
use crate::machine::health::Health;
use crate::machine::link::Link;

/// The machine while the step ran.
pub(crate) struct MachineReadings<'a> {
    /// Readings over the measured part; none when the meter could not be started.
    pub health: Option<Health>,
    pub clock: ClockFacts,
    pub link: &'a Link,
    /// Operations per second that the generator reaches against the null target.
    pub ceiling: Option<f64>,
    /// Share of its time that the busiest generator thread spent on a processor.
    pub busiest: Option<f64>,
    /// The target's own work happens in the calling thread's kernel time.
    pub blocking: bool,
}
