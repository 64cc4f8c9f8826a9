//! The servers whose security is measured.

use sharebench_tests::program::{PATIENCE, free_ports, run};
use sharebench_tests::{Ganesha, GaneshaOptions, Program, Realm, Sharebench, Smbd, SmbdOptions};

/// Servers that accept passwords and tickets, in processes of their own, and the program as their client.
pub struct Peers {
    pub sharebench: Sharebench,
    pub smbd: Smbd,
    pub ganesha: Ganesha,
    /// Our server of SMB and NCP, with an account.
    pub ours: Program,
    /// Our server of NFS without Kerberos, whose calls have `AUTH_SYS`.
    pub open: Program,
    /// Our server of SMB and NFS, with a keytab.
    pub kerberos: Program,
    pub smb_port: u16,
    pub ncp_port: u16,
    pub open_port: u16,
    pub kerberos_smb_port: u16,
    pub kerberos_nfs_port: u16,
    /// Variables of the realm, for the program.
    variables: Vec<(&'static str, String)>,
    pub keytab: String,
    pub principal: String,
}

impl Peers {
    pub fn start(realm: &Realm) -> Self {
        let sharebench = Sharebench::new().unwrap();
        let keytab = Some(realm.keytab());
        let smbd = Smbd::start(&SmbdOptions { keytab: keytab.clone(), ..SmbdOptions::default() }).unwrap();
        let flavor = Some("sys,krb5,krb5i,krb5p");
        let ganesha =
            Ganesha::start(&GaneshaOptions { flavor, keytab, ..GaneshaOptions::default() }).unwrap();
        let [smb_port, ncp_port, open_port, kerberos_smb_port, kerberos_nfs_port] = free_ports().unwrap();
        let at = |port: u16| format!("127.0.0.1:{port}");
        let keys = [("keytab", realm.keytab().display().to_string())];
        let keys = sharebench
            .identity("server.toml", &keys.each_ref().map(|(name, path)| (*name, path.as_str())))
            .unwrap();
        let variables = realm.environment();
        let serve = |name: &str, flags: &[&str]| {
            let line = [&["serve", "--memory", "1GiB"][..], flags].concat();
            let own: Vec<(&str, &str)> =
                variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let mut program = sharebench.start_by(&[], &line, &own, name).unwrap();
            program.wait_for_output("serving", PATIENCE).unwrap();
            program
        };
        let ours = serve("ours", &["--smb", &at(smb_port), "--ncp", &at(ncp_port), "--account", "lab"]);
        let open = serve("open", &["--nfs", &at(open_port)]);
        let with_keys =
            ["--smb", &at(kerberos_smb_port), "--nfs", &at(kerberos_nfs_port), "--identity", &keys];
        let kerberos = serve("kerberos", &with_keys);
        let keytab = realm.user_keytab().display().to_string();
        let principal = run(&["id", "-un"], &[]).unwrap().trim().to_owned();
        Self {
            sharebench,
            smbd,
            ganesha,
            ours,
            open,
            kerberos,
            smb_port,
            ncp_port,
            open_port,
            kerberos_smb_port,
            kerberos_nfs_port,
            variables,
            keytab,
            principal,
        }
    }

    /// Runs the program; its words are separated by spaces, and none contains one.
    pub fn run(&self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let variables: Vec<(&str, &str)> =
            self.variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let _ = self.sharebench.run_with(&words, &variables).unwrap().expect_success();
    }

    /// The option of a login with the user's key.
    pub fn tickets(&self) -> String {
        let identity = [("keytab", self.keytab.as_str()), ("principal", self.principal.as_str())];
        format!("--identity {}", self.sharebench.identity("who.toml", &identity).unwrap())
    }
}
