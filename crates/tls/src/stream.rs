//! A TLS connection.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::error::TlsError;
use crate::socket::Socket;

/// A connection whose bytes are encrypted, after the handshake.
///
/// It reads and writes like a socket. A write may leave encrypted bytes in memory, so that a sender flushes after its last
/// write. The end of the TCP connection is the end of the stream, also without the closing message of TLS: a record of RPC that
/// is cut is an error of its receiver anyway.
#[derive(Debug)]
pub struct TlsStream {
    stream: tokio_rustls::TlsStream<Socket>,
    host: String,
    /// Encrypted bytes may wait in memory.
    unflushed: bool,
}

impl TlsStream {
    pub(crate) fn new(stream: impl Into<tokio_rustls::TlsStream<Socket>>, host: &str) -> Self {
        // The handshake's last message may still wait.
        Self { stream: stream.into(), host: host.to_owned(), unflushed: true }
    }

    /// The socket under TLS, for its addresses and figures.
    pub fn tcp(&self) -> &TcpStream {
        &self.stream.get_ref().0.tcp
    }

    /// Bytes that were sent and received below TLS so far, the handshake included.
    pub fn wire(&self) -> (u64, u64) {
        let socket = self.stream.get_ref().0;
        (socket.sent, socket.received)
    }

    /// Name of the cipher suite, such as `TLS13_AES_256_GCM_SHA384`.
    pub fn cipher(&self) -> String {
        let suite = self.stream.get_ref().1.negotiated_cipher_suite();
        suite.map_or_else(String::new, |suite| format!("{:?}", suite.suite()))
    }

    /// Name of the protocol that both sides agreed on; none if the peer names none.
    pub fn protocol(&self) -> Option<String> {
        let protocol = self.stream.get_ref().1.alpn_protocol()?;
        Some(String::from_utf8_lossy(protocol).into_owned())
    }

    /// True if bytes wait that [`Self::poll_flush`](AsyncWrite::poll_flush) sends.
    pub fn is_unflushed(&self) -> bool {
        self.unflushed
    }

    /// Waits until bytes may have arrived. A record of TLS may turn out to be incomplete.
    pub async fn readable(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_readable(cx)).await
    }

    fn poll_readable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // An error of the library is the reader's to report.
        let (socket, is_decrypted) = match &mut self.stream {
            tokio_rustls::TlsStream::Client(stream) => {
                let (socket, library) = stream.get_mut();
                (
                    socket,
                    library.process_new_packets().map_or(true, |state| state.plaintext_bytes_to_read() > 0),
                )
            }
            tokio_rustls::TlsStream::Server(stream) => {
                let (socket, library) = stream.get_mut();
                (
                    socket,
                    library.process_new_packets().map_or(true, |state| state.plaintext_bytes_to_read() > 0),
                )
            }
        };
        if socket.is_ahead() || is_decrypted {
            return Poll::Ready(Ok(()));
        }
        socket.tcp.poll_read_ready(cx)
    }

    /// A failure in words, which the library's own error does not have.
    fn explained(&self, error: io::Error) -> io::Error {
        match TlsError::new(&error, &self.host) {
            TlsError::Cut | TlsError::Connection(_) => error,
            explained => io::Error::new(error.kind(), explained),
        }
    }
}

impl AsyncRead for TlsStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match ready!(Pin::new(&mut this.stream).poll_read(cx, space)) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(())),
            read => Poll::Ready(read.map_err(|error| this.explained(error))),
        }
    }
}

impl AsyncWrite for TlsStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.unflushed = true;
        Pin::new(&mut this.stream).poll_write(cx, bytes).map_err(|error| this.explained(error))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.unflushed = true;
        Pin::new(&mut this.stream).poll_write_vectored(cx, slices).map_err(|error| this.explained(error))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(Pin::new(&mut this.stream).poll_flush(cx)).map_err(|error| this.explained(error))?;
        this.unflushed = false;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
