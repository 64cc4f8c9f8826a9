//! Why Kerberos fails, as one sentence per cause.

use std::time::Duration;

use sharebench_model::ErrorClass;

/// A status of the library, with the name of the call (RFC 2743 1.2.1.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The GSSAPI function.
    pub call: &'static str,
    /// The major status.
    pub major: u32,
    /// The mechanism's status: a Kerberos error code.
    pub minor: i32,
    /// The library's text.
    pub text: String,
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.call, self.text)
    }
}

/// Why a ticket cannot be had, or a security context cannot be established or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GssError {
    /// The system has no GSSAPI library.
    #[error(
        "Kerberos needs the GSSAPI library of the system, which cannot be loaded (install libgssapi-krb5-2 or krb5-libs): {reason}"
    )]
    LibraryMissing {
        /// The loader's message.
        reason: String,
    },
    /// The ticket cache is empty or absent.
    #[error(
        "no Kerberos ticket: run kinit, or give a principal with its keytab in --identity, or a password ({0})"
    )]
    NoTicket(Status),
    /// The ticket is expired.
    #[error("the Kerberos ticket is expired: run kinit again ({0})")]
    TicketExpired(Status),
    /// The KDC does not know the client.
    #[error("the KDC does not know the principal {principal} ({status})")]
    UnknownPrincipal {
        /// The client's principal.
        principal: String,
        /// The library's status.
        status: Status,
    },
    /// The password or the key in the keytab is wrong.
    #[error("the KDC rejects the password or the key of {principal} ({status})")]
    WrongKey {
        /// The client's principal.
        principal: String,
        /// The library's status.
        status: Status,
    },
    /// The keytab has no key for the principal.
    #[error("the keytab has no key for {principal} ({status})")]
    NotInKeytab {
        /// The principal.
        principal: String,
        /// The library's status.
        status: Status,
    },
    /// There is no configuration for the realm, or the KDC serves another one.
    #[error("wrong realm: no KDC is known for it; check krb5.conf ({0})")]
    WrongRealm(Status),
    /// The clocks of client, KDC and server differ too much.
    #[error("the clock differs by more than Kerberos allows (usually 5 minutes) ({0})")]
    ClockSkew(Status),
    /// The KDC does not know the service.
    #[error("the KDC does not know the service {service}: check the host name, or give spn= ({status})")]
    UnknownService {
        /// The service's principal.
        service: String,
        /// The library's status.
        status: Status,
    },
    /// No KDC responds.
    #[error("no KDC responds ({0})")]
    KdcUnreachable(Status),
    /// No KDC responds in time, and the library still waits.
    #[error("no KDC responds within {limit:?}")]
    KdcSilent {
        /// How long the login has waited.
        limit: Duration,
    },
    /// The server cannot decrypt the ticket.
    #[error("the server has no current key for {service}: check its keytab ({status})")]
    ServerKey {
        /// The service's principal.
        service: String,
        /// The library's status.
        status: Status,
    },
    /// A token was sent before.
    #[error("a replayed or reordered Kerberos token ({0})")]
    Replay(Status),
    /// A signature is wrong.
    #[error("a Kerberos token has a wrong signature ({0})")]
    WrongMic(Status),
    /// A token is truncated or malformed.
    #[error("a Kerberos token is truncated or malformed ({0})")]
    DefectiveToken(Status),
    /// The context is expired.
    #[error("the Kerberos session is expired ({0})")]
    ContextExpired(Status),
    /// The library lacks a function, or the context a property.
    #[error("the GSSAPI library does not support {what}")]
    Unsupported {
        /// What is missing.
        what: &'static str,
    },
    /// A step of the login was requested out of order, or the context is not established.
    #[error("Kerberos login: {step} is out of order")]
    Order {
        /// The requested step.
        step: &'static str,
    },
    /// The established context lacks mutual authentication.
    #[error("the server did not authenticate itself")]
    NotMutual,
    /// A file name or principal contains a zero byte.
    #[error("{what} contains a zero byte")]
    ZeroByte {
        /// Which one.
        what: &'static str,
    },
    /// Any other failure.
    #[error("Kerberos: {0}")]
    Other(Status),
}

