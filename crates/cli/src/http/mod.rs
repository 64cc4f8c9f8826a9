//! The HTTP listener of the results pages, of the dashboard and of the metrics of a run.

pub mod access;
mod hosts;

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

pub use hosts::Hosts;

/// Connections at a time. One more closes the oldest one that has not sent its request yet.
const MAX_CONNECTIONS: usize = 128;
/// Bytes of a request line with all headers, the smallest limit that hyper allows.
const MAX_REQUEST_BYTES: usize = 8 << 10;
/// Longest time from connecting to the end of the headers.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time for a whole connection: a slow reader must not hold it longer.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest wait for the thread when the listener is dropped. A run must end, whatever its clients do.
const MAX_SHUTDOWN: Duration = Duration::from_secs(2);
/// Pause after a failed accept, for example when no file descriptor is free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A listener with its thread.
///
/// It owns one thread with a single-threaded runtime, so that HTTP clients never share a thread with the engine. A
/// connection carries one request of bounded size and ends after a bounded time. Clients that connect and send nothing,
/// or a byte now and then, keep nobody out: at the limit, the oldest connection without a complete request is closed for
/// the next one. The listener starts before [`Listener::start`] returns, so an address that is in use is an error there. When it is dropped, it closes all
/// connections and waits a short time for a page that is being made.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    /// Number of open connections.
    open: Arc<AtomicUsize>,
    /// Dropping it ends the thread.
    shutdown: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Listens at an address and answers with the routes; `name` is the name of the thread.
    pub fn start(name: &str, address: SocketAddr, routes: Router) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (shutdown, ended) = oneshot::channel();
        let open = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&open);
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            // Only a listener that the runtime cannot poll fails here; then there is nothing to serve.
            let _ = runtime.block_on(serve(listener, routes, ended, &counted));
        })?;
        Ok(Self { address, open, shutdown: Some(shutdown), thread: Some(thread) })
    }

    /// The address, with the port that the system chose for port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Number of open connections. At 0, all answers have been written.
    pub fn open_connections(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    /// Serves until the process ends.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        drop(self.shutdown.take());
        let end = Instant::now() + MAX_SHUTDOWN;
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The open connections, oldest first.
#[derive(Debug, Default)]
struct Connections(VecDeque<OpenConnection>);

#[derive(Debug)]
struct OpenConnection {
    task: AbortHandle,
    /// True once the request has arrived completely.
    has_request: Arc<AtomicBool>,
}

impl Connections {
    /// Makes room for a connection at the limit: closes the oldest one without a request, or else the oldest one.
    fn evict_at_limit(&mut self) {
        self.0.retain(|connection| !connection.task.is_finished());
        if self.0.len() >= MAX_CONNECTIONS {
            let waits = |connection: &OpenConnection| !connection.has_request.load(Ordering::Relaxed);
            let oldest = self.0.iter().position(waits).unwrap_or(0);
            if let Some(closed) = self.0.remove(oldest) {
                closed.task.abort();
            }
        }
    }

    fn add(&mut self, task: AbortHandle, has_request: Arc<AtomicBool>) {
        self.0.push_back(OpenConnection { task, has_request });
    }
}

/// Counts a connection as open until it is dropped.
struct OpenCount(Arc<AtomicUsize>);

impl OpenCount {
    fn new(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(open))
    }
}

impl Drop for OpenCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn serve(
    listener: TcpListener,
    routes: Router,
    ended: oneshot::Receiver<()>,
    open: &Arc<AtomicUsize>,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut connections = Connections::default();
    let mut ended = std::pin::pin!(ended);
    loop {
        let accepted = tokio::select! {
            _ = &mut ended => return Ok(()),
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Also when no descriptor is free: a connection that is closed here frees one.
            connections.evict_at_limit();
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        connections.evict_at_limit();
        let has_request = Arc::new(AtomicBool::new(false));
        let answered = answer(stream, routes.clone(), Arc::clone(&has_request));
        let count = OpenCount::new(open);
        let task = tokio::spawn(async move {
            answered.await;
            drop(count);
        });
        connections.add(task.abort_handle(), has_request);
    }
}

/// Answers one request.
fn answer(stream: TcpStream, routes: Router, has_request: Arc<AtomicBool>) -> impl Future<Output = ()> {
    let routes = TowerToHyperService::new(routes);
    let service = service_fn(move |request| {
        has_request.store(true, Ordering::Relaxed);
        routes.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .max_buf_size(MAX_REQUEST_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    async move {
        // A client that disconnects or is too slow gets no answer.
        let _ = timeout(CONNECTION_TIMEOUT, connection).await;
    }
}

#[cfg(test)]
pub mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use axum::routing::get;

    use super::*;

    /// Sends bytes to an address and returns the answer.
    pub fn exchange(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        // The server may close the connection before it has read everything.
        let _ = stream.write_all(request.as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn listener() -> Listener {
        let routes = Router::new().route("/", get(|| async { "page" }));
        Listener::start("test", SocketAddr::from(([127, 0, 0, 1], 0)), routes).unwrap()
    }

    #[test]
    fn listener_answers_one_request_per_connection() {
        let listener = listener();
        let request = "GET / HTTP/1.1\r\nHost: lab\r\n\r\n";
        let answer = exchange(listener.address(), &request.repeat(2));
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("page"), "{answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
        assert!(exchange(listener.address(), "HEAD / HTTP/1.1\r\nHost: lab\r\n\r\n").ends_with("\r\n\r\n"));
    }

    #[test]
    fn listener_rejects_malformed_and_oversized_requests() {
        let at = listener().address;
        let listener = listener();
        assert!(TcpStream::connect(at).is_err(), "a dropped listener accepts nothing");
        let at = listener.address();
        let status = |request: &str| exchange(at, request).split(' ').nth(1).unwrap_or_default().to_owned();
        assert_eq!(status("GET /a b HTTP/1.1\r\nHost: lab\r\n\r\n"), "400");
        assert_eq!(status("\u{0}\u{1}\u{2}\r\n\r\n"), "400");
        let long = format!("GET / HTTP/1.1\r\nHost: lab\r\nX: {}", "a".repeat(MAX_REQUEST_BYTES));
        assert!(["431", "414", "400"].contains(&status(&long).as_str()), "too long");
    }
    #[test]
    fn slow_connections_do_not_keep_the_next_client_out() {
        let listener = listener();
        let mut slow: Vec<TcpStream> = (0..MAX_CONNECTIONS)
            .map(|_| {
                let mut stream = TcpStream::connect(listener.address()).unwrap();
                stream.write_all(b"GET / HTTP/1.1\r\nX: ").unwrap();
                stream
            })
            .collect();
        for _ in 0..3 {
            let answer = exchange(listener.address(), "GET / HTTP/1.1\r\nHost: lab\r\n\r\n");
            assert!(answer.ends_with("page"), "{answer}");
        }
        // The oldest was closed at once, or at the latest after REQUEST_TIMEOUT.
        let closed = slow[0].read(&mut [0; 64]).map_or(true, |count| count == 0);
        assert!(closed);
    }
}
