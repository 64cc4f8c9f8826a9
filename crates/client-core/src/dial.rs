//! Connecting to a server, and which part of the URL a failure points at.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use sharebench_model::{ErrorClass, OpError};
use sharebench_target::{ConnectError, SessionSpec, UrlPart};

/// A failure before a session exists: which part of the URL to check, and what happened.
///
/// The user reads it as a [`ConnectError`], which adds the URL. While a session is being opened the URL does not
/// matter, so that the steps (name resolution, TCP, login, mount) pass this smaller type.
#[derive(Debug)]
pub struct DialError {
    /// Part of the URL that the user should check.
    pub part: UrlPart,
    /// Kind of failure.
    pub class: ErrorClass,
    /// Description of the failure, without the URL.
    pub detail: String,
}

impl DialError {
    /// A failure that points at `part`.
    pub fn new(part: UrlPart, class: ErrorClass, detail: impl Into<String>) -> Self {
        Self { part, class, detail: detail.into() }
    }

    /// Adds the failure at another address of the host.
    fn and(mut self, other: &Self) -> Self {
        self.detail = format!("{}; {}", self.detail, other.detail);
        self
    }

    /// Attributes the failure of a request to `part`.
    pub fn blame(part: UrlPart) -> impl Fn(OpError) -> Self {
        move |error| Self::new(part, error.class, format!("{}: {}", error.step, error.detail))
    }

    /// A reply that breaks the protocol: something other than the expected server listens at the port.
    pub fn protocol_violation(error: impl std::fmt::Display) -> Self {
        Self::new(UrlPart::Port, ErrorClass::Protocol, error.to_string())
    }

    /// Adds the likely cause if the server closed a new connection before its first reply: servers at their limit of
    /// connections do that.
    #[must_use]
    pub fn before_first_reply(mut self) -> Self {
        if self.class == ErrorClass::Disconnected {
            self.detail.push_str("; the server may be at its limit of connections");
        }
        self
    }

    /// The error that the user reads.
    pub fn at_url(self, url: &str) -> ConnectError {
        ConnectError { url: url.to_owned(), part: self.part, class: self.class, detail: self.detail }
    }
}

/// Resolves a host name or address literal to its addresses, in the resolver's order of preference.
pub async fn resolve(host: &str) -> Result<Vec<IpAddr>, DialError> {
    // A literal needs no resolver, which may be slow or absent.
    if let Ok(address) = host.parse() {
        return Ok(vec![address]);
    }
    let unknown = |detail: String| DialError::new(UrlPart::Host, ErrorClass::NotFound, detail);
    let found = tokio::net::lookup_host((host, 0)).await.map_err(|error| unknown(error.to_string()))?;
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in found.map(|address| address.ip()) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() { Err(unknown("the name has no address".into())) } else { Ok(addresses) }
}

/// Time that an address has alone before the next one is tried as well (RFC 8305, 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Connects to the first of a host's addresses that accepts: the next one is tried when an attempt fails, or while it is
/// silent, so that a host of which one address family does not work is reached by the other. Attempts that are no longer
/// needed are dropped.
///
/// # Errors
/// Every address failed. The error points at the part of the first one, and its text names all failures.
pub async fn connect_first<T, F>(addresses: &[IpAddr], connect: impl Fn(IpAddr) -> F) -> Result<T, DialError>
where
    F: Future<Output = Result<T, DialError>>,
{
    let mut waiting = addresses.iter();
    let mut attempts: Vec<Pin<Box<F>>> =
        waiting.next().map(|address| Box::pin(connect(*address))).into_iter().collect();
    let mut failed: Option<DialError> = None;
    let mut delay = Box::pin(tokio::time::sleep(ATTEMPT_DELAY));
    std::future::poll_fn(|context| {
        loop {
            let mut is_next_due = false;
            let mut index = 0;
            while let Some(attempt) = attempts.get_mut(index) {
                match attempt.as_mut().poll(context) {
                    Poll::Ready(Ok(connected)) => return Poll::Ready(Ok(connected)),
                    Poll::Ready(Err(error)) => {
                        drop(attempts.swap_remove(index));
                        failed = Some(match failed.take() {
                            Some(first) => first.and(&error),
                            None => error,
                        });
                        is_next_due = true;
                    }
                    Poll::Pending => index += 1,
                }
            }
            if !is_next_due
                && !attempts.is_empty()
                && (waiting.len() == 0 || delay.as_mut().poll(context).is_pending())
            {
                return Poll::Pending;
            }
            match waiting.next() {
                Some(address) => attempts.push(Box::pin(connect(*address))),
                None if attempts.is_empty() => {
                    let none =
                        || DialError::new(UrlPart::Host, ErrorClass::NotFound, "the name has no address");
                    return Poll::Ready(Err(failed.take().unwrap_or_else(none)));
                }
                None => return Poll::Pending,
            }
            delay.as_mut().reset(tokio::time::Instant::now() + ATTEMPT_DELAY);
        }
    })
    .await
}

