//! The tables of options, in the order in which errors name them.

use super::declaration::OptionValues::{self, Choices, Distance, Number, Text};
use super::declaration::{UrlOption, option};
use crate::Fact;

const ON_OFF: OptionValues = Choices(&["on", "off"]);
const PROTECTION: OptionValues = Choices(&["auto", "required", "off"]);
const ID: OptionValues = range(0, u32::MAX);
const LEVEL: OptionValues = range(0, 3);

const fn range(least: u32, most: u32) -> OptionValues {
    Number { least, most }
}

/// Of local paths. Windows has one engine.
pub(super) const LOCAL: &[UrlOption] = if cfg!(windows) { &[DIRECT] } else { &[DIRECT, ENGINE] };
const DIRECT: UrlOption = option("direct", Choices(&["0", "1"])).fact(Fact::DirectIo);
const ENGINE: UrlOption = option("engine", Choices(&["auto", "psync", "uring"])).fact(Fact::Engine);

/// Of every protocol over TCP.
pub(super) const TCP: &[UrlOption] = &[
    option("far", Distance).fact(Fact::SimulatedDistance).unstated("none"),
    option("nodelay", ON_OFF).fact(Fact::Nodelay).unstated("on"),
];

pub(super) const SMB: &[UrlOption] = &[
    option("dialect", Choices(&["2.0.2", "2.1", "3.0", "3.0.2", "3.1.1", "nt1"]))
        .example("3.1.1")
        .fact(Fact::Dialect),
    option("sign", PROTECTION).example("required").fact(Fact::Signing),
    option("signing", Text("aes-gmac, aes-cmac, hmac-sha256")).fact(Fact::Signing),
    option("encrypt", PROTECTION).example("required").fact(Fact::Encryption),
    option("cipher", Text("aes-128-gcm, aes-256-gcm, aes-128-ccm, aes-256-ccm")).fact(Fact::Encryption),
    option("auth", Choices(&["auto", "kerberos", "ntlm"])).fact(Fact::Login),
    option("spn", Text("a principal")),
    option("domain", Text("a name")).example("..."),
    // smbd and Windows accept 32 channels.
    option("channels", range(1, 32)).example("4").fact(Fact::Connections).unstated("1"),
    option("lease", Choices(&["none", "r", "rh", "rwh", "dir"])).example("rwh").fact(Fact::LeaseRequested),
    option("durable", ON_OFF).example("on").fact(Fact::DurableHandles),
    option("transport", Choices(&["tcp", "netbios"])).fact(Fact::Transport),
];

pub(super) const NFS: &[UrlOption] = &[
    option("vers", Choices(&["3", "4.0", "4.1", "4.2", "auto"]))
        .example("3|4.0|4.1|4.2|auto")
        .fact(Fact::Vers),
    option("proto", Choices(&["tcp", "udp"])).example("udp").fact(Fact::Transport),
    option("timeo", range(1, 600)).fact(Fact::Timeo),
    // The limit of the client of Linux.
    option("nconnect", range(1, 16)).example("1..16").fact(Fact::Nconnect),
    option("compound", Choices(&["off", "on"])).example("on").fact(Fact::Compound),
    option("mountport", range(1, 65_535)).example("...").fact(Fact::Mountport),
    option("sec", Choices(&["sys", "krb5", "krb5i", "krb5p"])).fact(Fact::Sec),
    option("spn", Text("a principal")),
    option("xprtsec", Choices(&["none", "tls", "mtls"])).fact(Fact::Xprtsec),
    option("uid", ID).example("...").fact(Fact::Uid),
    option("gid", ID).example("...").fact(Fact::Gid),
    option("gids", Text("a list of at most 16 numbers")),
    option("resvport", range(0, 1)),
];

pub(super) const NCP: &[UrlOption] = &[
    option("transport", Choices(&["tcp", "udp", "ipx", "ether"]))
        .example("tcp|udp|ipx")
        .fact(Fact::Transport),
    option("profile", Text("the name of a requester")).fact(Fact::Profile),
    option("sign", LEVEL).example("0..3").fact(Fact::SignLevel),
    option("checksum", LEVEL).fact(Fact::Checksums),
    option("buffer", Text("512 to 61440")).example("61440").fact(Fact::Buffer),
    option("lip", ON_OFF).fact(Fact::Lip),
    option("split", ON_OFF).example("on").fact(Fact::Split),
    option("retry", Text("a time from 1ms to 60s")).fact(Fact::Retry),
    option("burst", ON_OFF).example("on").fact(Fact::Burst),
    option("window", Text("auto, 1024 to 61440")).example("61440").fact(Fact::BurstWindow),
    option("gap", Text("auto, 1ms to 100ms")).fact(Fact::BurstGap),
    option("packet", Text("576 to 9000")).fact(Fact::BurstPacket),
    option("names", Text("auto, long, dos")).fact(Fact::Names),
    option("connections", range(1, 64)).example("...").fact(Fact::Connections),
    option("cache", Text("off, 1 to 1024")).fact(Fact::ClientCache),
    option("commit", ON_OFF).fact(Fact::Commit),
    option("iface", Text("a network interface")).fact(Fact::Interface),
    option("frame", Choices(&["ii", "raw", "802.2", "snap"])).fact(Fact::Frame),
    option("network", Text("up to eight hex digits")),
];
