//! The negotiated properties of a session, as facts of the run.

use sharebench_model::{COMMIT_ON_CLOSE, Fact, NO_CLIENT_CACHE, TargetFacts};

use crate::client::{Client, Direction, ProbeResult};
use crate::target::options::NcpOptions;
use crate::target::transport::SocketTransport;
use crate::wire::name_space;
use crate::wire::server_info::ServerInfo;

/// A name space by the name that the option `names=` and the facts give it.
fn name_of_space(id: u8) -> String {
    match id {
        name_space::space::DOS => "dos".to_owned(),
        name_space::space::MAC => "mac".to_owned(),
        name_space::space::NFS => "nfs".to_owned(),
        name_space::space::LONG => "long".to_owned(),
        other => format!("{other}"),
    }
}

/// Facts of a session, from its first connection; `loaded` are the name spaces of the volume, `space` the one in use.
pub(crate) fn negotiated(
    options: &NcpOptions,
    client: &Client<SocketTransport>,
    info: &ServerInfo,
    loaded: &[u8],
    space: u8,
) -> TargetFacts {
    let name = String::from_utf8_lossy(&info.name).trim_end_matches('\0').to_owned();
    let local = client.transport().local_addr();
    let cache = match options.cache {
        None => NO_CLIENT_CACHE.to_owned(),
        Some(buffers) => format!("{buffers} buffers of {} bytes for each file", client.buffer()),
    };
    let switch = |on| if on { "on" } else { "off" }.to_owned();
    let mut facts = TargetFacts::from([
        (Fact::Transport, options.transport.name().to_owned()),
        (Fact::Server, format!("{name} {}.{:02}", info.major, info.minor)),
        (Fact::Buffer, client.buffer().to_string()),
        (Fact::BufferProposed, options.buffer.to_string()),
        (Fact::Split, switch(options.splits)),
        (Fact::Signed, client.signs().to_string()),
        (Fact::SignLevel, (options.signatures as u8).to_string()),
        (Fact::Checksums, switch(client.checks())),
        (Fact::LargeFiles, client.is_large().to_string()),
        (Fact::Names, name_of_space(space)),
        (Fact::NamesRequested, options.names.name().to_owned()),
        (Fact::NameSpaces, loaded.iter().map(|id| name_of_space(*id)).collect::<Vec<_>>().join(", ")),
        (Fact::RequestsPerConnection, "1".to_owned()),
        (Fact::ClientCache, cache),
        (Fact::Commit, if options.commits { COMMIT_ON_CLOSE } else { "on request" }.to_owned()),
        (Fact::LocalAddress, local.unwrap_or_default()),
    ]);
    if options.transport.is_datagram() {
        datagrams(options, client, &mut facts);
    }
    let mut add = |fact: Fact, value: &str| facts.state(fact, value);
    if let Some(profile) = options.profile {
        add(Fact::Profile, profile.shown);
    }
    if let Some(ether) = &options.ether {
        add(Fact::Frame, ether.framing.name());
        add(Fact::Interface, &ether.interface);
    }
    options.tcp.add_facts(&mut facts);
    facts
}

/// Facts of datagram transports.
fn datagrams(options: &NcpOptions, client: &Client<SocketTransport>, facts: &mut TargetFacts) {
    let mut add = |fact: Fact, value: String| facts.state(fact, value);
    let lip = match client.probed() {
        ProbeResult::NotProbed if options.lip => "not offered by the server".to_owned(),
        ProbeResult::NotProbed => "off".to_owned(),
        ProbeResult::Unanswered => "no probe returned".to_owned(),
        ProbeResult::Packet(size) => format!("packets of {size} bytes"),
    };
    add(Fact::Lip, lip);
    add(Fact::Retry, format!("{:?}", options.retry));
    if let Some(burst) = options.burst {
        let windows = [Direction::Read, Direction::Write].map(|direction| client.window(direction));
        if windows == [0, 0] {
            add(Fact::Burst, "refused".to_owned());
            let bytes = client.buffer();
            add(
                Fact::NotGranted,
                format!("packet burst (burst=on); one request carries {bytes} bytes without it"),
            );
        } else {
            add(Fact::Burst, "on".to_owned());
        }
        let start = if burst.adapts_window { "auto, at most " } else { "" };
        add(
            Fact::BurstWindow,
            match windows {
                [read, write] if read != write => format!("{start}{read} for reads, {write} for writes"),
                [window, _] => format!("{start}{window}"),
            },
        );
        add(Fact::BurstPacket, client.burst_packet(burst.packet).to_string());
        add(Fact::BurstGap, if burst.adapts_gap { "auto".to_owned() } else { format!("{:?}", burst.gap) });
    }
}
