//! The checked options of an `smb://` URL.

use std::net::IpAddr;

use sharebench_client_core::TcpRoute;
use sharebench_gss::{Identity, SharedCredential, TicketPool};
use sharebench_target::{Secret, TargetUrl, UrlError};

use crate::client::rights::lease_choice::LeaseChoice;
use crate::client::smb1::NETBIOS_PORT;
use crate::crypto::{Cipher, SigningAlgorithm};

/// Name of SMB1 as a dialect. It is never negotiated unless it is requested.
const NT1: &str = "nt1";
const DEFAULT_PORT: u16 = 445;

/// Every supported dialect: its value on the wire and its name.
pub(crate) const DIALECTS: [(u16, &str); 5] =
    [(0x0202, "2.0.2"), (0x0210, "2.1"), (0x0300, "3.0"), (0x0302, "3.0.2"), (0x0311, "3.1.1")];

/// Name of a dialect.
pub(crate) fn dialect_name(dialect: u16) -> String {
    let known = DIALECTS.iter().find(|(code, _)| *code == dialect);
    known.map_or_else(|| format!("{dialect:#06x}"), |(_, name)| (*name).to_owned())
}

/// Ciphers, the fastest first.
pub(crate) const CIPHERS: [Cipher; 4] =
    [Cipher::Aes128Gcm, Cipher::Aes256Gcm, Cipher::Aes128Ccm, Cipher::Aes256Ccm];
/// Signing algorithms, the fastest first.
pub(crate) const SIGNING: [SigningAlgorithm; 3] =
    [SigningAlgorithm::AesGmac, SigningAlgorithm::AesCmac, SigningAlgorithm::HmacSha256];

/// Whether messages are to be signed, or encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protection {
    /// If the server requires it.
    Auto,
    /// Always; a session without it is rejected.
    Required,
    /// Never; a session that requires it is rejected.
    Off,
}

/// How SMB1 is carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Smb1Transport {
    /// Directly over TCP.
    Tcp,
    /// Over the session service of `NetBIOS`.
    Netbios,
}

/// The mechanism of the login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuthMethod {
    /// Kerberos if the user has a ticket for the server, otherwise NTLM.
    Auto,
    /// Kerberos only.
    Kerberos,
    /// NTLM only.
    Ntlm,
}

/// A checked `smb://` URL and the password for it.
#[derive(Debug, Clone)]
pub(crate) struct SmbOptions {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Name of the account; none for an anonymous session.
    pub(crate) user: Option<String>,
    pub(crate) domain: String,
    pub(crate) password: Secret,
    pub(crate) share: String,
    /// Path below the share with `/` between names; may be empty.
    pub(crate) directory: String,
    /// Dialects offered to the server.
    pub(crate) dialects: Vec<u16>,
    /// SMB1 (NT LM 0.12) instead.
    pub(crate) nt1: Option<Smb1Transport>,
    pub(crate) sign: Protection,
    pub(crate) encrypt: Protection,
    /// Signing algorithms offered in dialect 3.1.1; earlier dialects have one each.
    pub(crate) signing: Vec<SigningAlgorithm>,
    /// Ciphers offered in dialect 3.1.1; earlier dialects have one each.
    pub(crate) ciphers: Vec<Cipher>,
    pub(crate) auth: AuthMethod,
    /// Principal of the server, if it is not `cifs/` with the host of the URL.
    pub(crate) spn: Option<String>,
    /// Kerberos tickets, which the sessions of this URL share.
    pub(crate) tickets: TicketPool,
    /// Connections of each session.
    pub(crate) channels: u32,
    /// The URL states the number of connections, so that it is a fact of the run.
    pub(crate) states_channels: bool,
    /// What opens request to cache.
    pub(crate) lease: LeaseChoice,
    /// Opens of files request durable handles.
    pub(crate) durable: bool,
    /// How the server is reached.
    pub(crate) tcp: TcpRoute,
    /// Capabilities that are announced in addition to those that a run uses.
    pub(crate) further_capabilities: u32,
}

