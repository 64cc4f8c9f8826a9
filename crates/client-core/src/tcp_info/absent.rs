//! Systems whose figures of a connection are not the ones that a [`TcpReading`] states.

use sharebench_model::TcpReading;

/// Reads the figures of a connection: none, because this system does not report them.
pub fn tcp_reading<S>(_: &S) -> Option<TcpReading> {
    None
}
