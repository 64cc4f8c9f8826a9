//! What carries the records of a connection: a stream over TCP, or datagrams over UDP.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use sharebench_tls::{Stream, TlsStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::client::rpc::datagrams::Datagrams;

/// The carrier of a connection. Both kinds are read and written as a stream of records with fragment headers.
#[derive(Debug)]
pub(crate) enum Link {
    /// TCP, with TLS or without.
    Stream(Stream),
    /// UDP.
    Datagrams(Box<Datagrams>),
}

impl Link {
    /// The socket of a TCP connection.
    pub(crate) fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Self::Stream(stream) => Some(stream.tcp()),
            Self::Datagrams(_) => None,
        }
    }

    /// Address of this end.
    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Stream(stream) => stream.tcp().local_addr().ok(),
            Self::Datagrams(datagrams) => datagrams.local_addr(),
        }
    }

    /// The connection under TLS; none without TLS.
    pub(crate) fn tls(&self) -> Option<&TlsStream> {
        match self {
            Self::Stream(stream) => stream.tls(),
            Self::Datagrams(_) => None,
        }
    }

    /// Bytes that crossed the wire in both directions, if these are not the bytes of the stream.
    pub(crate) fn wire(&self) -> Option<(u64, u64)> {
        match self {
            Self::Stream(stream) => stream.tls_wire(),
            Self::Datagrams(datagrams) => {
                let counts = datagrams.counts();
                Some((counts.sent, counts.received))
            }
        }
    }

    /// The xids of the calls that were sent again since the last time, once for each time.
    pub(crate) fn take_resent(&mut self) -> Vec<u32> {
        match self {
            Self::Stream(_) => Vec::new(),
            Self::Datagrams(datagrams) => datagrams.take_resent(),
        }
    }
}

impl AsyncRead for Link {
    /// Over UDP, it also sends again what is due.
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Stream(stream) => Pin::new(stream).poll_read(cx, space),
            Self::Datagrams(datagrams) => {
                datagrams.poll_progress(cx)?;
                Pin::new(&mut **datagrams).poll_read(cx, space)
            }
        }
    }
}

impl AsyncWrite for Link {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Stream(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Datagrams(datagrams) => Pin::new(&mut **datagrams).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Stream(stream) => Pin::new(stream).poll_flush(cx),
            Self::Datagrams(datagrams) => Pin::new(&mut **datagrams).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Stream(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Datagrams(datagrams) => Pin::new(&mut **datagrams).poll_shutdown(cx),
        }
    }
}
