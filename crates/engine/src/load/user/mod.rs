//! The virtual user: its session, its pace, its transactions and the requests that they consist of.

pub(crate) mod arrival_schedule;
pub(crate) mod environment;
pub(crate) mod held_right;
pub(crate) mod locked_range;
pub(crate) mod open_file;
pub(crate) mod replay;
pub(crate) mod replay_files;
pub(crate) mod replay_state;
pub(crate) mod requests;
pub(crate) mod semaphore;
pub(crate) mod session_lifecycle;
pub(crate) mod shared_login;
pub(crate) mod shared_session;
pub(crate) mod thread_context;
pub(crate) mod transaction;
pub(crate) mod user_activity;
pub(crate) mod user_files;
pub(crate) mod verify_after_outage;
pub(crate) mod virtual_user;
pub(crate) mod watched;
pub(crate) mod whole_file;
