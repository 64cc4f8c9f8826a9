//! The results of a probe as rows of a report.

use sharebench_model::Fact;
use sharebench_target::offers::{OfferReport, Usability, size_text};

use super::login_methods::MethodReply;
use super::negotiation::{NegotiationFindings, SignatureOffer};
use super::probe::Findings;
use super::server_clock;
use crate::client::ProbeResult;
use crate::target::options::NcpOptions;
use crate::wire::TransportKind;
use crate::wire::name_space::space;
use crate::wire::text::unpadded;

const HOST: &str = "host";
const SECURITY: &str = "security";
const LOGIN: &str = "login";
const LIMITS: &str = "limits";
const FEATURES: &str = "features";
const VOLUMES: &str = "volumes";
const SPACE: &str = "space";
const CLOCK: &str = "clock";

/// Name, version and transports of the server.
pub(super) fn server(report: &mut OfferReport, findings: &Findings, options: &NcpOptions) {
    let used = options.transport.name();
    match (&findings.session.info, &findings.negotiated) {
        (None, Err(reason)) => {
            report.add(HOST, used, format!("no answer ({reason})"), Usability::NotOffered);
        }
        _ => report.add(HOST, used, "answered", Usability::Used),
    }
    match &findings.over_udp {
        Some(Ok(_)) => report.add(HOST, "udp", "answered", Usability::With("transport=udp".into())),
        Some(Err(reason)) => {
            report.add(HOST, "udp", format!("no answer ({reason})"), Usability::NotOffered);
        }
        None => {}
    }
    if let Some(info) = &findings.session.info {
        report.fact(HOST, "name", String::from_utf8_lossy(unpadded(&info.name)));
        report.fact(HOST, "NetWare version", format!("{}.{:02}", info.major, info.minor));
    }
}

/// Packet signatures.
pub(super) fn security(report: &mut OfferReport, findings: &Findings) {
    if let Ok(negotiated) = &findings.negotiated {
        let used = if findings.session.signs { Usability::Used } else { Usability::With("sign=2".into()) };
        match negotiated.signatures {
            Some(SignatureOffer::Preferred) => {
                report.add(SECURITY, "packet signatures", "preferred or required", used);
            }
            Some(SignatureOffer::OnRequest) => {
                report.add(SECURITY, "packet signatures", "on request", used);
            }
            Some(SignatureOffer::NotOffered) => report.not_offered(SECURITY, "packet signatures"),
            None => report.add(
                SECURITY,
                "packet signatures",
                "not offered (the server does not know function 0x61)",
                Usability::NotOffered,
            ),
        }
    }
    report.fact(SECURITY, "encryption", "none in NCP");
}

/// Login methods, and the session.
pub(super) fn login(report: &mut OfferReport, findings: &Findings, options: &NcpOptions, logs_in: bool) {
    let Some(methods) = findings.session.methods else { return };
    let mut add = |name: &str, answer: MethodReply, usability: Usability| match answer {
        MethodReply::Answered => report.add(LOGIN, name, "answered", usability),
        MethodReply::Refused(completion) => {
            report.add(LOGIN, name, format!("not offered: {completion}"), Usability::NotOffered);
        }
    };
    add("bindery", methods.bindery, Usability::Used);
    add("NDS", methods.nds, Usability::Unsupported);
    add("NMAS", methods.nmas, Usability::Unsupported);
    let user = &options.user;
    match methods.account {
        MethodReply::Answered => report.fact(LOGIN, "account", format!("{user} is in the bindery")),
        MethodReply::Refused(completion) => {
            report.fact(LOGIN, "account", format!("{user} is not in the bindery: {completion}"));
        }
    }
    let session = match (findings.session.logged_in, logs_in) {
        (true, _) => format!("account {user}"),
        (false, true) => "not logged in".to_owned(),
        (false, false) => "not logged in: no password".to_owned(),
    };
    report.fact(LOGIN, "session", session);
}

/// Sizes and connections.
pub(super) fn limits(report: &mut OfferReport, findings: &Findings) {
    if let Some(buffer) = findings.session.buffer {
        report.add(LIMITS, "data bytes of a request", buffer, Usability::Used);
    }
    if let Some(Ok(udp)) = &findings.over_udp {
        let usability = Usability::With("transport=udp".into());
        report.add(LIMITS, "data bytes of a request over udp", udp.buffer, usability);
    }
    report.fact(LIMITS, "requests in flight", "one for each connection");
    if let Some(info) = &findings.session.info {
        report.fact(
            LIMITS,
            "connections",
            format!("{} of {} in use", info.connections, info.max_connections),
        );
    }
}

