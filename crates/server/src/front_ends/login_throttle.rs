//! Delays of logins after failed ones, which all servers have.

pub(crate) use sharebench_ncp::server::{LoginSource, LoginThrottle};
