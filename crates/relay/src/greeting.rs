//! What clients of a relay receive first.

/// What a client receives before the bytes of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Greeting {
    /// Nothing: the client need not know of the relay. Its own connection is established at once, without the delay. If
    /// the target does not accept the connection, the client's is reset.
    None,
    /// Four bytes, one round trip after the connection was accepted, and not before the target has accepted it or
    /// failed to: 0, or the error number, big-endian.
    ErrorNumber,
}
