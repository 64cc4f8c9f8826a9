//! Why a login fails before the server has judged it.

/// What is wrong with a token, or with the order of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AuthError {
    /// A token of the server ends early or is not what it should be.
    #[error("login token of {len} bytes: {what} is missing or malformed")]
    Malformed {
        /// The part.
        what: &'static str,
        /// Bytes of the structure it should be in.
        len: usize,
    },
    /// The server refuses within SPNEGO, or has not finished where it should have.
    #[error("login: SPNEGO state {state} instead of {expected}")]
    State {
        /// State as it arrived (RFC 4178 4.2.2).
        state: u8,
        /// State that was expected.
        expected: u8,
    },
    /// The server wants another mechanism than NTLM.
    #[error("login: the server does not take NTLM")]
    Mechanism,
    /// The server lacks a feature that `NTLMv2` needs.
    #[error("login: the server's NTLM flags {flags:#010x} lack {what}")]
    Flags {
        /// Feature.
        what: &'static str,
        /// Flags of the challenge.
        flags: u32,
    },
    /// The server's signature over the mechanisms is wrong: somebody changed the negotiation.
    #[error("login: the server's signature over the mechanism list is wrong")]
    MechListMic,
    /// A token arrived when none was due.
    #[error("login: {step} is not due now")]
    Order {
        /// The step that was asked for.
        step: &'static str,
    },
    /// The machine gives no random bytes.
    #[error("login: no random bytes")]
    Random,
}
