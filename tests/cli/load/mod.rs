//! `load`: steps of virtual users.

pub mod loadfiles;
pub mod locks;
pub mod notifications;
pub mod observers;
pub mod rights;
pub mod series;
pub mod steps;
