//! A web server at the port of a file server, for tests.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Starts a server that answers whatever it reads as a web server does. It ends with the runtime.
///
/// # Errors
/// No port is free.
pub async fn web_server() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut some = [0; 16];
                let _ = stream.read(&mut some).await;
                let _ = stream.write_all(b"HTTP/1.0 400 Bad Request\r\n\r\n").await;
                // A stream that is closed with unread bytes may lose what was sent.
                while stream.read(&mut some).await.is_ok_and(|count| count > 0) {}
            });
        }
    });
    Ok(address)
}
