//! How a client reaches its server over TCP.

use std::io;
use std::net::SocketAddr;

use sharebench_model::{Fact, TargetFacts};
use sharebench_relay::SimulatedDistance;
use sharebench_target::{TargetUrl, UrlError};
use tokio::net::TcpStream;

/// The options of a URL that every protocol over TCP has, and the connections that they describe.
#[derive(Debug, Clone, Default)]
pub struct TcpRoute {
    /// The simulated distance.
    pub far: SimulatedDistance,
    /// Requests are sent at once (`TCP_NODELAY`), as the URL states it.
    nodelay: Option<bool>,
}

impl TcpRoute {
    /// Takes the options from a URL.
    ///
    /// # Errors
    /// Names the option and its value.
    pub fn take(url: &mut TargetUrl) -> Result<Self, UrlError> {
        let far = SimulatedDistance::new(url.take("far").as_deref())
            .map_err(|error| url.error(error.to_string()))?;
        let nodelay = url.take_switch("nodelay")?;
        if nodelay == Some(false) && far.is_simulated() {
            // The relay runs on this machine, so that an acknowledgment takes no round trip.
            return Err(url.error("nodelay=off: the relay of far= acknowledges at once; use one of the two"));
        }
        Ok(Self { far, nodelay })
    }

    /// The first option that datagrams do not have, and the reason; none if all of them have their defaults.
    pub fn without_datagrams(&self) -> Option<(&'static str, &'static str)> {
        match self {
            Self { far, .. } if far.is_simulated() => Some(("far", "its relay forwards no datagrams")),
            Self { nodelay: Some(_), .. } => Some(("nodelay", "datagrams are not held back")),
            Self { nodelay: None, .. } => None,
        }
    }

    /// Adds the facts that state the options.
    pub fn add_facts(&self, facts: &mut TargetFacts) {
        self.far.add_fact(facts);
        if let Some(nodelay) = self.nodelay {
            facts.state(Fact::Nodelay, if nodelay { "on" } else { "off" });
        }
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
        stream.set_nodelay(self.nodelay.unwrap_or(true))?;
        Ok(stream)
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    fn route(query: &str) -> Result<TcpRoute, UrlError> {
        TcpRoute::take(&mut TargetUrl::parse(&format!("nfs://nas/x{query}")).unwrap())
    }

    #[tokio::test]
    async fn connections_have_the_option_of_the_url() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        for (query, is_set, stated) in
            [("", true, None), ("?nodelay=on", true, Some("on")), ("?nodelay=off", false, Some("off"))]
        {
            let route = route(query).unwrap();
            let stream = route.connect(listener.local_addr().unwrap()).await.unwrap();
            let mut facts = TargetFacts::default();
            route.add_facts(&mut facts);
            assert_eq!((stream.nodelay().unwrap(), facts.get(Fact::Nodelay)), (is_set, stated), "{query}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (query, word) in [
            ("?nodelay=yes", "nodelay=yes: the choices are on and off"),
            ("?nodelay=off&far=20ms", "use one of the two"),
            ("?far=20", "'20' is not a distance"),
        ] {
            let error = route(query).unwrap_err().to_string();
            assert!(error.contains(word), "{query}: {error}");
        }
        assert_eq!(route("?nodelay=on&far=20ms").unwrap().without_datagrams().unwrap().0, "far");
        assert_eq!(route("?nodelay=on").unwrap().without_datagrams().unwrap().0, "nodelay");
    }
}
