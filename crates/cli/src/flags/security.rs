//! The options for an axis of security levels.

use clap::Args;
use sharebench_plan::TypedTarget;
use sharebench_target::TargetUrl;

use super::heading;
use crate::exit::Failure;

/// Security levels of the targets of a run.
#[derive(Debug, Args, Clone, Default)]
pub struct SecurityFlags {
    /// Measure each target at these security levels. SMB: none, sign, encrypt, or one with its algorithm, such as
    /// sign:aes-cmac and encrypt:aes-256-gcm; NFS: sys, krb5, krb5i, krb5p, tls; NCP: signatures 0 to 3. A target takes the
    /// levels of its protocol.
    #[arg(long, value_name = "LEVEL,...", value_parser = levels, help_heading = heading::TARGETS)]
    pub security: Option<Levels>,
}

/// The levels of an axis, in their order.
#[derive(Debug, Clone)]
pub struct Levels(Vec<String>);

fn levels(text: &str) -> Result<Levels, String> {
    let levels: Vec<String> = text.split(',').map(str::trim).map(str::to_owned).collect();
    for (at, level) in levels.iter().enumerate() {
        if !["smb", "nfs", "ncp"].iter().any(|scheme| options(scheme, level).is_some()) {
            return Err(format!(
                "'{level}' is no security level: use none, sign and encrypt for SMB, sys, krb5, krb5i, krb5p and tls for NFS, \
                 and 0 to 3 for NCP"
            ));
        }
        if levels[..at].contains(level) {
            return Err(format!("{level} is listed twice"));
        }
    }
    Ok(Levels(levels))
}

/// The options of a URL of this protocol that select a level; none if the protocol has no such level.
fn options(scheme: &str, level: &str) -> Option<String> {
    let (base, algorithm) = level.split_once(':').map_or((level, None), |(base, name)| (base, Some(name)));
    let chosen = |key: &str| algorithm.map_or_else(String::new, |name| format!("&{key}={name}"));
    match (scheme, base, algorithm) {
        ("smb", "none", None) => Some("sign=off&encrypt=off".to_owned()),
        ("smb", "sign", _) => Some(format!("sign=required&encrypt=off{}", chosen("signing"))),
        ("smb", "encrypt", _) => Some(format!("sign=auto&encrypt=required{}", chosen("cipher"))),
        ("nfs", "sys" | "krb5" | "krb5i" | "krb5p", None) => Some(format!("sec={base}")),
        // The identities of `sec=sys`, which TLS protects with everything else.
        ("nfs", "tls", None) => Some("sec=sys&xprtsec=tls".to_owned()),
        ("ncp", "0" | "1" | "2" | "3", None) => Some(format!("sign={base}")),
        _ => None,
    }
}

impl SecurityFlags {
    /// All targets at all levels, with the levels of a target next to each other.
    pub fn apply(&self, targets: &[TypedTarget]) -> Result<Vec<TypedTarget>, Failure> {
        let Some(Levels(levels)) = &self.security else { return Ok(targets.to_vec()) };
        let mut leveled = Vec::new();
        let mut unused: Vec<&String> = levels.iter().collect();
        for target in targets {
            let url = &target.url;
            let before = leveled.len();
            let parsed = TargetUrl::parse(url)?;
            for level in levels {
                if let Some(options) = options(&parsed.scheme, level) {
                    reject_selected(&parsed, url, &options)?;
                    unused.retain(|unused| *unused != level);
                    let separator = if url.contains('?') { '&' } else { '?' };
                    leveled.push(target.with_url(format!("{url}{separator}{options}")));
                }
            }
            if leveled.len() == before {
                return Err(Failure::usage(format!("--security with '{url}': no level is of this protocol")));
            }
        }
        match unused.first() {
            Some(level) => Err(Failure::usage(format!("--security {level}: no target has this level"))),
            None => Ok(leveled),
        }
    }
}

/// Rejects a URL that selects a level already.
fn reject_selected(parsed: &TargetUrl, url: &str, options: &str) -> Result<(), Failure> {
    let keys = options.split('&').filter_map(|option| option.split_once('=')).map(|(key, _)| key);
    match keys.into_iter().find(|key| parsed.options.contains_key(*key)) {
        Some(key) => Err(Failure::usage(format!("--security with '{url}': the URL has {key}= already"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::target_axis::tests::{typed, urls_of};

    fn axis(text: &str, urls: &[&str]) -> Result<Vec<String>, String> {
        let flags = SecurityFlags { security: Some(levels(text)?) };
        flags.apply(&typed(urls)).map(urls_of).map_err(|failure| failure.to_string())
    }

    #[test]
    fn each_target_is_measured_at_the_levels_of_its_protocol() {
        let urls = ["smb://a@nas/s", "nfs://nas/x?vers=3"];
        let expected = [
            "smb://a@nas/s?sign=off&encrypt=off",
            "smb://a@nas/s?sign=required&encrypt=off&signing=aes-cmac",
            "smb://a@nas/s?sign=auto&encrypt=required",
            "nfs://nas/x?vers=3&sec=sys",
            "nfs://nas/x?vers=3&sec=krb5p",
            "nfs://nas/x?vers=3&sec=sys&xprtsec=tls",
        ];
        assert_eq!(axis("none,sign:aes-cmac,encrypt,sys,krb5p,tls", &urls).unwrap(), expected);
        assert_eq!(
            axis("0,3", &["ncp://nas/SYS"]).unwrap(),
            ["ncp://nas/SYS?sign=0", "ncp://nas/SYS?sign=3"]
        );
    }

    #[test]
    fn mistakes_are_named() {
        for (text, url, word) in [
            ("ssl", "smb://nas/x", "'ssl' is no security level"),
            ("tls", "smb://nas/x", "no level is of this protocol"),
            ("tls", "nfs://nas/x?xprtsec=mtls", "has xprtsec= already"),
            ("none:aes", "smb://nas/x", "no security level"),
            ("sign,sign", "smb://nas/x", "listed twice"),
            ("sign", "/mnt/nas", "no level is of this protocol"),
            ("none,krb5", "smb://nas/x", "--security krb5: no target"),
            ("sign", "smb://nas/x?encrypt=auto", "has encrypt= already"),
        ] {
            let error = axis(text, &[url]).unwrap_err();
            assert!(error.contains(word), "{text} {url}: {error}");
        }
    }
}