impl SmbOptions {
    pub(crate) fn from_url(url: TargetUrl, password: Secret) -> Result<Self, UrlError> {
        let missing = url.error("the URL has no share: write smb://host/share");
        let options = Self::with_optional_share(url, password)?;
        if options.share.is_empty() { Err(missing) } else { Ok(options) }
    }

    /// Checks a URL that may have no share: then the share is empty.
    pub(crate) fn with_optional_share(mut url: TargetUrl, password: Secret) -> Result<Self, UrlError> {
        if url.scheme != "smb" {
            return Err(url.error("not an smb:// URL"));
        }
        let (share, directory) = split_path(&url)?;
        let nt1 = url.options.get("dialect").is_some_and(|dialect| dialect == NT1);
        let dialects = dialects(&mut url)?;
        let nt1 = nt1_transport(&mut url, nt1)?;
        let sign = protection(&mut url, "sign")?;
        let encrypt = protection(&mut url, "encrypt")?;
        let signing = algorithms(&mut url, "signing", &dialects, &SIGNING, SigningAlgorithm::name)?;
        let ciphers = algorithms(&mut url, "cipher", &dialects, &CIPHERS, Cipher::name)?;
        let auth = auth_method(&mut url)?;
        let spn = url.take("spn");
        let domain = url.take("domain").unwrap_or_default();
        let states_channels = url.options.contains_key("channels");
        let channels = url.take_number("channels")?.unwrap_or(1);
        let lease = LeaseChoice::take(&mut url)?;
        let durable = url.take_switch("durable")?.unwrap_or(false);
        let tcp = TcpRoute::take(&mut url)?;
        url.refuse_leftovers()?;
        if encrypt == Protection::Required && dialects.iter().all(|dialect| *dialect < 0x0300) {
            return Err(url.error("encrypt=required needs dialect 3.0 or later"));
        }
        if nt1.is_some()
            && (encrypt == Protection::Required || channels > 1 || lease != LeaseChoice::None || durable)
        {
            return Err(url.error("dialect=nt1 has no encryption, channels, leases and durable handles"));
        }
        if nt1.is_some() && auth == AuthMethod::Kerberos {
            return Err(url.error("auth=kerberos needs dialect 2.0.2 or later: SMB1 logs in with NTLM only"));
        }
        let newest = dialects.iter().max().copied().unwrap_or_default();
        if newest < lease.oldest_dialect() {
            let name = lease.name();
            let oldest = dialect_name(lease.oldest_dialect());
            return Err(url.error(format!("lease={name} needs dialect {oldest} or later")));
        }
        if durable && newest < 0x0300 {
            return Err(url.error("durable=on needs dialect 3.0 or later"));
        }
        if channels > 1 && dialects.iter().all(|dialect| *dialect < 0x0300) {
            return Err(url.error(format!("channels={channels} needs dialect 3.0 or later")));
        }
        if channels > 1 && url.user.is_none() {
            return Err(url.error(format!(
                "channels={channels} needs a user: an anonymous session has no key to bind channels with"
            )));
        }
        let tickets = SharedCredential::new(identity(url.user.as_deref(), &domain, auth, &password)).into();
        Ok(Self {
            host: url.host,
            port: url.port.unwrap_or(if nt1 == Some(Smb1Transport::Netbios) {
                NETBIOS_PORT
            } else {
                DEFAULT_PORT
            }),
            user: url.user,
            domain,
            password,
            share,
            directory,
            dialects,
            nt1,
            sign,
            encrypt,
            signing,
            ciphers,
            auth,
            spn,
            tickets,
            channels,
            states_channels,
            lease,
            durable,
            tcp,
            further_capabilities: 0,
        })
    }
}

impl SmbOptions {
    /// True if only Kerberos may be used.
    pub(crate) fn requires_kerberos(&self) -> bool {
        self.auth == AuthMethod::Kerberos
    }

    /// True if there is a ticket for the account, and its use is not forbidden.
    pub(crate) fn has_ticket(&self) -> bool {
        let credential = || self.tickets.next()?.get().ok();
        self.auth != AuthMethod::Ntlm && self.names_server() && credential().is_some()
    }

