//! The first connection to a target, whose failure is explained to the user.

use sharebench_target::{ConnectError, Session, SessionSpec, Target};

/// Share of the connect timeout that the explanation of a failed connection may take in addition: a failed command ends
/// soon after its timeout, and a longer timeout gives a slow machine or server the time to explain.
const EXPLANATION_SHARE: u32 = 8;

/// Connects to a target. If that fails, the error states what the server offers instead, as far as the target can find out.
/// Only the first connection of a command is explained: later ones reconnect to a server that has worked.
pub(crate) async fn connect_first(
    target: &dyn Target,
    spec: &SessionSpec,
) -> Result<Box<dyn Session>, ConnectError> {
    match target.connect(spec).await {
        Err(error) => Err(target.explain(error, spec.connect_timeout / EXPLANATION_SHARE).await),
        connected => connected,
    }
}
