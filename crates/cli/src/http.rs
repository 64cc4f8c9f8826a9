//! The HTTP listener of the results pages and of the metrics of a run.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{sleep, timeout};

/// Connections at a time; further connections are closed.
const MAX_CONNECTIONS: usize = 16;
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
/// connection carries one request of bounded size and ends after a bounded time. The listener starts before
/// [`Listener::start`] returns, so an address that is in use is an error there. When it is dropped, it closes all
/// connections and waits a short time for a page that is being made.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
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
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            // Only a listener that the runtime cannot poll fails here; then there is nothing to serve.
            let _ = runtime.block_on(serve(listener, routes, ended));
        })?;
        Ok(Self { address, shutdown: Some(shutdown), thread: Some(thread) })
    }

    /// The address, with the port that the system chose for port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
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

async fn serve(listener: TcpListener, routes: Router, ended: oneshot::Receiver<()>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut ended = std::pin::pin!(ended);
    loop {
        let accepted = tokio::select! {
            _ = &mut ended => return Ok(()),
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
            tokio::spawn(answer(stream, routes.clone(), permit));
        }
    }
}

/// Answers one request.
fn answer(stream: TcpStream, routes: Router, permit: OwnedSemaphorePermit) -> impl Future<Output = ()> {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .max_buf_size(MAX_REQUEST_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    async move {
        // A client that disconnects or is too slow gets no answer.
        let _ = timeout(CONNECTION_TIMEOUT, connection).await;
        drop(permit);
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
}
