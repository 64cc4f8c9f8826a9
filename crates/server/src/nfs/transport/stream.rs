//! How a connection begins, with TLS or without (RFC 9289), and how replies leave it.

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Duration;

use sharebench_nfs::protocol::{MOUNT_PROGRAM, NFS_PROGRAM};
use sharebench_nfs::record::{begin_record, end_record};
use sharebench_nfs::rpc::{AUTH_NONE, AUTH_TLS, Rejection, STARTTLS};
use sharebench_nfs::xdr::{Reader, Writer, XdrError};
use sharebench_tls::{ServerTls, Stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::front_ends::sockets::{late_client, send_within};
use crate::nfs::gss::{TOO_WEAK, call_words};
use crate::nfs::state::ServerState;
use crate::nfs::transport::frames::{Frame, Frames};
use crate::nfs::v4::Peer;

/// The call that requests TLS has no variable part: fragment header, xid, CALL, RPC version, program, version, NULL,
/// credential and verifier. No call is shorter.
const PROBE_BYTES: usize = 44;
/// Fragment header of a record of one fragment with this length.
const LAST_FRAGMENT: u32 = 0x8000_0000 | (PROBE_BYTES as u32 - 4);

/// Sends replies; an error if the client does not receive them in time.
pub(crate) async fn send(stream: &mut Stream, out: &mut Writer, io_timeout: Duration) -> io::Result<()> {
    match stream {
        Stream::Plain(tcp) => send_within(tcp, &mut [IoSlice::new(out.as_slice())], io_timeout).await?,
        Stream::Tls(_) if out.as_slice().is_empty() => {}
        Stream::Tls(tls) => {
            let sent = async {
                tls.write_all(out.as_slice()).await?;
                tls.flush().await
            };
            timeout(io_timeout, sent).await.map_err(|_| late_client())??;
        }
    }
    out.clear();
    Ok(())
}

/// Begins a connection: with TLS if the client requests it with its first call, otherwise with what it has sent. None if the
/// connection is over.
pub(crate) async fn open(
    tcp: TcpStream,
    state: &ServerState,
    peer: &Arc<Peer>,
) -> io::Result<Option<(Stream, Frames)>> {
    tcp.set_nodelay(true)?;
    let mut frames = Frames::new(Arc::clone(&state.counters.buffers));
    let Some(options) = &state.options.tls else { return Ok(Some((Stream::Plain(tcp), frames))) };
    let limit = state.options.first_call_timeout;
    let late = || io::Error::new(io::ErrorKind::TimedOut, "no call or no handshake in time");
    let (stream, head) = timeout(limit, negotiate(tcp, &options.tls)).await.map_err(|_| late())??;
    frames.prefill(&head);
    let mut stream = stream;
    if options.required && matches!(stream, Stream::Plain(_)) {
        deny(&mut stream, frames, state, peer).await?;
        return Ok(None);
    }
    Ok(Some((stream, frames)))
}

/// Reads the first bytes of a connection, and performs the handshake if they request it. Otherwise they belong to a call.
///
/// Whatever a client sends after the request belongs to the handshake, so that nobody on the way can add calls in plain text
/// that the server would perform within TLS.
async fn negotiate(mut tcp: TcpStream, tls: &ServerTls) -> io::Result<(Stream, Vec<u8>)> {
    let mut head = [0; PROBE_BYTES];
    tcp.read_exact(&mut head).await?;
    let Some(xid) = requests_tls(&head) else { return Ok((Stream::Plain(tcp), head.to_vec())) };
    let mut reply = Writer::default();
    let at = begin_record(&mut reply);
    // REPLY, MSG_ACCEPTED, the verifier, SUCCESS.
    reply.words(&[xid, 1, 0, AUTH_NONE]);
    reply.opaque(STARTTLS);
    reply.u32(0);
    end_record(&mut reply, at, 0);
    tcp.write_all(reply.as_slice()).await?;
    Ok((Stream::Tls(Box::new(tls.accept(tcp).await?)), Vec::new()))
}

/// The xid of a call that requests TLS (RFC 9289, 4.1).
fn requests_tls(head: &[u8; PROBE_BYTES]) -> Option<u32> {
    let mut reader = Reader::new(head);
    let mut words = [0; PROBE_BYTES / 4];
    for word in &mut words {
        *word = reader.u32().ok()?;
    }
    let [fragment, xid, kind, rpc, program, _, procedure, flavor, credential, verifier, body] = words;
    let fixed = [fragment, kind, rpc, procedure, flavor, credential, verifier, body];
    let is_probe = fixed == [LAST_FRAGMENT, 0, 2, 0, AUTH_TLS, 0, AUTH_NONE, 0];
    (is_probe && matches!(program, NFS_PROGRAM | MOUNT_PROGRAM)).then_some(xid)
}

/// Answers a client without TLS where the server requires it: NULL, and the denial of any other call, after which the
/// connection is closed.
async fn deny(
    stream: &mut Stream,
    mut frames: Frames,
    state: &ServerState,
    peer: &Arc<Peer>,
) -> io::Result<()> {
    let io_timeout = state.options.io_timeout;
    let garbage = |error: XdrError| io::Error::new(io::ErrorKind::InvalidData, error);
    loop {
        while let Some(frame) = frames.next()? {
            let record = match &frame {
                Frame::Buffered(range) => frames.bytes().get(range.clone()).unwrap_or_default(),
                Frame::Reassembled(record) => record,
            };
            let mut out = Writer::default();
            let [xid, .., procedure] = call_words(record).map_err(garbage)?;
            // NULL needs no protection.
            if procedure == 0 {
                state.answer_plain(peer, record, &mut out).map_err(garbage)?;
                send(stream, &mut out, io_timeout).await?;
                continue;
            }
            let at = begin_record(&mut out);
            Rejection::Auth(TOO_WEAK).put(&mut out, xid);
            end_record(&mut out, at, 0);
            return send(stream, &mut out, io_timeout).await;
        }
        if !frames.receive_within(stream, io_timeout).await? {
            return Ok(());
        }
    }
}