    /// The options of one session, whose channels all log in as the same principal.
    pub(crate) fn with_one_ticket(&self) -> Self {
        let tickets = self.tickets.next().map_or_else(|| self.tickets.clone(), TicketPool::from);
        Self { tickets, ..self.clone() }
    }

    /// True if the server has a name that a ticket can be for.
    pub(crate) fn names_server(&self) -> bool {
        self.spn.is_some() || self.host.parse::<IpAddr>().is_err()
    }
}

fn split_path(url: &TargetUrl) -> Result<(String, String), UrlError> {
    let mut names = url.path.split('/').filter(|name| !name.is_empty());
    let share = names.next().unwrap_or_default();
    let directory: Vec<&str> = names.collect();
    let bad = |name: &&str| matches!(*name, "." | "..") || name.contains(['\\', '\0']);
    if directory.iter().chain([&share]).any(bad) {
        return Err(url.error("the path must not contain '.', '..' or '\\'"));
    }
    Ok((share.to_owned(), directory.join("/")))
}

fn dialects(url: &mut TargetUrl) -> Result<Vec<u16>, UrlError> {
    let Some(text) = url.take("dialect") else {
        return Ok(DIALECTS.iter().map(|(code, _)| *code).collect());
    };
    let Some((code, _)) = DIALECTS.iter().find(|(_, name)| *name == text) else {
        if text == NT1 {
            // A probe of such a target still shows the dialects that the server offers instead.
            return Ok(DIALECTS.iter().map(|(code, _)| *code).collect());
        }
        let names = DIALECTS.map(|(_, name)| name).join(", ");
        return Err(url.error(format!("dialect={text}: the dialects are {names} and {NT1} (SMB1)")));
    };
    Ok(vec![*code])
}

/// Takes `transport=`; none if the dialect is not SMB1.
fn nt1_transport(url: &mut TargetUrl, nt1: bool) -> Result<Option<Smb1Transport>, UrlError> {
    match url.take_choice("transport")? {
        Some("netbios") if nt1 => Ok(Some(Smb1Transport::Netbios)),
        Some("netbios") => Err(url.error("transport=netbios needs dialect=nt1")),
        _ => Ok(nt1.then_some(Smb1Transport::Tcp)),
    }
}

fn protection(url: &mut TargetUrl, key: &str) -> Result<Protection, UrlError> {
    Ok(match url.take_choice(key)? {
        Some("required") => Protection::Required,
        Some("off") => Protection::Off,
        _ => Protection::Auto,
    })
}

/// The algorithm of an option, by its name in any case, or all of them.
fn algorithms<A: Copy>(
    url: &mut TargetUrl,
    key: &str,
    dialects: &[u16],
    all: &[A],
    name: impl Fn(A) -> &'static str,
) -> Result<Vec<A>, UrlError> {
    let Some(text) = url.take(key) else { return Ok(all.to_vec()) };
    if !dialects.contains(&0x0311) {
        return Err(url.error(format!("{key}={text}: only dialect 3.1.1 has a choice")));
    }
    if let Some(algorithm) = all.iter().find(|algorithm| name(**algorithm).eq_ignore_ascii_case(&text)) {
        return Ok(vec![*algorithm]);
    }
    let names: Vec<&str> = all.iter().map(|algorithm| name(*algorithm)).collect();
    Err(url.error(format!("{key}={text}: the choices are {}", names.join(", "))))
}

fn auth_method(url: &mut TargetUrl) -> Result<AuthMethod, UrlError> {
    Ok(match url.take_choice("auth")? {
        Some("kerberos") => AuthMethod::Kerberos,
        Some("ntlm") => AuthMethod::Ntlm,
        _ => AuthMethod::Auto,
    })
}

