//! Kerberos: our clients and servers in a realm of their own, against real servers and clients.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of it is tests, which clippy sees by #[test] only"
)]

#[expect(dead_code, reason = "counting requests needs no realm")]
#[path = "../adapters.rs"]
mod adapters;
mod bad_input;
mod contexts;
mod costs;
mod embedded;
mod everything;
mod expiry;
mod kernel;
mod nfs;
mod secrets;
mod smb;
#[expect(dead_code, reason = "steps are not summed here")]
#[path = "../stored.rs"]
mod stored;
mod tampering;

use std::time::Duration;

use sharebench_model::TargetFacts;
use sharebench_target::{ConnectError, SessionSpec, Target};

/// The facts of a session, which has a minute to log in.
fn connect(target: &dyn Target) -> Result<TargetFacts, ConnectError> {
    let spec = SessionSpec { connect_timeout: Duration::from_secs(60), ..SessionSpec::default() };
    adapters::block_on(async {
        let session = target.connect(&spec).await?;
        let facts = session.facts();
        session.close().await;
        Ok(facts)
    })
}
