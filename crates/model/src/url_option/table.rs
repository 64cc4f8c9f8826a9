//! The tables of options, in the order in which errors name them.

use super::axes;
use super::declaration::OptionValues::{self, Choices, Distance, Number, Text};
use super::declaration::UrlOption;
use crate::Fact;

const ON_OFF: OptionValues = Choices(&["on", "off"]);
const PROTECTION: OptionValues = Choices(&["auto", "required", "off"]);
const ID: OptionValues = Number { least: 0, most: u32::MAX };
const LEVEL: OptionValues = Number { least: 0, most: 3 };

/// Of local paths. Windows has one engine.
pub(super) const LOCAL: &[UrlOption] = if cfg!(windows) { &[DIRECT] } else { &[DIRECT, ENGINE] };
const DIRECT: UrlOption = UrlOption::new("direct", Choices(&["0", "1"])).fact(Fact::DirectIo);
const ENGINE: UrlOption = UrlOption::new("engine", Choices(&["auto", "psync", "uring"])).fact(Fact::Engine);

/// Of every protocol over TCP.
pub(super) const TCP: &[UrlOption] =
    &[UrlOption::new("far", Distance).fact(Fact::SimulatedDistance).unstated("none").axis(&axes::FAR)];

pub(super) const SMB: &[UrlOption] = &[
    UrlOption::new("dialect", Choices(&["2.0.2", "2.1", "3.0", "3.0.2", "3.1.1", "nt1"]))
        .example("3.1.1")
        .fact(Fact::Dialect),
    UrlOption::new("sign", PROTECTION).example("required").fact(Fact::Signing).axis(&axes::SECURITY),
    UrlOption::new("signing", Text("aes-gmac, aes-cmac, hmac-sha256")).fact(Fact::Signing),
    UrlOption::new("encrypt", PROTECTION).example("required").fact(Fact::Encryption).axis(&axes::SECURITY),
    UrlOption::new("cipher", Text("aes-128-gcm, aes-256-gcm, aes-128-ccm, aes-256-ccm"))
        .fact(Fact::Encryption),
    UrlOption::new("auth", Choices(&["auto", "kerberos", "ntlm"])).fact(Fact::Login),
    UrlOption::new("spn", Text("a principal")),
    UrlOption::new("domain", Text("a name")).example("..."),
    // smbd and Windows accept 32 channels.
    UrlOption::new("channels", Number { least: 1, most: 32 })
        .example("4")
        .fact(Fact::Connections)
        .unstated("1")
        .axis(&axes::CONNECTIONS),
    UrlOption::new("lease", Choices(&["none", "r", "rh", "rwh", "dir"]))
        .example("rwh")
        .fact(Fact::LeaseRequested)
        .axis(&axes::LEASES),
    UrlOption::new("durable", ON_OFF).example("on").fact(Fact::DurableHandles),
    UrlOption::new("transport", Choices(&["tcp", "netbios"])).fact(Fact::Transport),
];

pub(super) const NFS: &[UrlOption] = &[
    UrlOption::new("vers", Choices(&["3", "4.0", "4.1", "4.2", "auto"]))
        .example("3|4.0|4.1|4.2|auto")
        .fact(Fact::Vers),
    UrlOption::new("proto", Choices(&["tcp", "udp"])).example("udp").fact(Fact::Transport),
    UrlOption::new("timeo", Number { least: 1, most: 600 }).fact(Fact::Timeo),
    // The limit of the client of Linux.
    UrlOption::new("nconnect", Number { least: 1, most: 16 })
        .example("1..16")
        .fact(Fact::Nconnect)
        .axis(&axes::CONNECTIONS),
    UrlOption::new("compound", Choices(&["off", "on"]))
        .example("on")
        .fact(Fact::Compound)
        .axis(&axes::COMPOUND),
    UrlOption::new("mountport", Number { least: 1, most: 65_535 }).example("...").fact(Fact::Mountport),
    UrlOption::new("sec", Choices(&["sys", "krb5", "krb5i", "krb5p"])).fact(Fact::Sec).axis(&axes::SECURITY),
    UrlOption::new("spn", Text("a principal")),
    UrlOption::new("xprtsec", Choices(&["none", "tls", "mtls"])).fact(Fact::Xprtsec),
    UrlOption::new("uid", ID).example("...").fact(Fact::Uid),
    UrlOption::new("gid", ID).example("...").fact(Fact::Gid),
    UrlOption::new("gids", Text("a list of at most 16 numbers")),
    UrlOption::new("resvport", Number { least: 0, most: 1 }),
];

pub(super) const NCP: &[UrlOption] = &[
    UrlOption::new("transport", Choices(&["tcp", "udp", "ipx", "ether"]))
        .example("tcp|udp|ipx")
        .fact(Fact::Transport),
    UrlOption::new("profile", Text("the name of a requester")).fact(Fact::Profile),
    UrlOption::new("sign", LEVEL).example("0..3").fact(Fact::SignLevel).axis(&axes::SECURITY),
    UrlOption::new("checksum", LEVEL).fact(Fact::Checksums),
    UrlOption::new("buffer", Text("512 to 61440")).example("61440").fact(Fact::Buffer),
    UrlOption::new("lip", ON_OFF).fact(Fact::Lip),
    UrlOption::new("split", ON_OFF).example("on").fact(Fact::Split),
    UrlOption::new("retry", Text("a time from 1ms to 60s")).fact(Fact::Retry),
    UrlOption::new("burst", ON_OFF).example("on").fact(Fact::Burst),
    UrlOption::new("window", Text("auto, 1024 to 61440")).example("61440").fact(Fact::BurstWindow),
    UrlOption::new("gap", Text("auto, 1ms to 100ms")).fact(Fact::BurstGap),
    UrlOption::new("packet", Text("576 to 9000")).fact(Fact::BurstPacket),
    UrlOption::new("names", Text("auto, long, dos")).fact(Fact::Names),
    UrlOption::new("connections", Number { least: 1, most: 64 })
        .example("...")
        .fact(Fact::Connections)
        .axis(&axes::CONNECTIONS),
    UrlOption::new("cache", Text("off, 1 to 1024")).fact(Fact::ClientCache),
    UrlOption::new("commit", ON_OFF).fact(Fact::Commit),
    UrlOption::new("iface", Text("a network interface")).fact(Fact::Interface),
    UrlOption::new("frame", Choices(&["ii", "raw", "802.2", "snap"])).fact(Fact::Frame),
    UrlOption::new("network", Text("up to eight hex digits")),
];
