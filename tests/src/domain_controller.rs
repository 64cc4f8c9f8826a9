//! Samba as an Active Directory domain controller with a share, in namespaces of its own.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::need::Need;
use crate::program::Program;
use crate::scratch::Scratch;

/// Provisioning takes four seconds, and the first answers ten more, on a machine with nothing else to do.
const LIMIT: Duration = Duration::from_secs(300);

/// A running domain controller. Its clients run in its network, by [`Self::words`].
#[derive(Debug)]
pub struct DomainController {
    program: Program,
    scratch: Scratch,
}

impl DomainController {
    /// Requirements of the machine.
    pub const NEEDS: [Need; 6] = [
        Need::Root,
        Need::NetworkNamespace,
        Need::Program("samba"),
        Need::Program("samba-tool"),
        Need::Program("winbindd"),
        Need::File("/usr/share/samba/setup/ad-schema"),
    ];
    /// The user with a key in [`Self::user_keytab`].
    pub const USER: &str = "alice";
    /// The password of the user and of the administrator, which satisfies the policy of a new domain.
    pub const PASSWORD: &str = "open Sesame 42";

    /// Provisions the domain and waits until its KDC and its share answer.
    pub fn start() -> io::Result<Self> {
        let scratch = Scratch::new("domain")?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("domain-controller").display().to_string();
        let folder = scratch.path().display().to_string();
        let line = ["unshare", "--net", "--mount", &script, &folder];
        let log = scratch.path().join("stdout");
        let mut program = Program::start(&line, &[("PASSWORD", Self::PASSWORD)], &log)?;
        program.wait_for_output("ready", LIMIT)?;
        Ok(Self { program, scratch })
    }

    /// URL of the share; the options begin with `auth=kerberos`.
    pub fn url(&self, options: &str) -> String {
        format!("smb://dc1.ad.lab.test/share?auth=kerberos{options}")
    }

    /// The words before a command that runs in the network of the domain, with its hosts file.
    pub fn words(&self) -> Vec<String> {
        let pid = self.program.pid();
        vec!["nsenter".into(), format!("--target={pid}"), "--net".into(), "--mount".into(), "--".into()]
    }

    /// The variables by which the Kerberos library finds the domain and an own ticket cache.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("KRB5_CONFIG", self.scratch.file("krb5.conf")),
            ("KRB5CCNAME", format!("FILE:{}", self.scratch.file("tickets"))),
        ]
    }

    /// The key of [`Self::USER`].
    pub fn user_keytab(&self) -> PathBuf {
        self.scratch.path().join("alice.keytab")
    }

    /// The directory of the share.
    pub fn share(&self) -> PathBuf {
        self.scratch.path().join("share")
    }
}
