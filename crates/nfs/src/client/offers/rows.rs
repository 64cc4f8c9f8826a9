//! The results of a probe as rows of a report.

use sharebench_model::Fact;
use sharebench_target::offers::{OfferReport, Usability, size_text};

use super::probe::Findings;
use super::squash::EXTEND;
use super::versions::{VersionAnswer, Versions};
use crate::client::options::{NfsOptions, Version};
use crate::exports::{AUTH_SYS, flavor_name};
use crate::incompatibility::Incompatibility;
use crate::mount::accepts;
use crate::protocol::{MOUNT_PROGRAM, NFS_PROGRAM};

const HOST: &str = "host";
const VERSIONS: &str = "versions";
const SECURITY: &str = "security";
const LIMITS: &str = "limits";
const SESSION: &str = "session";
const EXPORTS: &str = "exports";
const SPACE: &str = "space";
const CLOCK: &str = "clock";

const NOT_VISIBLE: &str = "not visible without writing";

/// Ports, and the programs at the port mapper.
pub(super) fn ports(report: &mut OfferReport, findings: &Findings) {
    report.add(HOST, "port of NFS", findings.ports.nfs, Usability::Used);
    report.add(HOST, "port of MOUNT", findings.ports.mount, Usability::Used);
    match &findings.registrations {
        None => report.add(HOST, "port mapper", "no answer", Usability::NotOffered),
        Some(found) => report.fact(HOST, "port mapper", format!("{} registrations", found.len())),
    }
    for registration in findings.registrations.iter().flatten() {
        let program = match registration.program {
            NFS_PROGRAM => "NFS",
            MOUNT_PROGRAM => "MOUNT",
            _ => continue,
        };
        let name = format!("{program} version {}", registration.version);
        report.fact(HOST, name, format!("port {} ({})", registration.port, registration.protocol_name()));
    }
}

/// Versions of NFS and MOUNT.
pub(super) fn versions(report: &mut OfferReport, findings: &Findings, options: &NfsOptions) {
    let versions = &findings.versions;
    let used = findings.session.version.unwrap_or(options.version);
    add_versions(report, "NFSv", &versions.nfs, |version| nfs_usability(version, used));
    for minor in &versions.minor {
        let usability = if used == Version::V4(*minor) {
            Usability::Used
        } else {
            Usability::With(format!("vers=4.{minor}"))
        };
        report.add(VERSIONS, format!("NFSv4.{minor}"), "offered", usability);
    }
    add_versions(report, "MOUNT version ", &versions.mount, |version| mount_usability(version, used));
}

/// How a version of NFS can be used with this URL.
fn nfs_usability(version: u32, requested: Version) -> Usability {
    match (version, requested) {
        (3, Version::V3 | Version::Auto) | (4, Version::V4(_)) => Usability::Used,
        (3, Version::V4(_)) => Usability::With("vers=3".to_owned()),
        (4, Version::V3 | Version::Auto) => Usability::With("vers=4.1".to_owned()),
        _ => Usability::Unsupported,
    }
}

/// How a version of MOUNT can be used with this URL.
fn mount_usability(version: u32, requested: Version) -> Usability {
    match (version, requested) {
        (3, Version::V3 | Version::Auto) => Usability::Used,
        (3, Version::V4(_)) => Usability::With("vers=3".to_owned()),
        _ => Usability::Unsupported,
    }
}

fn add_versions(
    report: &mut OfferReport,
    program: &str,
    versions: &Versions,
    usability: impl Fn(u32) -> Usability,
) {
    for (version, answer) in versions {
        let name = format!("{program}{version}");
        match answer {
            VersionAnswer::Offered => {
                report.add(VERSIONS, name, "offered", usability(*version));
            }
            VersionAnswer::Rejected(rejection) => {
                report.add(VERSIONS, name, format!("not offered ({rejection})"), Usability::NotOffered);
            }
            VersionAnswer::NoAnswer(reason) => {
                report.add(VERSIONS, name, format!("no answer ({reason})"), Usability::NotOffered);
            }
        }
    }
}

