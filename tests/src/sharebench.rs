//! The program itself, run as by a user: in its own working directory, with the password in the environment.

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, io};

use rustix::process::Signal;

use crate::kernel_guest::KernelGuest;
use crate::plan_line::plan_of_line;
use crate::program::{PATIENCE, Program, free_ports};
use crate::scratch::Scratch;
use crate::smbd::Smbd;

/// Attempts to start a server, because another program may take its port first.
const PORTS_LOST: usize = 4;

/// A working directory of a user, which contains the results database and reports.
#[derive(Debug)]
pub struct Sharebench {
    binary: String,
    home: Scratch,
}

/// A finished run of the program.
#[derive(Debug)]
pub struct Ended {
    /// Exit code, or `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// `sharebench serve` on loopback ports, over a directory.
#[derive(Debug)]
pub struct Served {
    program: Program,
    directory: PathBuf,
    words: Vec<String>,
    line: Vec<String>,
    /// TCP port of SMB.
    pub smb_port: u16,
    /// TCP port of NFS and its MOUNT protocol.
    pub nfs_port: u16,
    /// TCP and UDP port of NCP.
    pub ncp_port: u16,
    /// UDP port of NCP on IPX.
    pub ipx_port: u16,
}

impl Sharebench {
    /// Creates an empty working directory.
    pub fn new() -> io::Result<Self> {
        static BINARY: OnceLock<Result<String, String>> = OnceLock::new();
        Self::named(&BINARY, "program-under-test")
    }

    /// The program with MPI, which requires [`crate::Need::Mpi`].
    pub fn with_mpi() -> io::Result<Self> {
        static BINARY: OnceLock<Result<String, String>> = OnceLock::new();
        Self::named(&BINARY, "program-under-test-mpi")
    }

    /// A program that was built otherwise.
    pub fn of(binary: &str) -> io::Result<Self> {
        Ok(Self { binary: fs::canonicalize(binary)?.display().to_string(), home: Scratch::new("home")? })
    }

    fn named(binary: &OnceLock<Result<String, String>>, program: &str) -> io::Result<Self> {
        let linked = binary.get_or_init(|| link(program).map_err(|error| format!("{program}: {error}")));
        let binary = linked.clone().map_err(io::Error::other)?;
        Ok(Self { binary, home: Scratch::new("home")? })
    }

    /// Returns the path of the program.
    pub fn binary(&self) -> &str {
        &self.binary
    }

    /// The working directory.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Writes a file to the working directory.
    pub fn write(&self, name: &str, text: &str) -> io::Result<()> {
        fs::write(self.home().join(name), text)
    }

    /// Runs the program, for at most a quarter of an hour, or half an hour with `SHAREBENCH_LONG`. Words such as
    /// `plan:min_sample_time=5ms` set fields that have no option: the line then runs as a plan file.
    pub fn run(&self, arguments: &[&str]) -> io::Result<Ended> {
        self.run_with(arguments, &[])
    }

    /// Runs a command that ends with a shell script, whose `$0` is the program.
    pub fn run_by(&self, words: &[&str]) -> io::Result<Ended> {
        let line = [&["timeout", "--signal=KILL", limit()], words, &[self.binary.as_str()]].concat();
        self.end(Command::new(line[0]).args(&line[1..]))
    }

    /// Runs the program with additional environment variables.
    pub fn run_with(&self, arguments: &[&str], env: &[(&str, &str)]) -> io::Result<Ended> {
        let mut command = Command::new("timeout");
        self.end(
            command
                .args(["--signal=KILL", limit(), &self.binary])
                .args(self.line(arguments)?)
                .envs(env.iter().copied()),
        )
    }

    /// Everything that `show` prints of the last run, of which a run prints one screen.
    pub fn shown(&self) -> io::Result<String> {
        Ok(self.run(&["show", "last"])?.expect_success().stdout)
    }

    /// The line with a seed, and as the run of a plan file in the working directory if it has fields of plans.
    pub fn line(&self, arguments: &[&str]) -> io::Result<Vec<String>> {
        static PLANS: AtomicU32 = AtomicU32::new(1);
        let line = seeded(arguments);
        let Some((plan, rest)) = plan_of_line(&line) else {
            return Ok(line.into_iter().map(str::to_owned).collect());
        };
        let name = format!("line-{}.toml", PLANS.fetch_add(1, Ordering::Relaxed));
        self.write(&name, &plan)?;
        Ok([vec!["run".to_owned(), name], rest].concat())
    }

