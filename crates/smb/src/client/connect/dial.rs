//! The TCP connection to a server.

use std::net::{IpAddr, SocketAddr};

use sharebench_client_core::{DialError, TcpRoute, connect_error, connect_first, resolve};
use sharebench_model::{ErrorClass, OpError};
use sharebench_target::UrlPart;
use tokio::net::TcpStream;

/// Connects to the first address of a host that accepts.
pub(crate) async fn dial(host: &str, port: u16, tcp: &TcpRoute) -> Result<TcpStream, DialError> {
    Ok(dial_first(&resolve(host).await?, port, tcp).await?.0)
}

/// Connects to the first of a host's addresses that accepts, and returns that address too.
pub(crate) async fn dial_first(
    addresses: &[IpAddr],
    port: u16,
    tcp: &TcpRoute,
) -> Result<(TcpStream, IpAddr), DialError> {
    connect_first(addresses, |address| connect(SocketAddr::new(address, port), tcp)).await
}

async fn connect(address: SocketAddr, tcp: &TcpRoute) -> Result<(TcpStream, IpAddr), DialError> {
    let failed = |error| connect_error(address, &error, UrlPart::Port, UrlPart::Host);
    Ok((tcp.connect(address).await.map_err(failed)?, address.ip()))
}

/// Attributes a request's failure to a part of the URL.
pub(crate) fn blame(part: UrlPart) -> impl Fn(OpError) -> DialError {
    move |error| {
        // A server that disconnects or breaks the protocol is no SMB server, whatever the request was.
        let part = match error.class {
            ErrorClass::Disconnected | ErrorClass::Protocol => UrlPart::Port,
            _ => part,
        };
        DialError::blame(part)(error)
    }
}
