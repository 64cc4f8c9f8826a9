//! A Kerberos realm: MIT's KDC on a loopback port, with its own database, configuration and ticket cache.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

use crate::need::Need;
use crate::program::{PATIENCE, Program, find_program, free_port, poll, run};
use crate::scratch::Scratch;

/// Environment variable by which a test process finds the realm it runs in.
const DIRECTORY: &str = "SHAREBENCH_TEST_REALM";

/// A running KDC for [`Realm::NAME`].
///
/// The Kerberos library finds the realm in environment variables, and a process with threads cannot change its own. A
/// test that uses the library itself therefore begins with [`Realm::enter`], which runs the test again in a process with
/// these variables; a test that runs programs passes [`Realm::environment`] to them.
#[derive(Debug)]
pub struct Realm {
    directory: PathBuf,
    /// The KDC, in the process that started it.
    _running: Option<(Program, Scratch)>,
}

impl Realm {
    /// Requirements of the machine.
    pub const NEEDS: [Need; 4] = [
        Need::Program("krb5kdc"),
        Need::Program("kdb5_util"),
        Need::Program("kadmin.local"),
        Need::Program("kinit"),
    ];
    /// The realm.
    pub const NAME: &str = "LAB.TEST";
    /// A user's principal without its realm.
    pub const USER: &str = "alice";
    /// The password of every user.
    pub const PASSWORD: &str = "open Sesame 42";
    /// Services with a key in [`Self::keytab`]. The tests reach servers as `localhost`.
    ///
    /// Samba uses no Kerberos for that name, and a guest has its own.
    pub const SERVICES: [&str; 4] =
        ["cifs/localhost", "nfs/localhost", "cifs/files.lab.test", "nfs/files.lab.test"];
    /// The machine of a guest, with a key in `machine.keytab`.
    const GUEST: &str = "host/guest.lab.test";
    /// Services that the KDC knows, and whose keys are in no keytab.
    pub const WITHOUT_KEY: [&str; 2] = ["cifs/keyless", "nfs/keyless"];

    /// Starts the KDC. The user that this process runs as, and [`Self::USER`], have a password and a key in
    /// [`Self::user_keytab`].
    pub fn start() -> io::Result<Self> {
        // A port can be lost to another program between choosing and binding it.
        Self::attempt().or_else(|_| Self::attempt())
    }

    fn attempt() -> io::Result<Self> {
        let scratch = Scratch::new("realm")?;
        let port = free_port()?;
        let directory = scratch.path().to_owned();
        write_configuration(&directory, port)?;
        create_database(&directory)?;
        let realm = Self { directory, _running: None };
        let kdc = find_program("krb5kdc").ok_or(io::ErrorKind::NotFound)?;
        let variables = realm.environment();
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let mut program = Program::start(&[&kdc, "-n"], &variables, &scratch.path().join("stdout"))?;
        program.wait_for_port(port, PATIENCE)?;
        Ok(Self { _running: Some((program, scratch)), ..realm })
    }

    /// The realm that this test process runs in. In the first process it starts one, runs the test with this name again,
    /// and returns `None` when it has passed.
    ///
    /// # Panics
    /// If the realm cannot be started, or the test fails in the second process.
    pub fn enter(test: &str) -> Option<Self> {
        if let Some(directory) = env::var_os(DIRECTORY) {
            return Some(Self { directory: directory.into(), _running: None });
        }
        let realm = Self::start().expect("a realm");
        let binary = env::current_exe().expect("the path of this test");
        let status = Command::new(binary)
            .args(["--exact", test, "--include-ignored", "--nocapture", "--test-threads=1"])
            .envs(realm.environment())
            .env(DIRECTORY, &realm.directory)
            .stdin(Stdio::null())
            .status();
        assert!(status.is_ok_and(|status| status.success()), "{test} failed in its realm");
        None
    }