/// Who takes part in the failed call, for the text of the error.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Names<'a> {
    pub(crate) principal: &'a str,
    pub(crate) service: &'a str,
}

/// First code of the protocol's errors: `KRB5KDC_ERR_NONE` (RFC 4120 7.5.9 counts from here).
const PROTOCOL: i32 = -1_765_328_384;

/// `KRB_AP_ERR_BAD_INTEGRITY`.
const BAD_INTEGRITY: i32 = 31;

/// Codes of the library that are not errors of the protocol.
mod code {
    pub(super) const KDC_UNREACHABLE: i32 = -1_765_328_228;
    pub(super) const REALM_UNKNOWN: i32 = -1_765_328_230;
    pub(super) const REALM_CANNOT_RESOLVE: i32 = -1_765_328_164;
    pub(super) const NO_DEFAULT_REALM: i32 = -1_765_328_160;
    pub(super) const NO_CACHE_FILE: i32 = -1_765_328_189;
    pub(super) const CREDENTIAL_NOT_FOUND: i32 = -1_765_328_243;
    pub(super) const KEYTAB_ENTRY_NOT_FOUND: i32 = -1_765_328_203;
    pub(super) const WRONG_PRINCIPAL: i32 = -1_765_328_240;
    pub(super) const KDC_REPLY_SKEW: i32 = -1_765_328_236;
    /// `KG_CCACHE_NOMATCH`, `KG_TGT_MISSING` and `KG_EMPTY_CCACHE` of MIT's mechanism.
    pub(super) const NO_MATCHING_CACHE: i32 = 39_756_032;
    pub(super) const KEYTAB_NO_MATCH: i32 = 39_756_033;
    pub(super) const NO_TGT: i32 = 39_756_034;
    pub(super) const EMPTY_CACHE: i32 = 39_756_044;
}

/// Routine errors of the major status (RFC 2743 1.2.1.1, RFC 2744 3.9.1).
mod routine {
    pub(super) const BAD_MIC: u32 = 6;
    pub(super) const NO_CRED: u32 = 7;
    pub(super) const DEFECTIVE_TOKEN: u32 = 9;
    pub(super) const CREDENTIALS_EXPIRED: u32 = 11;
    pub(super) const CONTEXT_EXPIRED: u32 = 12;
    /// Supplementary bits: duplicate, old, unsequenced and gap token.
    pub(super) const REPLAY_BITS: u32 = 0x2 | 0x4 | 0x8 | 0x10;
}

impl GssError {
    /// The cause of a status. The Kerberos code decides; the major status decides what it leaves open.
    pub(crate) fn new(status: Status, names: Names<'_>) -> Self {
        let principal = || names.principal.to_owned();
        let service = || names.service.to_owned();
        match status.minor.wrapping_sub(PROTOCOL) {
            6 => return Self::UnknownPrincipal { principal: principal(), status },
            7 => return Self::UnknownService { service: service(), status },
            // KDC_ERR_PREAUTH_FAILED; KRB_AP_ERR_BAD_INTEGRITY of a reply that the key does not decrypt.
            24 | 31 if status.call.contains("cred") => {
                return Self::WrongKey { principal: principal(), status };
            }
            // KRB_AP_ERR_BAD_INTEGRITY, NOT_US, MODIFIED, BADKEYVER, NOKEY.
            31 | 35 | 41 | 44 | 45 => return Self::ServerKey { service: service(), status },
            24 => return Self::WrongKey { principal: principal(), status },
            32 => return Self::TicketExpired(status),
            33 | 37 => return Self::ClockSkew(status),
            34 => return Self::Replay(status),
            68 => return Self::WrongRealm(status),
            _ => {}
        }
        match status.minor {
            code::KDC_UNREACHABLE => Self::KdcUnreachable(status),
            code::REALM_UNKNOWN | code::REALM_CANNOT_RESOLVE | code::NO_DEFAULT_REALM => {
                Self::WrongRealm(status)
            }
            code::NO_CACHE_FILE
            | code::CREDENTIAL_NOT_FOUND
            | code::NO_MATCHING_CACHE
            | code::NO_TGT
            | code::EMPTY_CACHE => Self::NoTicket(status),
            code::KEYTAB_ENTRY_NOT_FOUND | code::KEYTAB_NO_MATCH => {
                Self::NotInKeytab { principal: principal(), status }
            }
            code::KDC_REPLY_SKEW => Self::ClockSkew(status),
            code::WRONG_PRINCIPAL => Self::ServerKey { service: service(), status },
            _ => Self::of_major(status),
        }
    }

