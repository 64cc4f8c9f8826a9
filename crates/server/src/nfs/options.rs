//! Options of the NFS front end.

use std::path::PathBuf;
use std::time::Duration;

use sharebench_gss::AcceptorKeys;
use sharebench_tls::ServerTls;

use crate::front_ends::front_end::{EventLog, IDLE_TIMEOUT, LOGIN_TIMEOUT, ServeError};
use crate::front_ends::state_budget::StateBudget;
use crate::volume::change_reports::ChangeReports;

/// The protocol's name in messages.
pub(super) const PROTOCOL: &str = "nfs";

/// TLS of the NFS front end.
#[derive(Debug, Clone)]
pub struct NfsTls {
    /// The certificate, and whom it trusts.
    pub tls: ServerTls,
    /// Deny calls without TLS.
    pub required: bool,
}

/// Options of [`NfsServer`](crate::NfsServer).
#[derive(Debug, Clone)]
pub struct NfsServerOptions {
    /// Path of the export, such as `/export`. Directories below it can be mounted too.
    pub export: String,
    /// Serve an address that other machines can reach. NFS trusts the user id that a client sends, so that everybody
    /// who can reach the address may read and write.
    pub expose: bool,
    /// Keys for which Kerberos tickets are accepted. With them, every call needs `sec=krb5`, `krb5i` or `krb5p`.
    pub keys: Option<AcceptorKeys>,
    /// TLS for clients that request it.
    pub tls: Option<NfsTls>,
    /// Answer version 3 and MOUNT over UDP as well, at the same port. Replies to calls that change something are kept, so that
    /// a repeated call is performed once.
    pub udp: bool,
    /// Largest READ and WRITE, in bytes: 4 KiB to 1 MiB.
    pub max_transfer: u32,
    /// Maximum number of connections. A client needs two while it mounts. At the limit, the oldest connection without a
    /// complete call is closed for a new one; if there is none, the new one is closed.
    pub max_connections: usize,
    /// Maximum number of calls of one connection in progress; more wait in the socket.
    pub max_in_flight: usize,
    /// Timeout for receiving a call once it has begun, and for sending a reply. A slower connection is closed.
    pub io_timeout: Duration,
    /// Timeout from accepting a connection to the first complete call on it.
    pub first_call_timeout: Duration,
    /// Longest time without a call.
    pub idle_timeout: Duration,
    /// Lease of NFSv4 clients: a client that is silent for longer loses its opens and locks. A delegation that is
    /// recalled and not returned within it is revoked.
    pub lease: Duration,
    /// File that keeps the secret of the file handles and the names of NFSv4 clients, so that both survive a restart
    /// over a volume that does. It is created if it does not exist, and no other server may use it.
    pub state: Option<PathBuf>,
    /// Where other front ends of the volume report their changes, so that delegations of NFSv4 clients are recalled.
    pub changes: ChangeReports,
    /// Memory for the state of NFSv4 clients.
    pub budget: StateBudget,
    /// Receives refused connections.
    pub log: EventLog,
    /// Threads that serve connections; at least 1.
    pub threads: usize,
    /// Threads that wait for a volume that blocks; at least 1. A volume that never blocks needs none.
    pub workers: usize,
}

impl Default for NfsServerOptions {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            export: "/export".to_owned(),
            expose: false,
            keys: None,
            tls: None,
            udp: false,
            max_transfer: 1 << 20,
            max_connections: 20_000,
            max_in_flight: 256,
            io_timeout: Duration::from_secs(60),
            first_call_timeout: LOGIN_TIMEOUT,
            idle_timeout: IDLE_TIMEOUT,
            lease: Duration::from_secs(60),
            state: None,
            changes: ChangeReports::default(),
            budget: StateBudget::default(),
            log: EventLog::default(),
            threads: cores.min(8),
            workers: 64,
        }
    }
}

impl NfsServerOptions {
    pub(super) fn check(&self) -> Result<(), ServeError> {
        let wrong = |detail: String| Err(ServeError::Options { protocol: PROTOCOL, detail });
        let names_fit = self.export.split('/').skip(1).all(|name| crate::check_name(name).is_ok());
        if !self.export.starts_with('/') || !names_fit && self.export != "/" {
            return wrong(format!("'{}' is not an export path such as /export", self.export));
        }
        if !(4 << 10..=1 << 20).contains(&self.max_transfer) {
            return wrong(format!("a largest transfer of {} bytes is not 4 KiB to 1 MiB", self.max_transfer));
        }
        if self.udp && self.keys.is_some() {
            return wrong("UDP has no Kerberos here; leave out --nfs-udp or the keytab".to_owned());
        }
        if self.udp && self.tls.as_ref().is_some_and(|tls| tls.required) {
            return wrong("UDP has no TLS; leave out --nfs-udp or tls_required".to_owned());
        }
        if !(Duration::from_secs(1)..=Duration::from_secs(3600)).contains(&self.lease) {
            return wrong(format!("a lease of {:?} is not 1 s to 1 h", self.lease));
        }
        Ok(())
    }
}
