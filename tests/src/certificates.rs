//! Certificate authorities, and certificates of servers and clients, made at run time.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, io, process};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use sharebench_tls::{ClientTls, ServerTls};

/// PEM files of two authorities, and of what they have signed. Keys can be read by their owner only.
#[derive(Debug)]
pub struct Certificates(PathBuf);

/// The validity of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Validity {
    Now,
    Past,
    Future,
}

impl Certificates {
    /// Name of the authority that signs everything but [`Self::FOREIGN`].
    pub const AUTHORITY: &str = "ca";
    /// A server with the name `localhost` and the address `127.0.0.1`.
    pub const SERVER: &str = "server";
    /// The same server with a certificate that was valid.
    pub const EXPIRED: &str = "expired";
    /// The same server with a certificate that will be valid.
    pub const EARLY: &str = "early";
    /// A server with another name.
    pub const OTHER: &str = "other";
    /// The same server, signed by an authority that nobody trusts, and its authority.
    pub const FOREIGN: &str = "foreign";
    /// Name of the authority of [`Self::FOREIGN`].
    pub const FOREIGN_AUTHORITY: &str = "foreign-ca";
    /// The same server with a certificate that is its own authority, as `openssl req -x509` makes it.
    pub const SELF_SIGNED: &str = "self-signed";
    /// A client.
    pub const CLIENT: &str = "client";

    /// Makes all of them.
    pub fn new() -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let directory = env::temp_dir().join(format!("sharebench-certificates-{}-{number}", process::id()));
        fs::create_dir_all(&directory)?;
        let made = Self(directory);
        let ours = made.authority(Self::AUTHORITY)?;
        let foreign = made.authority(Self::FOREIGN_AUTHORITY)?;
        let local = ["localhost", "127.0.0.1"];
        made.sign(Self::SERVER, &local, &ours, Validity::Now)?;
        made.sign(Self::EXPIRED, &local, &ours, Validity::Past)?;
        made.sign(Self::EARLY, &local, &ours, Validity::Future)?;
        made.sign(Self::OTHER, &["other.example"], &ours, Validity::Now)?;
        made.sign(Self::FOREIGN, &local, &foreign, Validity::Now)?;
        made.sign(Self::CLIENT, &["client.example"], &ours, Validity::Now)?;
        made.sign_itself(Self::SELF_SIGNED, &local)?;
        Ok(made)
    }

    /// The certificate with this name.
    pub fn certificate(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.pem"))
    }

    /// The private key of the certificate with this name.
    pub fn key(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.key"))
    }

    /// A client that trusts an authority; `identity` is the name of its own certificate.
    ///
    /// # Panics
    /// If a file of that name was not made.
    pub fn client(&self, authority: &str, identity: Option<&str>) -> ClientTls {
        let files = identity.map(|name| (self.certificate(name), self.key(name)));
        let files = files.as_ref().map(|(certificate, key)| (certificate.as_path(), key.as_path()));
        ClientTls::new(Some(&self.certificate(authority)), files).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A server with this certificate; `client_ca` is the authority of its clients.
    ///
    /// # Panics
    /// If a file of that name was not made.
    pub fn server(&self, name: &str, client_ca: Option<&str>) -> ServerTls {
        let authority = client_ca.map(|name| self.certificate(name));
        let tls = ServerTls::new(&self.certificate(name), &self.key(name), authority.as_deref());
        tls.unwrap_or_else(|error| panic!("{error}"))
    }

    fn authority(&self, name: &str) -> io::Result<Issuer<'static, KeyPair>> {
        let mut params = CertificateParams::new(Vec::new()).map_err(io::Error::other)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = params.self_signed(&key).map_err(io::Error::other)?;
        fs::write(self.certificate(name), certificate.pem())?;
        Ok(Issuer::new(params, key))
    }

    fn sign_itself(&self, name: &str, subjects: &[&str]) -> io::Result<()> {
        let subjects: Vec<String> = subjects.iter().map(|subject| (*subject).to_owned()).collect();
        let mut params = CertificateParams::new(subjects).map_err(io::Error::other)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = params.self_signed(&key).map_err(io::Error::other)?;
        fs::write(self.certificate(name), certificate.pem())?;
        write_key(&self.key(name), &key.serialize_pem())
    }

    fn sign(
        &self,
        name: &str,
        subjects: &[&str],
        issuer: &Issuer<'_, KeyPair>,
        validity: Validity,
    ) -> io::Result<()> {
        let subjects: Vec<String> = subjects.iter().map(|subject| (*subject).to_owned()).collect();
        let mut params = CertificateParams::new(subjects).map_err(io::Error::other)?;
        params.distinguished_name.push(DnType::CommonName, name);
        match validity {
            Validity::Now => {}
            Validity::Past => params.not_after = date_time_ymd(2001, 1, 1),
            Validity::Future => params.not_before = date_time_ymd(4000, 1, 1),
        }
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = params.signed_by(&key, issuer).map_err(io::Error::other)?;
        fs::write(self.certificate(name), certificate.pem())?;
        write_key(&self.key(name), &key.serialize_pem())
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn write_key(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}