    /// The variables by which the Kerberos library finds configuration, KDC and ticket cache.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let file = |name: &str| self.directory.join(name).display().to_string();
        vec![
            ("KRB5_CONFIG", file("krb5.conf")),
            ("KRB5_KDC_PROFILE", file("kdc.conf")),
            ("KRB5CCNAME", format!("FILE:{}", file("tickets"))),
            ("KRB5RCACHEDIR", file("")),
        ]
    }

    /// Keys of [`Self::SERVICES`].
    pub fn keytab(&self) -> PathBuf {
        self.directory.join("services.keytab")
    }

    /// Keys of the users.
    pub fn user_keytab(&self) -> PathBuf {
        self.directory.join("users.keytab")
    }

    /// TCP port of the KDC on `127.0.0.1`.
    pub fn port(&self) -> io::Result<u16> {
        let text = fs::read_to_string(self.directory.join("krb5.conf"))?;
        let port = text.lines().find_map(|line| line.trim().strip_prefix("kdc = 127.0.0.1:"));
        port.and_then(|port| port.parse().ok()).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The directory of the realm, for further files.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Requests a ticket for a user into the ticket cache, such as `["-l", "1s", "alice"]`.
    pub fn log_in(&self, arguments: &[&str]) -> io::Result<()> {
        let mut child = Command::new("kinit")
            .args(arguments)
            .envs(self.environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(format!("{}\n", Self::PASSWORD).as_bytes())?;
        }
        let status = child.wait()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("kinit: {status}"))) }
    }

    /// Requests a ticket that expires after a second, and waits until it has expired.
    pub fn log_in_expired(&self, user: &str) -> io::Result<()> {
        self.log_in(&["-l", "1s", user])?;
        if poll(PATIENCE, || !self.has_ticket()) { Ok(()) } else { Err(io::ErrorKind::TimedOut.into()) }
    }

    /// The variables with a KDC at another port of `127.0.0.1`.
    pub fn environment_with_kdc_at(&self, port: u16) -> io::Result<Vec<(&'static str, String)>> {
        let path = self.directory.join("other-kdc.conf");
        let kdc = format!("  kdc = 127.0.0.1:{port}");
        let text = fs::read_to_string(self.directory.join("krb5.conf"))?;
        let lines: Vec<&str> = text
            .lines()
            .map(|line| if line.trim().starts_with("kdc =") { kdc.as_str() } else { line })
            .collect();
        fs::write(&path, lines.join("\n") + "\n")?;
        let mut variables = self.environment();
        variables.retain(|(name, _)| *name != "KRB5_CONFIG");
        variables.push(("KRB5_CONFIG", path.display().to_string()));
        Ok(variables)
    }

    /// Removes the ticket cache.
    pub fn log_out(&self) {
        let _ = fs::remove_file(self.directory.join("tickets"));
    }

    /// Makes clients and servers use this encryption type from now on, in the words of krb5.conf.
    pub fn prefer(&self, encryption: &str) -> io::Result<()> {
        let path = self.directory.join("krb5.conf");
        let text = fs::read_to_string(&path)?;
        let others = text.lines().filter(|line| !line.contains("permitted_enctypes"));
        // The tickets themselves are encrypted with the first type of the KDC's configuration.
        let preference = format!(" permitted_enctypes = {encryption} aes256-cts-hmac-sha1-96");
        let lines: Vec<&str> = others
            .flat_map(|line| match line {
                "[libdefaults]" => vec![line, &preference],
                _ => vec![line],
            })
            .collect();
        fs::write(path, lines.join("\n") + "\n")
    }

    /// Makes clients and servers that start from now on tolerate clocks that differ by this many seconds.
    pub fn tolerate(&self, seconds: u32) -> io::Result<()> {
        let path = self.directory.join("krb5.conf");
        let text = fs::read_to_string(&path)?;
        fs::write(
            path,
            text.replacen("[libdefaults]\n", &format!("[libdefaults]\n clockskew = {seconds}\n"), 1),
        )
    }

    /// Runs commands of kadmin, one per line.
    pub fn administer(&self, commands: &str) -> io::Result<()> {
        administer(&self.directory, commands)
    }

    /// True if the ticket cache has a valid ticket.
    pub fn has_ticket(&self) -> bool {
        let status = Command::new("klist").arg("-s").envs(self.environment()).status();
        status.is_ok_and(|status| status.success())
    }
}

fn write_configuration(directory: &Path, port: u16) -> io::Result<()> {
    let home = directory.display();
    let realm = Realm::NAME;
    let client = format!(
        "[libdefaults]
 default_realm = {realm}
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
 kdc_timesync = 0
[realms]
 {realm} = {{
  kdc = 127.0.0.1:{port}
 }}
[domain_realm]
 localhost = {realm}
 keyless = {realm}
"
    );
    // MIT 1.20 adds a PAC by default, and a standalone smbd rejects tickets that contain one.
    let kdc = format!(
        "[kdcdefaults]
 kdc_listen = 127.0.0.1:{port}
 kdc_tcp_listen = 127.0.0.1:{port}
[realms]
 {realm} = {{
  database_name = {home}/principal
  key_stash_file = {home}/stash
  max_life = 10h
  disable_pac = true
  supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal aes256-cts-hmac-sha384-192:normal aes128-cts-hmac-sha256-128:normal
 }}
"
    );
    fs::write(directory.join("krb5.conf"), client)?;
    fs::write(directory.join("kdc.conf"), kdc)
}

fn create_database(directory: &Path) -> io::Result<()> {
    let create = find_program("kdb5_util").ok_or(io::ErrorKind::NotFound)?;
    let variables = database(directory);
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    run(&[&create, "create", "-s", "-r", Realm::NAME, "-P", "master"], &variables)?;
    let own = run(&["id", "-un"], &[])?;
    let home = directory.display();
    let mut commands = Vec::new();
    for user in [Realm::USER, own.trim()] {
        let password = Realm::PASSWORD;
        // Without -norandkey the export would change the password's key.
        commands.push(format!("addprinc -pw \"{password}\" {user}"));
        commands.push(format!("ktadd -k {home}/users.keytab -norandkey {user}"));
    }
    for service in Realm::SERVICES {
        commands.push(format!("addprinc -randkey {service}"));
        commands.push(format!("ktadd -k {home}/services.keytab {service}"));
    }
    commands.push(format!("addprinc -randkey {}", Realm::GUEST));
    commands.push(format!("ktadd -k {home}/machine.keytab {}", Realm::GUEST));
    for service in Realm::WITHOUT_KEY {
        commands.push(format!("addprinc -randkey {service}"));
    }
    commands.push(String::new());
    administer(directory, &commands.join("\n"))
}

fn database(directory: &Path) -> [(&'static str, String); 2] {
    let file = |name: &str| directory.join(name).display().to_string();
    [("KRB5_CONFIG", file("krb5.conf")), ("KRB5_KDC_PROFILE", file("kdc.conf"))]
}

fn administer(directory: &Path, commands: &str) -> io::Result<()> {
    let kadmin = find_program("kadmin.local").ok_or(io::ErrorKind::NotFound)?;
    let mut child = Command::new(kadmin)
        .envs(database(directory))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(commands.as_bytes())?;
    }
    let status = child.wait()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("kadmin.local: {status}"))) }
}
