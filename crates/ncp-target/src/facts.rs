//! The negotiated properties of a session, as facts of the run.

use sharebench_model::Facts;
use sharebench_ncp::client::{Client, ProbeResult};
use sharebench_ncp::wire::name_space::space;
use sharebench_ncp::wire::server_info::ServerInfo;
use sharebench_target::NOT_GRANTED;

use crate::options::NcpOptions;
use crate::transport::SocketTransport;

/// A name space by the name that the option `names=` and the facts give it.
fn name_of_space(id: u8) -> String {
    match id {
        space::DOS => "dos".to_owned(),
        space::MAC => "mac".to_owned(),
        space::NFS => "nfs".to_owned(),
        space::LONG => "long".to_owned(),
        other => format!("{other}"),
    }
}

/// Facts of a session, from its first connection; `names` are the name spaces of the volume and the one in use.
pub(crate) fn negotiated(
    options: &NcpOptions,
    client: &Client<SocketTransport>,
    info: &ServerInfo,
    names: (&[u8], u8),
) -> Facts {
    let name = String::from_utf8_lossy(&info.name).trim_end_matches('\0').to_owned();
    let local = client.transport().local_addr();
    let cache = match options.cache {
        None => "none".to_owned(),
        Some(buffers) => format!("{buffers} buffers of {} bytes for each file", client.buffer()),
    };
    let switch = |on| if on { "on" } else { "off" }.to_owned();
    let mut facts: Facts = [
        ("transport", options.transport.name().to_owned()),
        ("server", format!("{name} {}.{:02}", info.major, info.minor)),
        ("buffer", client.buffer().to_string()),
        ("buffer_proposed", options.buffer.to_string()),
        ("split", switch(options.splits)),
        ("signed", client.signs().to_string()),
        ("sign_level", (options.signatures as u8).to_string()),
        ("checksums", switch(client.checks())),
        ("large_files", client.is_large().to_string()),
        ("names", name_of_space(names.1)),
        ("names_requested", options.names.name().to_owned()),
        ("name_spaces", names.0.iter().map(|id| name_of_space(*id)).collect::<Vec<_>>().join(", ")),
        ("requests_per_connection", "1".to_owned()),
        ("client_cache", cache),
        ("commit", if options.commits { "on request, and on close" } else { "on request" }.to_owned()),
        ("local_addr", local.unwrap_or_default()),
    ]
    .map(|(fact, value)| (fact.to_owned(), value))
    .into();
    if options.transport.is_datagram() {
        datagrams(options, client, &mut facts);
    }
    let mut add = |fact: &str, value: &str| facts.insert(fact.to_owned(), value.to_owned());
    if let Some(profile) = options.profile {
        add("profile", profile.shown);
    }
    if let Some(ether) = &options.ether {
        add("frame", ether.framing.name());
        add("interface", &ether.interface);
    }
    options.far.add_fact(&mut facts);
    facts
}

/// Facts of datagram transports.
fn datagrams(options: &NcpOptions, client: &Client<SocketTransport>, facts: &mut Facts) {
    let mut add = |fact: &str, value: String| facts.insert(fact.to_owned(), value);
    let lip = match client.probed() {
        ProbeResult::NotProbed if options.lip => "not offered by the server".to_owned(),
        ProbeResult::NotProbed => "off".to_owned(),
        ProbeResult::Unanswered => "no probe returned".to_owned(),
        ProbeResult::Packet(size) => format!("packets of {size} bytes"),
    };
    add("lip", lip);
    add("retry", format!("{:?}", options.retry));
    if let Some(burst) = options.burst {
        let window = client.window();
        if window == 0 {
            add("burst", "refused".to_owned());
            let bytes = client.buffer();
            add(
                NOT_GRANTED,
                format!("packet burst (burst=on); one request carries {bytes} bytes without it"),
            );
        } else {
            add("burst", "on".to_owned());
        }
        add(
            "burst_window",
            if burst.adapts_window { format!("auto, at most {window}") } else { window.to_string() },
        );
        add("burst_packet", client.burst_packet(burst.packet).to_string());
        add("burst_gap", if burst.adapts_gap { "auto".to_owned() } else { format!("{:?}", burst.gap) });
    }
}
