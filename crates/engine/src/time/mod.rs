//! The clock of a run and everything that waits for it: real or virtual time, sleeps, deadlines, the stop signal.

pub(crate) mod clock;
pub(crate) mod deadline;
pub(crate) mod fine_timer;
pub(crate) mod sleep;
pub(crate) mod stop;
pub(crate) mod turns;
pub(crate) mod until_stopped;
pub(crate) mod virtual_time;
pub(crate) mod window;