/// Who logs in with Kerberos: the account of the URL, or the default principal of the ticket cache. A password is used
/// only where the URL requires Kerberos; with `auto` it is for NTLM.
fn identity(user: Option<&str>, domain: &str, auth: AuthMethod, password: &Secret) -> Identity {
    let Some(user) = user else { return Identity::ticket_cache() };
    // A domain with a dot is a realm; the short name of a domain is none.
    let principal = if domain.contains('.') && !user.contains('@') {
        format!("{user}@{}", domain.to_uppercase())
    } else {
        user.to_owned()
    };
    if auth == AuthMethod::Kerberos && !password.is_empty() {
        return Identity::password(&principal, password.clone());
    }
    Identity::cached(&principal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Result<SmbOptions, UrlError> {
        SmbOptions::from_url(TargetUrl::parse(text).unwrap(), Secret::new("hunter2"))
    }

    #[test]
    fn a_url_with_all_options_is_parsed() {
        let text = "smb://alice@nas:4450/share/a/b?dialect=3.0.2&sign=required&encrypt=off&domain=LAB";
        let options = options(text).unwrap();
        assert_eq!((options.host.as_str(), options.port), ("nas", 4450));
        assert_eq!((options.share.as_str(), options.directory.as_str()), ("share", "a/b"));
        assert_eq!((options.user.as_deref(), options.domain.as_str()), (Some("alice"), "LAB"));
        assert_eq!(options.dialects, [0x0302]);
        assert_eq!((options.sign, options.encrypt), (Protection::Required, Protection::Off));
        assert!(!format!("{options:?}").contains("hunter2"));
    }

    #[test]
    fn a_url_without_options_selects_every_dialect_and_the_registered_port() {
        let options = options("smb://nas/share").unwrap();
        assert_eq!((options.port, options.dialects.len(), options.directory.as_str()), (445, 5, ""));
        assert_eq!((options.sign, options.encrypt, options.user), (Protection::Auto, Protection::Auto, None));
    }

    #[test]
    fn errors_name_the_mistake() {
        for (text, word) in [
            ("nfs://nas/x", "smb://"),
            ("smb://nas", "share"),
            ("smb://nas/", "share"),
            ("smb://nas/x/../y", ".."),
            ("smb://nas/x?dialect=3", "3.1.1"),
            ("smb://nas/x?sign=yes", "required"),
            ("smb://nas/x?encrypt=on", "encrypt=on"),
            ("smb://nas/x?encrypt=required&dialect=2.1", "3.0"),
            (
                "smb://nas/x?vers=3",
                "dialect, sign, signing, encrypt, cipher, auth, spn, domain, channels, lease, durable, transport, far",
            ),
            ("smb://nas/x?channels=0", "1 to 32"),
            ("smb://nas/x?transport=netbios", "needs dialect=nt1"),
            ("smb://nas/x?transport=ipx", "tcp and netbios"),
            ("smb://nas/x?dialect=nt1&encrypt=required", "no encryption"),
            ("smb://nas/x?dialect=nt1&lease=r", "leases"),
            ("smb://nas/x?lease=rw", "none, r, rh, rwh, dir"),
            ("smb://nas/x?lease=rwh&dialect=2.0.2", "lease=rwh needs dialect 2.1"),
            ("smb://nas/x?lease=dir&dialect=2.1", "3.0"),
            ("smb://nas/x?durable=yes", "on and off"),
            ("smb://nas/x?durable=on&dialect=2.1", "3.0"),
            ("smb://a@nas/x?channels=33", "1 to 32"),
            ("smb://a@nas/x?channels=2&dialect=2.1", "3.0"),
            ("smb://nas/x?channels=2", "needs a user"),
            ("smb://nas/x?cipher=rot13", "AES-256-GCM"),
            ("smb://nas/x?signing=md5", "AES-GMAC"),
            ("smb://nas/x?signing=aes-cmac&dialect=3.0", "dialect 3.1.1"),
            ("smb://nas/x?auth=krb5", "auto, kerberos and ntlm"),
            ("smb://nas/x?auth=kerberos&dialect=nt1", "SMB1 logs in with NTLM only"),
            ("smb://nas/x?far=20", "'20' is not a distance"),
        ] {
            let error = options(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
