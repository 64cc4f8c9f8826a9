//! The results of a probe as rows of a report.

use sharebench_model::ErrorClass;
use sharebench_target::UrlPart;
use sharebench_target::offers::{OfferReport, Usability, size_text};

use super::dialects::DialectOffers;
use super::explain::missing_dialect;
use super::session::SessionFindings;
use crate::auth::Mechanism;
use crate::client::negotiated::{Negotiated, SIGNING_ENABLED, SIGNING_REQUIRED, guid_text};
use crate::client::options::{AuthMethod, SmbOptions, dialect_name};
use crate::crypto::{Cipher, SigningAlgorithm};
use crate::incompatibility::Incompatibility;
use crate::wire::network_interface::{NetworkInterface, RDMA_CAPABLE, RSS_CAPABLE};
use crate::wire::session_setup::flags;

const HOST: &str = "host";
const VERSIONS: &str = "versions";
const SECURITY: &str = "security";
const LOGIN: &str = "login";
const LIMITS: &str = "limits";
const FEATURES: &str = "features";
const SHARES: &str = "shares";
const SPACE: &str = "space";
const CLOCK: &str = "clock";

/// Capabilities that this client uses with an option only, if at all (MS-SMB2 2.2.4).
const CAPABILITIES: [(u32, &str, Option<&str>); 6] = [
    (0x01, "DFS", None),
    (0x02, "leases", Some("lease=rwh")),
    (0x08, "multichannel", Some("channels=4")),
    (0x10, "persistent handles", None),
    (0x20, "directory leases", Some("lease=dir")),
    (0x80, "notifications", None),
];

/// Rights to a directory (MS-SMB2 2.2.13.1.2): `FILE_ADD_FILE` and `FILE_ADD_SUBDIRECTORY`.
const ADD_FILE: u32 = 0x02;
const ADD_SUBDIRECTORY: u32 = 0x04;

/// What a run would negotiate, or else the newest dialect that the server offers.
fn base<'a>(offers: &'a DialectOffers, findings: &'a SessionFindings) -> Option<&'a Negotiated> {
    findings.negotiated.as_ref().or(offers.newest())
}

/// Dialects.
pub(super) fn versions(report: &mut OfferReport, offers: &DialectOffers, findings: &SessionFindings) {
    if let Some(base) = base(offers, findings) {
        report.fact(HOST, "server GUID", guid_text(&base.server_guid));
    }
    if offers.smb1 {
        report.add(VERSIONS, "SMB1", "offered", Usability::With("dialect=nt1".to_owned()));
    } else {
        report.not_offered(VERSIONS, "SMB1");
    }
    let used = findings.negotiated.as_ref().map(|negotiated| negotiated.dialect);
    for (dialect, negotiated) in &offers.dialects {
        let name = dialect_name(*dialect);
        if negotiated.is_none() {
            report.not_offered(VERSIONS, format!("SMB {name}"));
            continue;
        }
        let usability =
            if used == Some(*dialect) { Usability::Used } else { Usability::With(format!("dialect={name}")) };
        report.add(VERSIONS, format!("SMB {name}"), "offered", usability);
    }
}

/// Signing and encryption.
pub(super) fn security(report: &mut OfferReport, offers: &DialectOffers, findings: &SessionFindings) {
    let Some(base) = base(offers, findings) else { return };
    let used_or = |used: bool, option: &str| {
        if used { Usability::Used } else { Usability::With(option.to_owned()) }
    };
    if base.security_mode & SIGNING_REQUIRED != 0 {
        report.add(SECURITY, "signing", "required", Usability::Used);
    } else if base.security_mode & SIGNING_ENABLED != 0 {
        report.add(SECURITY, "signing", "offered", used_or(base.signed, "sign=required"));
    } else {
        report.not_offered(SECURITY, "signing");
    }
    let mut algorithms: Vec<&str> =
        offers.signing.iter().map(|found| SigningAlgorithm::name(*found)).collect();
    if algorithms.is_empty() {
        algorithms.push(base.signing.name());
    }
    report.fact(SECURITY, "signing algorithms", algorithms.join(", "));
    let mut ciphers = offers.ciphers.clone();
    if ciphers.is_empty() {
        ciphers.extend(base.cipher);
    }
    if ciphers.is_empty() {
        report.not_offered(SECURITY, "encryption");
        return;
    }
    let required = base.session_flags & flags::ENCRYPT_DATA != 0;
    let value = match (required, base.encrypted) {
        (true, _) => "required by the server",
        (false, true) => "required by the share",
        _ => "offered",
    };
    report.add(SECURITY, "encryption", value, used_or(base.encrypted, "encrypt=required"));
    let names: Vec<&str> = ciphers.iter().map(|cipher| Cipher::name(*cipher)).collect();
    report.fact(SECURITY, "ciphers", names.join(", "));
}

