//! Why a login fails.

/// An invalid token, or a token out of order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// A token of the server is truncated or malformed.
    #[error("login token of {len} bytes: {what} is missing or malformed")]
    Malformed {
        /// The part.
        what: &'static str,
        /// Size of the structure that should contain it, in bytes.
        len: usize,
    },
    /// The server rejects the login within SPNEGO, or does not complete it in time.
    #[error("login: SPNEGO state {state} instead of {expected}")]
    State {
        /// State that the server sent (RFC 4178 4.2.2).
        state: u8,
        /// State that the client expected.
        expected: u8,
    },
    /// The server requires another mechanism than NTLM.
    #[error("login: the server does not accept NTLM")]
    Mechanism,
    /// The server chooses another mechanism although the user requires Kerberos.
    #[error(
        "login: the server chooses {chosen}, but the client requires Kerberos; auth=ntlm in the URL allows NTLM"
    )]
    Downgrade {
        /// Name of the mechanism that the server chooses.
        chosen: &'static str,
    },
    /// Kerberos rejects a token.
    #[error("login: {0}")]
    Kerberos(#[from] sharebench_gss::GssError),
    /// The server lacks a feature that `NTLMv2` needs.
    #[error("login: the server's NTLM flags {flags:#010x} lack {what}")]
    Flags {
        /// Feature.
        what: &'static str,
        /// Flags of the challenge.
        flags: u32,
    },
    /// The server's signature over the mechanisms is invalid: the negotiation was changed.
    #[error("login: the server's signature over the mechanism list is invalid")]
    MechListMic,
    /// A step of the login was requested out of order.
    #[error("login: {step} is out of order")]
    Order {
        /// The requested step.
        step: &'static str,
    },
    /// The client does not know the password, or a message was changed.
    #[error("login: the response to the challenge is wrong")]
    Rejected,
    /// The system has no randomness.
    #[error("login: the system returned no random bytes")]
    Random,
}
