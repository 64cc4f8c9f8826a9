//! From URLs to targets: the only module of this crate that knows every protocol.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use sharebench_gss::{Identity, SharedCredential, TicketPool};
use sharebench_ncp::target::{NcpProbe, NcpTarget};
use sharebench_nfs::{NfsProbe, NfsTarget, Xprtsec};
use sharebench_plan::{PlannedTarget, ResolvedPlan};
use sharebench_smb::{SmbProbe, SmbTarget};
use sharebench_target::{NullTarget, Secret, Target, TargetUrl, WithBypass};

use crate::exit::Failure;
use crate::flags::login::Login;
use crate::identity::IdentityFile;
use crate::run::{credentials, tickets, tls};
use crate::system::local_target;

/// Opens all targets of a plan, without connecting.
pub fn open_all(plan: &ResolvedPlan, login: &Login) -> Result<Vec<Arc<dyn Target>>, Failure> {
    let bypasses = plan.cache_probes.as_ref().map_or(&[][..], |probes| &probes.bypass);
    let without_tickets = login.without_tickets();
    let with_bypass = |target: &PlannedTarget| {
        let login = if is_baseline(target, &plan.targets) { &without_tickets } else { login };
        let opened = open(&target.url, login)?;
        match bypasses.iter().find(|bypass| bypass.target == target.name) {
            Some(bypass) => {
                let path = open(&bypass.url, login)?;
                Ok(Arc::new(WithBypass::new(opened, path)) as Arc<dyn Target>)
            }
            None => Ok(opened),
        }
    };
    reject_one_directory_twice(&plan.targets)?;
    reject_unused_certificates(plan, &login.identity)?;
    plan.targets.iter().map(with_bypass).collect()
}

/// Rejects two targets that are one local directory, measured in one way: their difference is noise, and each fills
/// the caches of the other.
fn reject_one_directory_twice(targets: &[PlannedTarget]) -> Result<(), Failure> {
    let mut found: Vec<(PathBuf, BTreeMap<String, String>, &str)> = Vec::new();
    for target in targets {
        let Ok(url) = TargetUrl::parse(&target.url) else { continue };
        let Some(path) = (url.scheme == "file").then(|| url.local_path().canonicalize().ok()).flatten()
        else {
            continue;
        };
        let same = found.iter().find(|(other, options, _)| *other == path && *options == url.options);
        if let Some((_, _, other)) = same {
            return Err(Failure::usage(format!(
                "'{other}' and '{}' are the same directory, {}; to compare it with itself, make a second directory there",
                target.url,
                path.display()
            )));
        }
        found.push((path, url.options, &target.url));
    }
    Ok(())
}

/// True for a target with `sec=sys` next to one that logs in with Kerberos: the tickets are for the other one, and this one
/// shows what it costs.
fn is_baseline(target: &PlannedTarget, targets: &[PlannedTarget]) -> bool {
    let option = |target: &PlannedTarget, name: &str| {
        TargetUrl::parse(&target.url).ok().and_then(|url| url.options.get(name).cloned()).unwrap_or_default()
    };
    let logs_in = |target| option(target, "sec").starts_with("krb5") || option(target, "auth") == "kerberos";
    option(target, "sec") == "sys" && targets.iter().any(logs_in)
}

/// Rejects certificates that no target uses: the user believes that the connections are protected.
fn reject_unused_certificates(plan: &ResolvedPlan, identity: &IdentityFile) -> Result<(), Failure> {
    let uses = |target: &PlannedTarget| {
        let url = TargetUrl::parse(&target.url).ok();
        url.and_then(|url| url.options.get("xprtsec").cloned()).is_some_and(|value| value != "none")
    };
    let has_certificates = identity.tls_ca.is_some() || identity.tls_cert.is_some();
    if has_certificates && !plan.targets.iter().any(uses) {
        return Err(identity
            .error("tls_ca, tls_cert and tls_key need xprtsec=tls or xprtsec=mtls in the URL of a target"));
    }
    Ok(())
}

/// Opens the target of a URL, without connecting.
pub fn open(url: &str, login: &Login) -> Result<Arc<dyn Target>, Failure> {
    // Measures the generator itself; it is not a share, so the help does not list it.
    if url == "null://" {
        return Ok(Arc::new(NullTarget));
    }
    let parsed = TargetUrl::parse(url)?;
    match parsed.scheme.as_str() {
        "file" => local_target(parsed),
        "nfs" => open_nfs(&parsed, login),
        "smb" => open_smb(parsed, login),
        "ncp" => {
            NcpTarget::from_url(parsed.clone(), Secret::default())?;
            let secret = secret_for(&parsed, login)?;
            Ok(Arc::new(NcpTarget::from_url(parsed, secret)?))
        }
        other => Err(Failure::usage(format!(
            "'{url}': unknown protocol {other}://; use /path, file://, smb://, nfs:// or ncp://"
        ))),
    }
}