/// Describes a failed TCP connection. `port` is the part of the URL to check if the host answers and nobody listens;
/// `silent` is the part to check if nothing answers at all.
pub fn connect_error(address: SocketAddr, error: &io::Error, port: UrlPart, silent: UrlPart) -> DialError {
    let (part, class) = match error.kind() {
        // The system answered that no route leads there: the port cannot be the mistake.
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            (UrlPart::Host, ErrorClass::Disconnected)
        }
        io::ErrorKind::TimedOut => (silent, ErrorClass::Timeout),
        _ => (port, ErrorClass::Disconnected),
    };
    // The number of the system's error says nothing that the words before it do not say.
    let words = error.to_string();
    let words = words.split_once(" (os error").map_or(words.as_str(), |(words, _)| words);
    let meaning =
        if error.kind() == io::ErrorKind::ConnectionRefused { "; no server listens there" } else { "" };
    DialError::new(part, class, format!("{address}: {words}{meaning}"))
}

/// Rejects a session that has more slots, or larger ones, than a client supports.
pub fn check_session_size(
    spec: &SessionSpec,
    max_slots: u32,
    max_record_bytes: u32,
) -> Result<(), DialError> {
    if spec.slots <= max_slots && spec.slot_bytes <= max_record_bytes {
        return Ok(());
    }
    let detail = format!(
        "{} slots of {} bytes; at most {max_slots} of {max_record_bytes}",
        spec.slots, spec.slot_bytes
    );
    Err(DialError::new(UrlPart::Share, ErrorClass::Unsupported, detail))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future::pending;

    use super::*;

    const DEAD: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const SILENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));
    const ALIVE: IpAddr = IpAddr::V6(std::net::Ipv6Addr::LOCALHOST);

    /// Connects to addresses as their names say, and returns the result with the attempts in their order.
    fn connect(addresses: &[IpAddr]) -> (Result<IpAddr, DialError>, Vec<IpAddr>) {
        let tried = RefCell::new(Vec::new());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let result = runtime.unwrap().block_on(connect_first(addresses, |address| {
            tried.borrow_mut().push(address);
            async move {
                match address {
                    DEAD => Err(DialError::new(
                        UrlPart::Port,
                        ErrorClass::Disconnected,
                        format!("{DEAD}: refused"),
                    )),
                    SILENT => pending().await,
                    address => Ok(address),
                }
            }
        }));
        (result, tried.into_inner())
    }

    #[test]
    fn next_address_is_tried_after_a_failure_or_a_silence() {
        for (addresses, tried) in [
            (&[ALIVE, DEAD][..], &[ALIVE][..]),
            (&[DEAD, ALIVE], &[DEAD, ALIVE]),
            (&[SILENT, ALIVE, DEAD], &[SILENT, ALIVE]),
            (&[SILENT, DEAD, DEAD, ALIVE], &[SILENT, DEAD, DEAD, ALIVE]),
        ] {
            let (result, attempts) = connect(addresses);
            assert_eq!(result.unwrap(), ALIVE);
            assert_eq!(attempts, tried);
        }
    }

    #[test]
    fn error_names_every_address() {
        let error = connect(&[DEAD, DEAD]).0.unwrap_err();
        assert_eq!(error.part, UrlPart::Port);
        assert_eq!(error.detail, "192.0.2.1: refused; 192.0.2.1: refused");
        assert!(connect(&[]).0.unwrap_err().detail.contains("no address"));
    }
}