    /// Writes a file for `--identity`, and returns its name.
    pub fn identity(&self, name: &str, fields: &[(&str, &str)]) -> io::Result<String> {
        let lines: Vec<String> =
            fields.iter().map(|(field, value)| format!("{field} = {value:?}\n")).collect();
        self.write(name, &lines.concat())?;
        Ok(self.home().join(name).display().to_string())
    }

    fn end(&self, command: &mut Command) -> io::Result<Ended> {
        for (name, value) in self.environment() {
            // What a test says itself counts more.
            if command.get_envs().all(|(known, _)| known != name) {
                command.env(name, value);
            }
        }
        let output = command.current_dir(self.home()).stdin(Stdio::null()).output()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Ended { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) })
    }

    /// Starts the program in the background.
    pub fn start(&self, arguments: &[&str], log: &str) -> io::Result<Program> {
        self.start_by(&[], arguments, &[], log)
    }

    /// Starts the program through another command, with additional environment variables.
    pub fn start_by(
        &self,
        words: &[&str],
        arguments: &[&str],
        env: &[(&str, &str)],
        log: &str,
    ) -> io::Result<Program> {
        let home = self.home().display().to_string();
        let arguments = self.line(arguments)?;
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let line = [&["env", "-C", &home], words, &[&self.binary], &arguments].concat();
        let env = [&self.environment()[..], env].concat();
        Program::start(&line, &env, &self.home().join(log))
    }

    /// Serves a new subdirectory of the working directory over SMB, NFS and NCP on `127.0.0.1`.
    pub fn serve(&self, name: &str) -> io::Result<Served> {
        self.serve_on("127.0.0.1", &[], name, &[])
    }

    /// Serves on another address that includes `127.0.0.1`. NFS, which has no passwords, stays on loopback.
    pub fn serve_at(&self, name: &str, at: &str) -> io::Result<Served> {
        self.serve_on(at, &[], name, &[])
    }

    /// Serves through another command, with additional flags.
    pub fn serve_by(&self, words: &[&str], name: &str, flags: &[&str]) -> io::Result<Served> {
        self.serve_on("127.0.0.1", words, name, flags)
    }

    /// Serves the new subdirectory `served` over SMB alone, on an address with a port and through another command.
    pub fn serve_smb(&self, words: &[&str], at: &str) -> io::Result<Program> {
        self.serve_smb_with(words, at, &[])
    }

    /// The same with additional flags.
    pub fn serve_smb_with(&self, words: &[&str], at: &str, flags: &[&str]) -> io::Result<Program> {
        self.home.directory("served")?;
        let line = ["serve", "served", "--smb", at, "--account", Served::USER];
        let line = [&line[..], flags].concat();
        let mut server = self.start_by(words, &line, &[], "served.log")?;
        server.wait_for_output("serving", PATIENCE)?;
        Ok(server)
    }

    /// Serves like [`Self::serve_smb`] in the network of a guest, at a port of [`KernelGuest::MACHINE`].
    pub fn serve_smb_to(&self, guest: &KernelGuest, port: &str) -> io::Result<Program> {
        let enter = guest.enter();
        let words: Vec<&str> = enter.iter().map(String::as_str).collect();
        self.serve_smb(&words, &format!("{}:{port}", KernelGuest::MACHINE))
    }

    fn serve_on(&self, at: &str, words: &[&str], name: &str, flags: &[&str]) -> io::Result<Served> {
        let directory = self.home.directory(name)?;
        let mut served = self.try_serve(at, words, name, flags, &directory);
        for _ in 0..PORTS_LOST {
            match served {
                Err(lost) if lost.to_string().contains("cannot listen") => {
                    served = self.try_serve(at, words, name, flags, &directory);
                }
                done => return done,
            }
        }
        served
    }

    /// Serves on ports that are free now; another program may take them first.
    fn try_serve(
        &self,
        at: &str,
        words: &[&str],
        name: &str,
        flags: &[&str],
        directory: &Path,
    ) -> io::Result<Served> {
        let [smb_port, nfs_port, ncp_port, ipx_port] = free_ports()?;
        let smb = format!("{at}:{smb_port}");
        let nfs = format!("127.0.0.1:{nfs_port}");
        let ncp = format!("{at}:{ncp_port}");
        let ipx = format!("{at}:{ipx_port}");
        let line = ["serve", name, "--smb", &smb, "--nfs", &nfs, "--ncp", &ncp, "--ncp-ipx", &ipx];
        let line = [&line[..], &["--account", Served::USER], flags].concat();
        let program = self.start_by(words, &line, &[], &format!("{name}.log"))?;
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let words = owned(words);
        let line = owned(&line);
        let directory = directory.to_owned();
        let mut served = Served { program, directory, words, line, smb_port, nfs_port, ncp_port, ipx_port };
        served.wait_until_ready()?;
        Ok(served)
    }

    fn environment(&self) -> [(&'static str, &str); 3] {
        [
            ("SHAREBENCH_PASSWORD", Smbd::PASSWORD),
            // No netrc or configuration of whoever runs the tests.
            ("HOME", self.home().to_str().unwrap_or("/nonexistent")),
            ("XDG_CONFIG_HOME", ""),
        ]
    }
}

