//! `sharebench relay`: a relay that simulates a distance, until a signal.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use sharebench_model::units::{BitRate, counted, show_size};
use sharebench_relay::{Distance, Greeting, Relay, RelayCounters};

use crate::exit::Failure;
use crate::output::{line, message, print_out};
use crate::run::interrupts::Interrupts;

pub const RELAY_HELP: &str = "The relay delays each direction by half of --delay, keeps pipelined requests
pipelined, passes every byte on in order, and closes a side when the other side
closes. It does not simulate loss, congestion or competing traffic, and clients
connect to it without the delay. Commands that measure have it built in: --vary far=20ms.

Examples:
  sharebench relay 4450 nas:445 --delay 20ms
  sharebench relay 127.0.0.1:2050 nas:2049 --delay 5ms --rate 100Mbit";

#[derive(Debug, Args)]
pub struct RelayArgs {
    /// Address or port to listen at. A port alone is on loopback.
    #[arg(value_parser = listen_address)]
    pub listen: SocketAddr,
    /// Host and port of the server: host:port.
    #[arg(id = "server", value_name = "TARGET", value_parser = target_address)]
    pub target: String,
    /// Round-trip time to add.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = delay)]
    pub delay: Duration,
    /// Bit rate of each direction of each connection, such as 100Mbit [default: unlimited].
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub rate: Option<BitRate>,
}

/// Relays until a signal.
pub fn run(args: &RelayArgs) -> Result<ExitCode, Failure> {
    let distance = Distance { round_trip: args.delay, rate: args.rate };
    let target = resolve(&args.target)?;
    let interrupts = Interrupts::catch()?;
    let _serving = interrupts.serving();
    let limit = Relay::allowed_connections();
    let relay = Relay::start_limited(args.listen, target, distance, Greeting::None, limit)
        .map_err(|error| Failure::usage(format!("{}: {error}", args.listen)))?;
    print_out(&format!(
        "{} -> {} ({target}): {}\nrelaying; press Ctrl-C to end\n",
        relay.address(),
        args.target,
        distance.fact()
    ))?;
    if limit < Relay::MAX_CONNECTIONS {
        message(format_args!(
            "the file descriptors of this process allow {} at a time, not {}: further clients wait; raise the hard limit \
             (ulimit -Hn) for more",
            counted(limit as u64, "connection"),
            Relay::MAX_CONNECTIONS
        ));
    }
    if !relay.address().ip().is_loopback() {
        message(format_args!("{}: everybody who reaches this address reaches {target}", relay.address()));
    }
    interrupts.wait();
    line(summary(relay.counters()));
    Ok(ExitCode::SUCCESS)
}

fn summary(counters: RelayCounters) -> String {
    let failed = match counters.failed {
        0 => String::new(),
        failed => format!(", {failed} of them not accepted by the target"),
    };
    format!(
        "relayed {}{failed}: {} to the target, {} from it",
        counted(counters.connections, "connection"),
        show_size(counters.to_target),
        show_size(counters.to_clients),
    )
}

fn listen_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse() {
        return Ok((IpAddr::V4(Ipv4Addr::LOCALHOST), port).into());
    }
    text.parse().map_err(|_| "give a port, or an address with a port such as 127.0.0.1:4450".to_owned())
}

fn target_address(text: &str) -> Result<String, String> {
    let port =
        text.rsplit_once(':').filter(|(host, _)| !host.is_empty()).and_then(|(_, port)| port.parse().ok());
    match port {
        Some(1u16..) => Ok(text.to_owned()),
        _ => Err("give a host and a port such as nas:445".to_owned()),
    }
}

fn delay(text: &str) -> Result<Duration, String> {
    let distance: Distance = text.parse().map_err(|error| format!("{error}"))?;
    if distance.rate.is_some() {
        Err("give the rate with --rate".to_owned())
    } else {
        Ok(distance.round_trip)
    }
}

fn rate(text: &str) -> Result<BitRate, String> {
    let distance: Distance = format!("0/{text}").parse().map_err(|error| format!("{error}"))?;
    distance.rate.ok_or_else(|| "give a rate such as 100Mbit".to_owned())
}

/// The first address of the target.
fn resolve(target: &str) -> Result<SocketAddr, Failure> {
    let unknown = |error: String| Failure::usage(format!("{target}: {error}"));
    let mut addresses = target.to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    addresses.next().ok_or_else(|| unknown("the name has no address".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_alone_is_on_loopback() {
        assert_eq!(listen_address("4450").unwrap().to_string(), "127.0.0.1:4450");
        assert_eq!(listen_address("[::1]:0").unwrap().to_string(), "[::1]:0");
        assert!(listen_address("nas:1").is_err() && listen_address("70000").is_err());
    }

    #[test]
    fn target_has_a_host_and_a_port() {
        for wrong in ["nas", ":445", "nas:", "nas:0", "nas:99999"] {
            assert!(target_address(wrong).is_err(), "{wrong}");
        }
        assert_eq!(target_address("[::1]:445").unwrap(), "[::1]:445");
    }

    #[test]
    fn rates_and_delays_have_the_limits_of_a_distance() {
        assert_eq!(delay("20ms"), Ok(Duration::from_millis(20)));
        assert!(delay("20ms/1Gbit").is_err() && delay("1h").is_err());
        assert_eq!(rate("100Mbit"), Ok(BitRate(100_000_000)));
        assert!(rate("1bit").is_err() && rate("5ms").is_err());
    }

    #[test]
    fn summary_counts_connections_and_bytes() {
        let counters = RelayCounters { connections: 1, failed: 0, to_target: 1 << 20, to_clients: 512 };
        assert_eq!(summary(counters), "relayed 1 connection: 1 MiB to the target, 512 B from it");
        let failed = RelayCounters { connections: 3, failed: 2, ..RelayCounters::default() };
        let expected =
            "relayed 3 connections, 2 of them not accepted by the target: 0 B to the target, 0 B from it";
        assert_eq!(summary(failed), expected);
    }
}