    fn of_major(status: Status) -> Self {
        match status.major >> 16 & 0xff {
            routine::BAD_MIC => Self::WrongMic(status),
            routine::NO_CRED => Self::NoTicket(status),
            routine::DEFECTIVE_TOKEN => Self::DefectiveToken(status),
            routine::CREDENTIALS_EXPIRED => Self::TicketExpired(status),
            routine::CONTEXT_EXPIRED => Self::ContextExpired(status),
            0 if status.major & routine::REPLAY_BITS != 0 => Self::Replay(status),
            _ => Self::Other(status),
        }
    }

    /// The error of a step that had this answer of the server. A ticket that the server cannot decrypt and an answer that was
    /// changed on the way have the same code; the server reports the former as `KRB_AP_ERR_MODIFIED`.
    pub(crate) fn of_answer(self, received: &[u8]) -> Self {
        match self {
            Self::ServerKey { status, .. }
                if !received.is_empty() && status.minor == PROTOCOL + BAD_INTEGRITY =>
            {
                Self::WrongMic(status)
            }
            error => error,
        }
    }

    /// The class of a failed login.
    pub const fn class(&self) -> ErrorClass {
        match self {
            Self::LibraryMissing { .. } | Self::Unsupported { .. } => ErrorClass::Unsupported,
            Self::KdcUnreachable(_) | Self::KdcSilent { .. } => ErrorClass::Timeout,
            Self::DefectiveToken(_) | Self::WrongMic(_) | Self::Replay(_) | Self::NotMutual => {
                ErrorClass::Protocol
            }
            _ => ErrorClass::Refused,
        }
    }

    /// True if there is no ticket to log in with, so that another mechanism may be tried.
    pub const fn is_missing_ticket(&self) -> bool {
        matches!(self, Self::NoTicket(_) | Self::TicketExpired(_) | Self::LibraryMissing { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(call: &'static str, major: u32, minor: i32) -> GssError {
        let names = Names { principal: "alice@LAB", service: "cifs/nas" };
        GssError::new(Status { call, major, minor, text: "as the library says".into() }, names)
    }

    #[test]
    fn each_cause_has_its_sentence() {
        let init = "gss_init_sec_context";
        for (error, words) in [
            (cause(init, 13 << 16, PROTOCOL + 7), "does not know the service cifs/nas"),
            (cause(init, 13 << 16, PROTOCOL + 37), "clock differs"),
            (cause(init, 13 << 16, PROTOCOL + 32), "ticket is expired"),
            (cause(init, 13 << 16, PROTOCOL + 41), "no current key for cifs/nas"),
            (cause("gss_acquire_cred", 13 << 16, PROTOCOL + 6), "does not know the principal alice@LAB"),
            (
                cause("gss_acquire_cred", 13 << 16, PROTOCOL + 24),
                "rejects the password or the key of alice@LAB",
            ),
            (cause("gss_acquire_cred", 13 << 16, code::KDC_UNREACHABLE), "no KDC responds"),
            (cause("gss_acquire_cred", 13 << 16, code::REALM_UNKNOWN), "wrong realm"),
            (cause("gss_acquire_cred", 7 << 16, code::NO_CACHE_FILE), "no Kerberos ticket"),
            (cause("gss_unwrap", 6 << 16, 0), "wrong signature"),
            (cause("gss_unwrap", 9 << 16, 0), "truncated or malformed"),
            (cause("gss_unwrap", 2, 0), "replayed or reordered"),
        ] {
            assert!(error.to_string().contains(words), "{error}");
        }
        let changed = cause(init, 13 << 16, PROTOCOL + BAD_INTEGRITY).of_answer(b"answer");
        assert!(matches!(changed, GssError::WrongMic(_)), "{changed}");
    }
}
