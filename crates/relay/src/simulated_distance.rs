//! Clients that dial over a simulated distance.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use sharebench_model::{Fact, TargetFacts};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::distance::{Distance, DistanceError};
use crate::greeting::Greeting;
use crate::relay::Relay;

/// Connects directly, or over a simulated distance.
///
/// Each address that a client dials gets a relay on loopback, which lives as long as the last clone. The client's
/// connection to it takes one round trip, as a handshake over the distance would, and it fails as the connection of the
/// relay to the address fails, so that errors name the same cause with and without a distance.
#[derive(Debug, Clone, Default)]
pub struct SimulatedDistance(Option<Arc<Relays>>);

#[derive(Debug)]
struct Relays {
    distance: Distance,
    by_address: Mutex<HashMap<SocketAddr, Relay>>,
}

impl SimulatedDistance {
    /// Reads the value of the option `far=` of a URL; none connects directly, and so does `0`.
    ///
    /// # Errors
    /// The text is no distance.
    pub fn new(text: Option<&str>) -> Result<Self, DistanceError> {
        let distance = text.map(str::parse::<Distance>).transpose()?.filter(|distance| !distance.is_none());
        Ok(Self(distance.map(|distance| Arc::new(Relays { distance, by_address: Mutex::default() }))))
    }

    /// True if a distance is simulated.
    pub fn is_simulated(&self) -> bool {
        self.0.is_some()
    }

    /// Adds the fact that states the distance, if one is simulated.
    pub fn add_fact(&self, facts: &mut TargetFacts) {
        if let Some(relays) = &self.0 {
            facts.state(Fact::SimulatedDistance, relays.distance.fact());
        }
    }

    /// File descriptors of the relay for each connection.
    pub fn descriptors(&self) -> u32 {
        if self.is_simulated() { 2 } else { 0 }
    }

    /// Connects to an address.
    ///
    /// # Errors
    /// The error of the connection to the address itself, or of the relay.
    pub async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let Some(relays) = &self.0 else { return TcpStream::connect(address).await };
        let mut stream = TcpStream::connect(relays.relay_to(address)?).await?;
        match stream.read_i32().await? {
            0 => Ok(stream),
            number => Err(io::Error::from_raw_os_error(number)),
        }
    }
}

impl Relays {
    /// The address of the relay to an address, which is started by the first connection.
    fn relay_to(&self, address: SocketAddr) -> io::Result<SocketAddr> {
        let mut relays = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(relay) = relays.get(&address) {
            return Ok(relay.address());
        }
        let listen = (Ipv4Addr::LOCALHOST, 0).into();
        let relay = Relay::start(listen, address, self.distance, Greeting::ErrorNumber)?;
        Ok(relays.entry(address).or_insert(relay).address())
    }
}
