//! Events of the crate `smb-server` that the operator of a server should know.
//!
//! The crate decides itself which connections it accepts and which logins it rejects, and has no interface for either. It
//! reports both through `tracing`, which this module receives on the threads of the server only.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::{Debug, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

use crate::front_end::EventLog;
use crate::refusal_log::RefusalLog;

/// Module that accepts connections, with its event of a connection above the limit and its span of a connection.
const ACCEPTING: &str = "smb_server::server";
const REFUSED: &str = "connection refused: limit reached";
const CONNECTION: &str = "conn";
/// Module of the logins, with its events of a failed and of a rejected login.
const LOGINS: &str = "smb_server::handlers::session_setup";
const FAILED: &str = "NTLM authenticate failed";
const LOCKED_OUT: &str = "logon refused: too many failed logons for this user name or address";

thread_local! {
    /// The spans that this thread is in, the innermost last.
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Receives the events of one server.
///
/// A connection is a span of `smb-server` with the client's address, so the address of a failed login is that of the span
/// that its thread is in. All other spans and events are disabled where they are created.
pub(super) struct ServerEvents {
    log: EventLog,
    refusals: Arc<RefusalLog>,
    next: AtomicU64,
    connections: Mutex<HashMap<u64, Connection>>,
}

#[derive(Debug)]
struct Connection {
    peer: String,
    handles: usize,
}

impl ServerEvents {
    pub(super) fn new(log: EventLog, refusals: Arc<RefusalLog>) -> Self {
        Self { log, refusals, next: AtomicU64::new(1), connections: Mutex::default() }
    }

    fn connections(&self) -> MutexGuard<'_, HashMap<u64, Connection>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Address of the client whose request this thread processes.
    fn peer(&self) -> String {
        let span = ENTERED.with_borrow(|entered| entered.last().copied());
        let known = self.connections();
        let connection = span.and_then(|span| known.get(&span));
        connection.map_or_else(|| "an unknown address".to_owned(), |connection| connection.peer.clone())
    }
}

/// The text of one field.
struct Text {
    name: &'static str,
    text: String,
}

impl Text {
    const fn of(name: &'static str) -> Self {
        Self { name, text: String::new() }
    }
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == self.name {
            // Writing to a String cannot fail.
            let _ = write!(self.text, "{value:?}");
        }
    }
}

impl Subscriber for ServerEvents {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        match metadata.target() {
            ACCEPTING if metadata.is_span() => metadata.name() == CONNECTION,
            ACCEPTING => *metadata.level() == Level::DEBUG,
            LOGINS => metadata.is_event() && *metadata.level() == Level::INFO,
            _ => false,
        }
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut peer = Text::of("peer");
        span.record(&mut peer);
        // Without the port, which differs between the connections of a client.
        let address = peer.text.parse::<SocketAddr>();
        let peer = address.map_or(peer.text, |address| address.ip().to_canonical().to_string());
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.connections().insert(number, Connection { peer, handles: 1 });
        Id::from_u64(number)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut message = Text::of("message");
        event.record(&mut message);
        match message.text.as_str() {
            REFUSED => self.refusals.note(),
            FAILED => self.log.write(&format!("smb: failed login from {}", self.peer())),
            LOCKED_OUT => {
                let peer = self.peer();
                self.log.write(&format!("smb: login from {peer} rejected: too many failed logins before it"));
            }
            _ => {}
        }
    }

    fn enter(&self, span: &Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(span.into_u64()));
    }

    fn exit(&self, span: &Id) {
        ENTERED.with_borrow_mut(|entered| {
            if let Some(at) = entered.iter().rposition(|entered| *entered == span.into_u64()) {
                entered.remove(at);
            }
        });
    }

    fn clone_span(&self, span: &Id) -> Id {
        if let Some(connection) = self.connections().get_mut(&span.into_u64()) {
            connection.handles += 1;
        }
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        let mut connections = self.connections();
        let Some(connection) = connections.get_mut(&span.into_u64()) else { return false };
        connection.handles -= 1;
        let closed = connection.handles == 0;
        if closed {
            connections.remove(&span.into_u64());
        }
        closed
    }
}