/// Flavors, identity and the rights of root.
pub(super) fn security(report: &mut OfferReport, findings: &Findings, options: &NfsOptions) {
    match &findings.mounts.flavors {
        None => report.fact(SECURITY, "flavors", "not listed"),
        Some((_, flavors)) if flavors.is_empty() => {
            report.add(SECURITY, "sec=sys", "not listed, and tried", Usability::Used);
        }
        Some((export, flavors)) => {
            for flavor in flavors {
                let name = format!("sec={}", flavor_name(*flavor));
                let used = match *flavor {
                    flavor if flavor == options.flavor() => Usability::Used,
                    AUTH_SYS | 390_003..=390_005 => Usability::With(name.clone()),
                    _ => Usability::Unsupported,
                };
                report.add(SECURITY, name, format!("accepted by {export}"), used);
            }
            if !accepts(flavors, AUTH_SYS) {
                report.not_offered(SECURITY, "sec=sys");
            }
        }
    }
    let auth = &options.auth;
    report.fact(SECURITY, "identity", format!("uid {}, gid {}", auth.uid, auth.gid));
    if let Some((uid, gid, mode)) = findings.session.owner {
        let owner = format!("uid {uid}, gid {gid}, mode {:04o}", mode & 0o7777);
        report.fact(SECURITY, "owner of the directory", owner);
    }
    if let Some(rights) = findings.session.rights {
        let access = if rights & EXTEND == 0 { "read only" } else { "read and write" };
        report.fact(SECURITY, "access to the directory", access);
    }
    let squash = findings.session.root_squash.map_or(NOT_VISIBLE, |squash| squash.text());
    report.fact(SECURITY, "root squash", squash);
    let flavor = flavor_name(options.flavor());
    let facts = &findings.session.facts;
    let encryption = match (facts.get(Fact::Xprtsec), facts.get(Fact::TlsCipher)) {
        (Some(xprtsec), Some(cipher)) => format!("{cipher} (xprtsec={xprtsec})"),
        _ if flavor == "krb5p" => "sec=krb5p".to_owned(),
        _ => format!("none in sec={flavor}"),
    };
    report.fact(SECURITY, "encryption", encryption);
}

/// Sizes of requests and files.
pub(super) fn limits(report: &mut OfferReport, findings: &Findings) {
    let Some(limits) = findings.session.limits else { return };
    for (name, bytes) in [
        ("largest read (rtmax)", limits.read_max),
        ("preferred read (rtpref)", limits.read_preferred),
        ("largest write (wtmax)", limits.write_max),
        ("preferred write (wtpref)", limits.write_preferred),
        ("preferred listing (dtpref)", limits.directory_preferred),
    ] {
        report.add(LIMITS, name, size_text(bytes.into()), Usability::Used);
    }
    report.fact(LIMITS, "largest file", size_text(limits.max_file_size));
}

/// What a session of version 4 negotiated.
pub(super) fn session(report: &mut OfferReport, findings: &Findings) {
    for fact in [Fact::Server, Fact::LeaseSeconds, Fact::Backchannel, Fact::Pnfs] {
        if let Some(value) = findings.session.facts.get(fact) {
            report.fact(SESSION, fact.words(), value);
        }
    }
}

/// The exports.
pub(super) fn exports(report: &mut OfferReport, findings: &Findings, options: &NfsOptions) {
    match &findings.mounts.exports {
        Some(Ok(found)) if found.is_empty() => report.fact(EXPORTS, "list", "empty"),
        Some(Ok(found)) => {
            for export in found {
                let to =
                    if export.groups.is_empty() { "everybody".to_owned() } else { export.groups.join(", ") };
                let used = findings.mounts.flavors.as_ref().is_some_and(|(used, _)| *used == export.path);
                let usability =
                    if used { Usability::Used } else { Usability::With("the export in the URL".to_owned()) };
                report.add(EXPORTS, export.path.clone(), format!("for {to}"), usability);
            }
        }
        Some(Err(reason)) => report.fact(EXPORTS, "list", format!("not listed: {reason}")),
        None => report.fact(EXPORTS, "list", "not listed: no answer"),
    }
    if let Some((export, _)) = &findings.mounts.flavors {
        report.add(EXPORTS, "export of the URL", format!("{export} for {}", options.path), Usability::Used);
    }
}

/// Free space and the clock.
pub(super) fn space_and_clock(report: &mut OfferReport, findings: &Findings) {
    if let Some(space) = findings.session.space {
        report.fact(SPACE, "total", size_text(space.total));
        report.fact(SPACE, "free", size_text(space.available));
    }
    report.fact(CLOCK, "offset to this machine", NOT_VISIBLE);
}

/// Why a run would fail.
pub(super) fn incompatibilities(report: &mut OfferReport, findings: &Findings, options: &NfsOptions) {
    let flavors = findings.mounts.flavors.clone();
    let selected = options.flavor();
    let rejected = flavors.filter(|(_, flavors)| !accepts(flavors, selected));
    let rejected = rejected.map(|(export, flavors)| Incompatibility::Flavors { export, selected, flavors });
    if let Some(found) = findings.incompatibility.clone().or(rejected) {
        report.incompatible(format!("{}: {found}", found.part()));
    } else if let Some(failure) = &findings.session.failure {
        report.incompatible(format!("{}: {}", failure.part, failure.detail));
    } else if findings.session.rights.is_some_and(|rights| rights & EXTEND == 0) {
        let uid = options.auth.uid;
        report.incompatible(format!(
            "share: read only: the server lets uid {uid} create nothing in the directory (ACCESS), and a run creates its \
             own directory there"
        ));
    }
}
