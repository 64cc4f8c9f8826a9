//! The levels of the axis of security.

use sharebench_model::SCHEMES;

/// Reads a list of levels.
pub fn levels(text: &str) -> Result<Vec<String>, String> {
    let levels: Vec<String> = text.split(',').map(str::trim).map(str::to_owned).collect();
    let is_known = |level: &&String| SCHEMES.iter().any(|scheme| options(scheme, level).is_some());
    match levels.iter().find(|level| !is_known(level)) {
        None => Ok(levels),
        Some(level) => Err(format!(
            "'{level}' is no security level: use none, sign and encrypt for SMB, sys, krb5, krb5i, krb5p and tls for NFS, \
             and 0 to 3 for NCP"
        )),
    }
}

/// The options of a URL of this protocol that select a level; none if the protocol has no such level.
pub fn options(scheme: &str, level: &str) -> Option<String> {
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
