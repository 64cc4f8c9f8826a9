//! The connections over TCP: one task each, without buffers of their own while idle.

use std::cell::RefCell;
use std::io::{self, ErrorKind, IoSlice};
use std::sync::Arc;
use std::time::Duration;

use sharebench_ncp::server::Peer;
use sharebench_ncp::wire::TransportKind;
use sharebench_ncp::wire::tcp::{Direction, MAX_MESSAGE, message_len};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::front_ends::admission::Admission;
use crate::front_ends::sockets::send_within;
use crate::ncp::state::ServerState;

/// Streams that may be open in addition to the connections, so that further clients receive a refusal.
pub(super) const SPARE_STREAMS: usize = 64;

thread_local! {
    /// Input and output buffers, shared by all connections of a thread.
    static SCRATCH: RefCell<(Vec<u8>, Vec<u8>)> = RefCell::new((vec![0; MAX_MESSAGE], Vec::new()));
}

/// Serves a connection until its peer closes it or breaks the protocol.
pub(super) async fn serve(stream: TcpStream, state: Arc<ServerState>, admission: Admission) {
    let peer = Peer::AddressedStream(admission.number(), admission.address());
    let connection = StreamConnection { peer, state, admission };
    if let Err(error) = connection.serve(stream).await {
        tracing::debug!(%error, "NCP connection ended");
    }
}

/// An open TCP stream; dropping it ends its NCP connection.
struct StreamConnection {
    peer: Peer,
    state: Arc<ServerState>,
    admission: Admission,
}

impl Drop for StreamConnection {
    fn drop(&mut self) {
        self.state.server.disconnect(self.peer);
    }
}

impl StreamConnection {
    async fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let patience = self.state.patience;
        let mut partial = Vec::new();
        let mut begun = None;
        loop {
            if partial.is_empty() {
                begun = None;
                self.readable(&stream).await?;
            } else {
                // A partial message is read exactly to its end, so the deadline covers this message only.
                let begun = *begun.get_or_insert_with(Instant::now);
                let late =
                    |_| io::Error::new(ErrorKind::TimedOut, "the message did not arrive completely in time");
                timeout_at(begun + patience, self.readable(&stream)).await.map_err(late)??;
            }
            let unsent = match self.receive(&stream, &mut partial) {
                Ok(Received::Closed) => return Ok(()),
                Ok(Received::Answered(unsent)) => unsent,
                Ok(Received::Messages(messages)) => self.answer_elsewhere(messages).await?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error),
            };
            self.note_request();
            send(&stream, &unsent, patience).await?;
        }
    }

    fn note_request(&self) {
        self.admission.note_request();
        if !self.admission.is_established() && self.state.server.is_logged_in(self.peer) {
            self.admission.establish();
        }
    }

    /// Waits until the stream is readable; meanwhile completes a request that waits for a lock.
    async fn readable(&self, stream: &TcpStream) -> io::Result<()> {
        if self.state.server.waiting() > 0 {
            tokio::select! {
                ready = stream.readable() => return ready,
                answer = self.state.waited(self.peer) => send(stream, &answer, self.state.patience).await?,
            }
        }
        stream.readable().await
    }

    /// Reads what has arrived and answers the complete messages.
    fn receive(&self, stream: &TcpStream, partial: &mut Vec<u8>) -> io::Result<Received> {
        SCRATCH.with_borrow_mut(|(input, out)| {
            out.clear();
            let came = if partial.is_empty() {
                let len = stream.try_read(input)?;
                &input[..len]
            } else {
                // Reads no more than the rest of the message.
                let start = partial.len();
                let rest = rest_of(partial)?;
                partial.resize(start + rest, 0);
                let read = stream.try_read(&mut partial[start..]);
                partial.truncate(start + *read.as_ref().unwrap_or(&0));
                if read? == 0 { &[][..] } else { &partial[..] }
            };
            if came.is_empty() {
                return Ok(Received::Closed);
            }
            let whole = whole_messages(came)?;
            if whole == 0 && !partial.is_empty() {
                return Ok(Received::Answered(Vec::new()));
            }
            let (messages, rest) = came.split_at(whole);
            let received = if self.state.blocks && whole > 0 {
                Received::Messages(messages.to_vec())
            } else {
                answer(&self.state, self.peer, messages, out)?;
                Received::Answered(Vec::new())
            };
            let rest = rest.to_vec();
            *partial = rest;
            let sent = if out.is_empty() { 0 } else { try_write(stream, out)? };
            Ok(if sent < out.len() { Received::Answered(out[sent..].to_vec()) } else { received })
        })
    }

    /// Answers messages on a thread that may block.
    async fn answer_elsewhere(&self, messages: Vec<u8>) -> io::Result<Vec<u8>> {
        let state = Arc::clone(&self.state);
        let peer = self.peer;
        let answered = tokio::task::spawn_blocking(move || {
            let mut out = Vec::new();
            answer(&state, peer, &messages, &mut out).map(|()| out)
        });
        answered.await.map_err(io::Error::other)?
    }
}

/// The result of reading from the stream.
enum Received {
    /// The client has closed the stream.
    Closed,
    /// Messages were answered; these bytes could not be sent yet.
    Answered(Vec<u8>),
    /// Complete messages that must be answered on another thread.
    Messages(Vec<u8>),
}

fn garbage(error: sharebench_ncp::wire::WireError) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}

/// Length of the complete messages at the front.
fn whole_messages(input: &[u8]) -> io::Result<usize> {
    let mut whole = 0;
    while let Some(len) = message_len(Direction::Request, &input[whole..]).map_err(garbage)? {
        if len > input.len() - whole {
            break;
        }
        whole += len;
    }
    Ok(whole)
}

/// Bytes missing from the message, or from the header that contains its length.
fn rest_of(partial: &[u8]) -> io::Result<usize> {
    const HEAD: usize = 16;
    let len = message_len(Direction::Request, partial).map_err(garbage)?.unwrap_or(HEAD);
    Ok(len.saturating_sub(partial.len()).max(1))
}

/// Answers complete messages in order. Fails at one that cannot be answered, such as a wrongly signed one: nothing is lost
/// or repeated on a stream, so the two sides would be out of step for good.
fn answer(state: &ServerState, peer: Peer, messages: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let mut rest = messages;
    while let Some(len) = message_len(Direction::Request, rest).map_err(garbage)? {
        let Some((message, after)) = rest.split_at_checked(len) else { break };
        let before = out.len();
        state.server.receive(peer, TransportKind::Tcp, message, out);
        if out.len() == before && !state.server.is_waiting(peer) {
            let why = "a request that has no answer: its sequence number or signature is wrong";
            return Err(io::Error::new(ErrorKind::InvalidData, why));
        }
        rest = after;
    }
    Ok(())
}

fn try_write(stream: &TcpStream, out: &[u8]) -> io::Result<usize> {
    match stream.try_write(out) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        written => written,
    }
}

async fn send(stream: &TcpStream, unsent: &[u8], patience: Duration) -> io::Result<()> {
    send_within(stream, &mut [IoSlice::new(unsent)], patience).await
}