impl Ended {
    /// Returns both outputs.
    pub fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Returns itself if the program succeeded.
    ///
    /// # Panics
    /// If the program failed.
    #[must_use]
    pub fn expect_success(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.text());
        self
    }
}

/// The arguments of the program, with a fixed seed for a command that makes random choices and states none: a test fails
/// always or never.
fn seeded<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    match arguments {
        [command @ ("sweep" | "depth" | "load"), rest @ ..] if !rest.contains(&"--seed") => {
            [&[*command, "--seed", "7"], rest].concat()
        }
        _ => arguments.to_vec(),
    }
}

/// Seconds after which a program is killed.
fn limit() -> &'static str {
    if std::env::var_os("SHAREBENCH_LONG").is_some() { "1800" } else { "900" }
}

impl Served {
    /// The user of the SMB share; its password is [`Smbd::PASSWORD`].
    pub const USER: &str = "lab";
    /// Name of the NFS export.
    pub const EXPORT: &str = "/share";

    /// The directory that is served.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// URL of a directory of the SMB share.
    pub fn smb_url(&self, directory: &str) -> String {
        format!("smb://{}@127.0.0.1:{}/share/{directory}", Self::USER, self.smb_port)
    }

    /// URL of a directory of the NFS export.
    pub fn nfs_url(&self, directory: &str) -> String {
        format!("nfs://127.0.0.1:{0}{1}/{directory}?mountport={0}", self.nfs_port, Self::EXPORT)
    }

    /// URL of a directory of the export over NFSv4, with options that begin with the version.
    pub fn nfs4_url(&self, directory: &str, options: &str) -> String {
        format!("nfs://127.0.0.1:{}{}/{directory}?{options}", self.nfs_port, Self::EXPORT)
    }

    /// URL of a directory of the NCP volume.
    pub fn ncp_url(&self, directory: &str) -> String {
        format!("ncp://{}@127.0.0.1:{}/SHARE/{directory}", Self::USER, self.ncp_port)
    }

    /// URL of a directory of the NCP volume on IPX.
    pub fn ipx_url(&self, directory: &str) -> String {
        format!("ncp://{}@127.0.0.1:{}/SHARE/{directory}", Self::USER, self.ipx_port)
    }

    /// Returns its output so far.
    pub fn output(&self) -> String {
        self.program.output()
    }

    /// The server, for signals to it.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Kills the server and starts it again on the same ports with the same directory.
    pub fn restart(&mut self, sharebench: &Sharebench) -> io::Result<()> {
        self.program.signal_group(Signal::KILL);
        self.program.wait(PATIENCE)?;
        let line: Vec<&str> = self.line.iter().map(String::as_str).collect();
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        self.program = sharebench.start_by(&words, &line, &[], "restarted.log")?;
        self.wait_until_ready()
    }

    fn wait_until_ready(&mut self) -> io::Result<()> {
        for port in [self.smb_port, self.nfs_port, self.ncp_port] {
            self.program.wait_for_port(port, PATIENCE)?;
        }
        self.program.wait_for_output("serving", PATIENCE)
    }
}

/// Returns a hard link with the name of the program to a binary of this package: the next build would replace the
/// original during a test.
fn link(program: &str) -> io::Result<String> {
    let test = env::current_exe()?;
    let profile = test.ancestors().nth(2).ok_or(io::ErrorKind::NotFound)?;
    let folder = profile.join("programs").join(program);
    fs::create_dir_all(&folder)?;
    let link = folder.join("sharebench");
    // Processes in namespaces of their own share their numbers.
    let fresh = folder.join(format!("new-{:016x}", RandomState::new().hash_one(std::process::id())));
    fs::hard_link(profile.join(program), &fresh)?;
    // One that another test program uses stays what it is until its end.
    fs::rename(&fresh, &link)?;
    // Two links to one file stay as they are (rename(2)).
    match fs::remove_file(fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    Ok(link.display().to_string())
}