/// An SMB target. A login with Kerberos needs no password, but uses one that was given.
fn open_smb(url: TargetUrl, login: &Login) -> Result<Arc<dyn Target>, Failure> {
    // Report errors of the URL before a prompt for the password.
    let checked = SmbTarget::from_url(url.clone(), Secret::default())?;
    if let Some(tickets) = smb_tickets(&url, login, checked.requires_kerberos())? {
        return Ok(Arc::new(checked.with_tickets(tickets)));
    }
    let secret = match url.user {
        Some(_) if checked.requires_kerberos() => {
            credentials::given_for(&url, login.password_file.as_deref())?.unwrap_or_default()
        }
        Some(_) if checked.has_ticket() => {
            credentials::given_for(&url, login.password_file.as_deref())?.unwrap_or_default()
        }
        _ => secret_for(&url, login)?,
    };
    Ok(Arc::new(SmbTarget::from_url(url, secret)?))
}

/// The tickets that the options select for an SMB URL.
fn smb_tickets(
    url: &TargetUrl,
    login: &Login,
    requires_kerberos: bool,
) -> Result<Option<TicketPool>, Failure> {
    let selected = tickets::selected(&login.identity)?;
    if selected.is_some() && !requires_kerberos {
        let detail = "keytab, principal and credentials of --identity need auth=kerberos";
        return Err(Failure::usage(format!("{url}: {detail} in the URL")));
    }
    Ok(selected)
}

/// The target of a URL that names a share; none for that of a server alone, and without what the login needs.
pub type OptionalTarget = Option<Arc<dyn Target>>;

/// The probe of an SMB server, which logs in as a run does, and the target. Without a password and a ticket it does not log
/// in.
pub fn smb_probe(url: TargetUrl, login: &Login) -> Result<(SmbProbe, OptionalTarget), Failure> {
    // Report errors of the URL before a prompt for the password.
    let checked = SmbProbe::from_url(url.clone(), None)?;
    if let Some(tickets) = smb_tickets(&url, login, checked.requires_kerberos())? {
        let target = SmbTarget::from_url(url, Secret::default()).ok();
        let target = target.map(|target| Arc::new(target.with_tickets(tickets.clone())) as _);
        return Ok((checked.with_tickets(tickets), target));
    }
    let password = match url.user {
        Some(_) if checked.logs_in() => credentials::given_for(&url, login.password_file.as_deref())?,
        Some(_) => credentials::if_known(&url, login.password_file.as_deref())?,
        None => None,
    };
    let probe = SmbProbe::from_url(url.clone(), password.clone())?;
    let target = probe.logs_in().then(|| SmbTarget::from_url(url, password.unwrap_or_default()).ok());
    Ok((probe, target.flatten().map(|target| Arc::new(target) as _)))
}

/// The probe of an NCP server, which logs in as a run does, and the target. Without a password it does not log in.
pub fn ncp_probe(url: TargetUrl, login: &Login) -> Result<(NcpProbe, OptionalTarget), Failure> {
    // Report errors of the URL before a prompt for the password.
    NcpProbe::from_url(url.clone(), None)?;
    let password = match url.user {
        Some(_) => credentials::if_known(&url, login.password_file.as_deref())?,
        None => None,
    };
    let logs_in = url.user.is_none() || password.is_some();
    let probe = NcpProbe::from_url(url.clone(), password.clone())?;
    let target = logs_in.then(|| NcpTarget::from_url(url, password.unwrap_or_default()).ok());
    Ok((probe, target.flatten().map(|target| Arc::new(target) as _)))
}

/// The probe of an NFS server, which logs in as a run does, and the target.
pub fn nfs_probe(url: &TargetUrl, login: &Login) -> Result<(NfsProbe, OptionalTarget), Failure> {
    let probe = NfsProbe::from_url(url.clone())?;
    let probe = match probe.xprtsec() {
        Xprtsec::None => probe,
        requested => probe.with_tls(tls::client(&login.identity, requested, url)?),
    };
    let target = open_nfs(url, login).ok();
    let probe = match nfs_tickets(url, login, probe.uses_kerberos())? {
        Some(tickets) => probe.with_tickets(tickets),
        None => probe,
    };
    Ok((probe, target))
}

