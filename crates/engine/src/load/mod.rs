//! A load step, or a series of them: virtual users on threads, their data set, and the windows in which they are measured.

pub(crate) mod data_set;
pub(crate) mod data_set_builder;
pub(crate) mod extension;
pub(crate) mod kept_data_set;
pub(crate) mod load_series;
pub(crate) mod load_step;
pub(crate) mod observer;
pub(crate) mod series_driver;
pub(crate) mod step_trial;
pub(crate) mod user;
pub(crate) mod window_watch;
