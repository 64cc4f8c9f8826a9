//! How a client reaches its server over TCP.

use std::io;
use std::net::SocketAddr;

use sharebench_model::TargetFacts;
use sharebench_relay::SimulatedDistance;
use sharebench_target::{TargetUrl, UrlError};
use tokio::net::TcpStream;

/// The options of a URL that every protocol over TCP has, and the connections that they describe.
#[derive(Debug, Clone, Default)]
pub struct TcpRoute {
    /// The simulated distance.
    pub far: SimulatedDistance,
}

impl TcpRoute {
    /// Takes the options from a URL.
    ///
    /// # Errors
    /// Names the option and its value.
    pub fn take(url: &mut TargetUrl) -> Result<Self, UrlError> {
        let far = SimulatedDistance::new(url.take("far").as_deref())
            .map_err(|error| url.error(error.to_string()))?;
        Ok(Self { far })
    }

    /// The first option that datagrams do not have, and the reason; none if all of them have their defaults.
    pub fn without_datagrams(&self) -> Option<(&'static str, &'static str)> {
        self.far.is_simulated().then_some(("far", "its relay forwards no datagrams"))
    }

    /// Adds the facts that state the options.
    pub fn add_facts(&self, facts: &mut TargetFacts) {
        self.far.add_fact(facts);
    }

    /// Connects to an address.
    ///
    /// # Errors
    /// The error of the system, or of the relay that simulates the distance.
    pub async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        self.prepared(self.far.connect(address).await?)
    }

    /// A connection, which may have been opened without the route, with the options of its socket.
    ///
    /// # Errors
    /// The error of the system.
    pub fn prepared(&self, stream: TcpStream) -> io::Result<TcpStream> {
        // Requests are small and each one is awaited: Nagle's algorithm would delay them.
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}