/// Login mechanisms, and the kind of session.
pub(super) fn login(
    report: &mut OfferReport,
    offers: &DialectOffers,
    findings: &SessionFindings,
    options: &SmbOptions,
) {
    let Some(base) = base(offers, findings) else { return };
    if base.mechanisms.is_empty() {
        report.fact(LOGIN, "mechanisms", "not listed");
    }
    for mechanism in &base.mechanisms {
        let usability = match (mechanism, options.auth) {
            (Mechanism::Ntlm, AuthMethod::Auto | AuthMethod::Ntlm)
            | (Mechanism::Kerberos, AuthMethod::Kerberos) => Usability::Used,
            (Mechanism::Ntlm, AuthMethod::Kerberos) => Usability::With("auth=ntlm".into()),
            (Mechanism::Kerberos, _) => Usability::With("auth=kerberos".into()),
            _ => Usability::Unsupported,
        };
        report.add(LOGIN, mechanism.name(), "offered", usability);
    }
    if base.lists_no_ntlm() {
        report.not_offered(LOGIN, Mechanism::Ntlm.name());
    }
    let session = match (&findings.failure, findings.logged_in) {
        (_, true) => session_text(base, options),
        (Some(failure), _) if failure.part == UrlPart::Credentials => failure.detail.clone(),
        (None, false) if options.user.is_some() && !findings.late => "not logged in: no password".to_owned(),
        _ => "not logged in".to_owned(),
    };
    report.fact(LOGIN, "session", session);
}

fn session_text(negotiated: &Negotiated, options: &SmbOptions) -> String {
    match (negotiated.session_flags, &options.user) {
        (bits, _) if bits & flags::IS_NULL != 0 => "anonymous".to_owned(),
        (bits, _) if bits & flags::IS_GUEST != 0 => "guest".to_owned(),
        (_, Some(user)) => format!("account {user}"),
        (_, None) if options.requires_kerberos() => "account of the Kerberos ticket".to_owned(),
        (_, None) => "anonymous".to_owned(),
    }
}

/// Sizes and credits.
pub(super) fn limits(report: &mut OfferReport, offers: &DialectOffers, findings: &SessionFindings) {
    let Some(base) = base(offers, findings) else { return };
    for (name, bytes) in [
        ("largest read", base.max_read),
        ("largest write", base.max_write),
        ("largest transaction", base.max_transact),
    ] {
        report.add(LIMITS, name, size_text(bytes.into()), Usability::Used);
    }
    let multi_credit = if base.multi_credit() { "several credits" } else { "one credit: at most 64KiB" };
    report.add(LIMITS, "cost of a request", multi_credit, Usability::Used);
    if let Some(credits) = findings.credits {
        report.add(LIMITS, "credits", credits, Usability::Used);
    }
}

/// Capabilities, and the addresses for further channels.
pub(super) fn features(report: &mut OfferReport, offers: &DialectOffers, findings: &SessionFindings) {
    let Some(newest) = offers.newest() else { return };
    for (bit, name, option) in CAPABILITIES {
        if newest.capabilities & bit == 0 {
            report.not_offered(FEATURES, name);
        } else {
            let usability =
                option.map_or(Usability::Unsupported, |option| Usability::With(option.to_owned()));
            report.add(FEATURES, name, "offered", usability);
        }
    }
    match &findings.interfaces {
        Some(Ok(found)) => {
            for interface in found {
                let name = format!("interface {}", interface.index);
                report.fact(FEATURES, name, interface_text(interface));
            }
        }
        Some(Err(reason)) => report.fact(FEATURES, "interfaces", format!("not listed: {reason}")),
        None => {}
    }
}