/// An NFS target. Only Kerberos has accounts.
fn open_nfs(url: &TargetUrl, login: &Login) -> Result<Arc<dyn Target>, Failure> {
    let target = NfsTarget::from_url(url.clone())?;
    let target = match target.xprtsec() {
        Xprtsec::None => target,
        requested => target.with_tls(tls::client(&login.identity, requested, url)?),
    };
    Ok(match nfs_tickets(url, login, target.uses_kerberos())? {
        Some(tickets) => Arc::new(target.with_tickets(tickets)),
        None => Arc::new(target),
    })
}

/// The tickets that the options select for an NFS URL, or that a password buys; none where those of the user's cache are
/// used.
fn nfs_tickets(url: &TargetUrl, login: &Login, uses_kerberos: bool) -> Result<Option<TicketPool>, Failure> {
    let selected = tickets::selected(&login.identity)?;
    if selected.is_some() && !uses_kerberos {
        return Err(Failure::usage(format!(
            "{url}: keytab, principal and credentials of --identity need sec=krb5, krb5i or krb5p in the URL"
        )));
    }
    if selected.is_some() || !uses_kerberos {
        return Ok(selected);
    }
    let Some(user) = &url.user else { return Ok(None) };
    let secret = credentials::given_for(url, login.password_file.as_deref())?;
    Ok(secret.map(|secret| SharedCredential::new(Identity::password(user, secret)).into()))
}

/// The password of the URL's account; a URL without an account needs none.
fn secret_for(url: &TargetUrl, login: &Login) -> Result<Secret, Failure> {
    match url.user {
        Some(_) => credentials::for_target(url, login.password_file.as_deref()),
        None => Ok(Secret::default()),
    }
}

#[cfg(test)]
mod tests {
    use sharebench_model::{OptionValues, url_options};

    use super::*;

    #[test]
    fn a_target_without_kerberos_is_a_baseline_only_next_to_one_with_it() {
        let targets = |urls: &[&str]| -> Vec<PlannedTarget> {
            urls.iter().map(|url| PlannedTarget { name: (*url).into(), url: (*url).into() }).collect()
        };
        let levels = targets(&["nfs://nas/x?sec=sys", "nfs://nas/x?sec=krb5i", "nfs://nas/x"]);
        let baselines: Vec<bool> = levels.iter().map(|target| is_baseline(target, &levels)).collect();
        // A target that does not say what it wants is no baseline: the tickets may be meant for it.
        assert_eq!(baselines, [true, false, false]);
        let alone = targets(&["nfs://nas/x?sec=sys"]);
        assert!(!is_baseline(&alone[0], &alone));
    }

    /// The message about a URL; empty if it is accepted.
    fn message(text: &str) -> String {
        let url = TargetUrl::parse(text).unwrap();
        let checked = match url.scheme.as_str() {
            "smb" => SmbTarget::from_url(url, Secret::default()).map(drop),
            "nfs" => NfsTarget::from_url(url).map(drop),
            "ncp" => NcpTarget::from_url(url, Secret::default()).map(drop),
            _ => return local_target(url).map_or_else(|error| error.to_string(), |_| String::new()),
        };
        checked.map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn adapters_take_every_declared_option_with_exactly_its_values() {
        for (base, option) in
            [("file:///x", "file"), ("smb://nas/x", "smb"), ("nfs://nas/x", "nfs"), ("ncp://nas/x", "ncp")]
                .into_iter()
                .flat_map(|(base, scheme)| url_options(scheme).map(move |option| (base, option)))
        {
            let (right, wrong) = match option.values {
                OptionValues::Choices(words) => (words.join(" "), "no-word".to_owned()),
                OptionValues::Number { least, most } => {
                    (format!("{least} {most}"), (u64::from(most) + 1).to_string())
                }
                OptionValues::Distance => ("20ms/100Mbit".to_owned(), "no-distance".to_owned()),
                OptionValues::Text(_) => (String::new(), String::new()),
            };
            for value in right.split_whitespace() {
                let given = format!("{}={value}", option.name);
                let message = message(&format!("{base}?{given}"));
                assert!(
                    !message.contains(&format!("{given}:")) && !message.contains(&format!("{given} is not")),
                    "{message}"
                );
            }
            let message = message(&format!("{base}?{}={wrong}", option.name));
            assert!(!message.contains("unknown option"), "{message}");
            // A text may be empty or not.
            let is_text = matches!(option.values, OptionValues::Text(_));
            assert!(is_text || !message.is_empty(), "{base}?{}={wrong} is accepted", option.name);
        }
        assert!(message("smb://nas/x?vers=3").contains("unknown option vers="));
    }
}