/// 64-bit calls, packet burst and large internet packets.
pub(super) fn features(report: &mut OfferReport, findings: &Findings) {
    if let Some(info) = &findings.session.info {
        match info.large_files {
            1 => report.add(FEATURES, "64-bit calls", "offered", Usability::Used),
            _ => report.not_offered(FEATURES, "64-bit calls"),
        }
    }
    let over_udp = findings.over_udp.as_ref().and_then(|udp| udp.as_ref().ok());
    match (&findings.negotiated, over_udp) {
        (Ok(negotiated), _) if negotiated.transport.is_datagram() => {
            datagrams(report, negotiated, "burst=on");
        }
        (_, Some(negotiated)) => datagrams(report, negotiated, "transport=udp&burst=on"),
        _ => {
            report.fact(FEATURES, "packet burst", "none on TCP");
            report.fact(FEATURES, "large internet packets", "none on TCP");
        }
    }
}

fn datagrams(report: &mut OfferReport, negotiated: &NegotiationFindings, burst_option: &str) {
    match &negotiated.burst {
        Some(Ok(accepted)) => {
            let value = format!("accepted, packets of {} bytes", accepted.max_packet);
            report.add(FEATURES, "packet burst", value, Usability::With(burst_option.to_owned()));
        }
        Some(Err(completion)) => {
            report.add(FEATURES, "packet burst", format!("not offered: {completion}"), Usability::NotOffered);
        }
        None => {}
    }
    let used = match negotiated.transport {
        TransportKind::Tcp => Usability::Fact,
        _ if burst_option.contains("transport") => Usability::With("transport=udp".to_owned()),
        _ => Usability::Used,
    };
    match negotiated.lip {
        ProbeResult::Packet(size) => {
            report.add(FEATURES, "large internet packets", format!("packets of {size} bytes"), used);
        }
        ProbeResult::Unanswered => {
            report.add(FEATURES, "large internet packets", "no probe returned", Usability::NotOffered);
        }
        ProbeResult::NotProbed => report.not_offered(FEATURES, "large internet packets"),
    }
}

/// The volumes with their name spaces and free space.
pub(super) fn volumes(report: &mut OfferReport, findings: &Findings, options: &NcpOptions) {
    if findings.session.volumes.is_empty() {
        report.fact(VOLUMES, "list", "not listed: no volume answered");
    }
    for volume in &findings.session.volumes {
        let used = volume.name.eq_ignore_ascii_case(&options.volume);
        let mut words = vec![format!("names {}", space_names(&volume.spaces))];
        if let Some((total, free)) = volume.space {
            words.push(format!("{} of {} free", size_text(free), size_text(total)));
            if used {
                report.fact(SPACE, "total", size_text(total));
                report.fact(SPACE, "free", size_text(free));
            }
        }
        let usability =
            if used { Usability::Used } else { Usability::With("the volume in the URL".to_owned()) };
        report.add(VOLUMES, volume.name.clone(), words.join(", "), usability);
    }
    if let Some(names) = findings.session.facts.get(Fact::Names) {
        report.add(VOLUMES, "names of a run", names, Usability::Used);
    }
}

fn space_names(spaces: &[u8]) -> String {
    let name = |id: &u8| match *id {
        space::DOS => "DOS".to_owned(),
        space::MAC => "Macintosh".to_owned(),
        space::NFS => "NFS".to_owned(),
        space::LONG => "long".to_owned(),
        other => format!("name space {other}"),
    };
    spaces.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// The clock.
pub(super) fn clock(report: &mut OfferReport, findings: &Findings) {
    let Some((time, now)) = findings.session.clock else { return };
    report.fact(CLOCK, "time of the server", server_clock::text(time));
    report.fact(CLOCK, "offset to this machine", server_clock::offset_text(time, now));
}

/// Why a run would fail.
pub(super) fn incompatibilities(report: &mut OfferReport, findings: &Findings) {
    if let Some(found) = findings.incompatibility {
        report.incompatible(format!("{}: {found}", found.part()));
    } else if let Some(failure) = &findings.session.failure {
        report.incompatible(format!("{}: {}", failure.part, failure.detail));
    } else if findings.session.late {
        report.incompatible("port: no answer within the time limit; give a longer --timeout");
    }
}