fn interface_text(interface: &NetworkInterface) -> String {
    let mut words =
        vec![interface.address.map_or_else(|| "no IP address".to_owned(), |address| address.to_string())];
    words.push(format!("{} Mbit/s", interface.link_speed / 1_000_000));
    if interface.capability & RSS_CAPABLE != 0 {
        words.push("RSS".to_owned());
    }
    if interface.capability & RDMA_CAPABLE != 0 {
        words.push("RDMA".to_owned());
    }
    words.join(", ")
}

/// The shares.
pub(super) fn shares(report: &mut OfferReport, findings: &SessionFindings, options: &SmbOptions) {
    if findings.access.is_some() {
        let access = if is_read_only(findings) { "read only" } else { "read and write" };
        report.fact(SHARES, "access to the share", access);
    }
    match &findings.shares {
        Some(Ok(found)) => {
            for share in found {
                let comment = if share.comment.is_empty() { "" } else { ": " };
                let value = format!("{}{comment}{}", share.kind_name(), share.comment);
                let usability = match share.is_disk() {
                    true if share.name.eq_ignore_ascii_case(&options.share) => Usability::Used,
                    true => Usability::With("the share in the URL".to_owned()),
                    false => Usability::Fact,
                };
                report.add(SHARES, share.name.clone(), value, usability);
            }
        }
        Some(Err(reason)) => report.fact(SHARES, "list", format!("not listed: {reason}")),
        None => report.fact(SHARES, "list", "not listed: no session"),
    }
}

/// True if the user may create neither files nor directories in the share. Servers that state no rights at all are
/// believed to grant them.
fn is_read_only(findings: &SessionFindings) -> bool {
    findings.access.is_some_and(|access| access != 0 && access & (ADD_FILE | ADD_SUBDIRECTORY) == 0)
}

/// Free space and the clock.
pub(super) fn space_and_clock(report: &mut OfferReport, findings: &SessionFindings) {
    if let Some(space) = findings.space {
        report.fact(SPACE, "total", size_text(space.total));
        report.fact(SPACE, "free", size_text(space.available));
    }
    if findings.negotiated.is_some() {
        match findings.clock {
            Some(offset) => report.fact(CLOCK, "offset to this machine", offset),
            None => report.fact(CLOCK, "offset to this machine", "not sent by the server"),
        }
    }
}

/// Why a run would fail.
pub(super) fn incompatibilities(
    report: &mut OfferReport,
    offers: &DialectOffers,
    findings: &SessionFindings,
    options: &SmbOptions,
) {
    if let Some(found) = &findings.incompatibility {
        report.incompatible(format!("{}: {found}", found.part()));
        return;
    }
    if let Some(failure) = &findings.failure {
        let dialect = failure.part == UrlPart::Option("dialect") && failure.class == ErrorClass::Unsupported;
        match missing_dialect(options, &offers.names()).filter(|_| dialect) {
            Some(found) => report.incompatible(format!("{}: {found}", found.part())),
            None => report.incompatible(format!("{}: {}", failure.part, failure.detail)),
        }
        return;
    }
    if findings.late && !findings.connected {
        report.incompatible("host: no connection within the time limit; give a longer --timeout");
    } else if findings.late {
        let part = if findings.logged_in { UrlPart::Share } else { UrlPart::Port };
        report.incompatible(format!("{part}: no answer within the time limit; give a longer --timeout"));
    } else if !findings.logged_in
        && let Some(base) = base(offers, findings)
        && base.lists_no_ntlm()
    {
        let found = Incompatibility::NoNtlm { mechanisms: base.mechanism_names() };
        report.incompatible(format!("{}: {found}", found.part()));
    } else if is_read_only(findings) {
        report.incompatible(
            "share: read only: this user may create nothing in it (maximal access), and a run creates its own directory",
        );
    }
}
