//! The first connection to a target, whose failure is explained to the user.

use std::time::Duration;

use sharebench_target::{ConnectError, Session, SessionSpec, Target};

/// Longest time for the explanation of a failed connection.
const EXPLANATION_LIMIT: Duration = Duration::from_secs(1);

/// Connects to a target. If that fails, the error states what the server offers instead, as far as the target can find out.
/// Only the first connection of a command is explained: later ones reconnect to a server that has worked.
pub(crate) async fn connect_first(
    target: &dyn Target,
    spec: &SessionSpec,
) -> Result<Box<dyn Session>, ConnectError> {
    match target.connect(spec).await {
        Err(error) => Err(target.explain(error, spec.connect_timeout.min(EXPLANATION_LIMIT)).await),
        connected => connected,
    }
}
