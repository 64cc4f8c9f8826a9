//! Finds out which protocol a server speaks, by the greetings of several.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::PeerProtocol;

/// Bytes of a reply that are read.
const MAX_REPLY: usize = 16;

/// A complete request that every HTTP server answers.
const HTTP_OPTIONS: &[u8] = b"OPTIONS * HTTP/1.0\r\n\r\n";

/// A NULL call of NFS version 3: every ONC RPC server answers it, if only with an error (RFC 5531, 9).
const RPC_NULL: &[u8] = b"\x80\0\0\x28shbp\0\0\0\0\0\0\0\x02\0\x01\x86\xa3\0\0\0\x03\0\0\0\0\
                          \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

/// The negotiation of SMB1 with the dialects `NT LM 0.12`, `SMB 2.002` and `SMB 2.???` (MS-CIFS 2.2.4.52, MS-SMB2
/// 3.2.4.2.1). A server with any dialect of SMB 2 or 3 answers in SMB 2, one without it in SMB1.
const SMB_NEGOTIATE: &[u8] = b"\0\0\0\x45\xffSMB\x72\0\0\0\0\x18\x53\xc8\
                               \0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xfe\0\0\0\0\
                               \0\x22\0\x02NT LM 0.12\0\x02SMB 2.002\0\x02SMB 2.???\0";

/// The creation of an NCP connection over TCP (docs/protocols/ncp.md 1.4, 1.5). The server frees the connection when the
/// stream closes.
const NCP_CREATE: &[u8] = b"DmdT\0\0\0\x17\0\0\0\x01\0\x01\0\0\x11\x11\0\xff\x01\xff\0";

/// Finds out which protocol the server at an address speaks; none if it answers no greeting within `limit`, or in an
/// unknown protocol. Each greeting has a connection of its own, because a server may close one after bytes that it does not
/// understand.
pub async fn identify_peer(address: SocketAddr, limit: Duration) -> Option<PeerProtocol> {
    type Attempt<'a> = Pin<Box<dyn Future<Output = Option<PeerProtocol>> + 'a>>;
    let greetings = [HTTP_OPTIONS, RPC_NULL, SMB_NEGOTIATE, NCP_CREATE];
    let mut attempts: Vec<Attempt<'_>> =
        greetings.into_iter().map(|greeting| Box::pin(greet(address, greeting)) as Attempt<'_>).collect();
    let first = poll_fn(|cx| {
        let mut index = 0;
        while let Some(attempt) = attempts.get_mut(index) {
            match attempt.as_mut().poll(cx) {
                Poll::Ready(Some(found)) => return Poll::Ready(Some(found)),
                Poll::Ready(None) => drop(attempts.swap_remove(index)),
                Poll::Pending => index += 1,
            }
        }
        if attempts.is_empty() { Poll::Ready(None) } else { Poll::Pending }
    });
    tokio::time::timeout(limit, first).await.unwrap_or(None)
}

/// Sends one greeting, and recognises the reply.
async fn greet(address: SocketAddr, greeting: &[u8]) -> Option<PeerProtocol> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    // A server that speaks first may have closed its receiving side; its own greeting is still readable.
    let _ = stream.write_all(greeting).await;
    let mut reply = [0; MAX_REPLY];
    let mut filled = 0;
    loop {
        let count = stream.read(&mut reply[filled..]).await.ok()?;
        filled += count;
        let found = PeerProtocol::of_bytes(&reply[..filled]);
        if found.is_some() || count == 0 || filled == reply.len() {
            return found;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    /// Runs a server that answers a connection that begins with `greeting`, and closes the others without a reply.
    async fn serve(greeting: &'static [u8], reply: &'static [u8]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut request = vec![0; greeting.len()];
                    if stream.read_exact(&mut request).await.is_ok() && request == greeting {
                        stream.write_all(reply).await.unwrap();
                    }
                });
            }
        });
        address
    }

    #[test]
    fn greetings_have_the_lengths_that_they_state() {
        let stated =
            |bytes: &[u8], at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!(stated(RPC_NULL, 0), 0x8000_0000 + RPC_NULL.len() - 4);
        assert_eq!(stated(SMB_NEGOTIATE, 0), SMB_NEGOTIATE.len() - 4);
        assert_eq!(stated(NCP_CREATE, 4), NCP_CREATE.len());
    }

    #[tokio::test]
    async fn a_server_is_recognised_by_the_greeting_that_it_answers() {
        for (greeting, reply, protocol) in [
            (HTTP_OPTIONS, &b"HTTP/1.0 501 Unsupported\r\n"[..], PeerProtocol::Http),
            (RPC_NULL, b"\x80\0\0\x18shbp\0\0\0\x01\0\0\0\0", PeerProtocol::OncRpc),
            (SMB_NEGOTIATE, b"\0\0\0\xf0\xfeSMB\x40\0\0\0", PeerProtocol::Smb),
            (NCP_CREATE, b"tNcP\0\0\0\x10\x33\x33", PeerProtocol::Ncp),
        ] {
            let address = serve(greeting, reply).await;
            assert_eq!(identify_peer(address, LIMIT).await, Some(protocol));
        }
    }

    #[tokio::test]
    async fn a_server_that_closes_every_connection_is_not_recognised() {
        let address = serve(b"?", b"").await;
        assert_eq!(identify_peer(address, LIMIT).await, None);
    }

    #[tokio::test]
    async fn a_silent_server_is_not_awaited_beyond_the_limit() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(identify_peer(address, Duration::from_millis(50)).await, None);
    }
}
