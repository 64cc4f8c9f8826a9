//! `sharebench serve`: embedded servers until a signal.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use sharebench_gss::AcceptorKeys;
use sharebench_model::units::{ByteSize, parse_duration};
use sharebench_ncp::security::level::Level;
use sharebench_ncp::server::Watchdog;
use sharebench_plan::nearest;
use sharebench_report::plain;
use sharebench_server::{
    BinderyProfile, CacheOptions, CommitPolicy, DeviceOptions, DeviceVolume, DirectoryOptions,
    DirectoryVolume, EmbeddedServers, EventLog, MemoryVolume, NameSpaces, NcpEtherOptions, NcpEtherServer,
    NfsTls, ServeOptions, ServiceTime, Volume, WriteTimes, share_arenas,
};

use crate::exit::Failure;
use crate::flags::password::PasswordFlags;
use crate::identity::{IdentityFile, Role};
use crate::output::{message, print_out};
use crate::run::accounts_file::{self, Account};
use crate::run::credentials::{self, VARIABLE, warn_of_readers};
use crate::run::interrupts::Interrupts;
use crate::run::tls;

pub const SERVE_HELP: &str = "Examples:
  SHAREBENCH_PASSWORD=... sharebench serve /srv --smb 127.0.0.1:4450 --nfs 127.0.0.1:2049 --account alice
  SHAREBENCH_PASSWORD=... sharebench serve /srv --ncp 127.0.0.1:5240 --account alice --name sys
  sharebench serve --memory 1GiB --nfs 127.0.0.1:2049 --service-time 2ms --cache 64MiB";

/// A volume and the addresses of its servers.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Directory to serve.
    #[arg(required_unless_present = "memory", conflicts_with = "memory")]
    pub directory: Option<PathBuf>,
    /// Serve a volume of SIZE in memory instead of a directory.
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<ByteSize>,
    /// Name of the SMB share. The NFS export is "/" and this name, the NCP volume is this name in upper case.
    #[arg(long, default_value = "share")]
    pub name: String,
    /// Reject all changes.
    #[arg(long)]
    pub read_only: bool,
    #[command(flatten)]
    pub protocols: ProtocolFlags,
    #[command(flatten)]
    pub access: AccessFlags,
    #[command(flatten)]
    pub device: DeviceFlags,
}

/// The protocols and their addresses.
#[derive(Debug, Args)]
#[command(next_help_heading = "Protocols")]
pub struct ProtocolFlags {
    /// Serve SMB at this address; addresses other than loopback need --account or
    /// --accounts.
    #[arg(long, value_name = "ADDR:PORT")]
    pub smb: Option<SocketAddr>,
    /// When SMB clients see the time of a write to an open file.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, requires = "smb")]
    pub smb_write_times: SmbWriteTimes,
    /// Also answer clients that offer nothing newer than SMB1 (NT LM 0.12), which is unsafe: loopback addresses only.
    #[arg(long, requires = "smb")]
    pub smb1: bool,
    /// Serve NFS 3, 4.0, 4.1 and 4.2, and MOUNT, at this address.
    #[arg(long, value_name = "ADDR:PORT")]
    pub nfs: Option<SocketAddr>,
    /// Keep the secret of NFS file handles and the names of `NFSv4` clients in FILE. After a restart over the same
    /// directory, clients then continue with their handles, open files and locks.
    #[arg(long, value_name = "FILE", requires = "nfs", conflicts_with = "memory")]
    pub nfs_state: Option<PathBuf>,
    /// Answer NFS 3 and MOUNT over UDP as well, at the port of --nfs.
    #[arg(long, requires = "nfs")]
    pub nfs_udp: bool,
    /// Serve NCP over TCP and UDP at this address; addresses other than loopback need --account.
    #[arg(long, value_name = "ADDR:PORT")]
    pub ncp: Option<SocketAddr>,
    /// Serve NCP over IPX in UDP (RFC 1234, `DOSBox`) at this address.
    #[arg(long, value_name = "ADDR:PORT")]
    pub ncp_ipx: Option<SocketAddr>,
    /// Serve NCP over IPX on an Ethernet interface. FRAME is ii, raw, 802.2 (default) or snap; NETWORK is the hexadecimal
    /// number of the segment (default 1). Needs the capability `CAP_NET_RAW` and --account.
    #[arg(long, value_name = "IFACE[,FRAME[,NETWORK]]")]
    pub ncp_ether: Option<NcpEtherOptions>,
    /// Settings of NCP: sign=LEVEL and checksum=LEVEL (signatures of packets, and checksums of IPX on Ethernet: 0 never, 1 if
    /// the client requires them, 2 if it supports them, 3 always; default 1), commit=disk|none (durability of committed files),
    /// names=all|dos (names that clients can give), watchdog=TIME/N (query a silent client on UDP or IPX after TIME, and remove
    /// it after N queries, a fifth of TIME apart; default 5m/10).
    #[arg(long, value_name = "NAME=VALUE,...")]
    pub ncp_options: Option<NcpSettings>,
}

/// Parses the time before the first query and the number of queries.
fn parse_watchdog(text: &str) -> Result<Watchdog, String> {
    /// Shorter times would remove clients that wait for a slow request.
    const TIMES: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(24);
    let (idle, queries) = text.split_once('/').ok_or("give TIME/N such as 5m/10")?;
    let idle = parse_duration(idle).map_err(|error| error.to_string())?;
    if !TIMES.contains(&idle) {
        return Err("give a time from 1s to 24h".to_owned());
    }
    match queries.trim().parse() {
        Ok(queries @ 1..=1000) => Ok(Watchdog::new(idle, queries)),
        _ => Err(format!("'{queries}' is not a number of queries from 1 to 1000")),
    }
}

/// Who may use the servers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Access")]
pub struct AccessFlags {
    /// Account of the SMB share and the NCP volume. Its password comes from `SHAREBENCH_PASSWORD` or --password-file.
    #[arg(long, value_name = "USER")]
    pub account: Option<String>,
    /// Accounts, one per line: NAME:PASSWORD[:GROUP,...[:FULL NAME]]. Only their owner may read FILE. SMB uses names and
    /// passwords; NCP also shows groups and full names in its bindery.
    #[arg(long, value_name = "FILE")]
    pub accounts: Option<PathBuf>,
    /// Keys and certificates of the server (docs/protocols/identity.md): `keytab` (accept Kerberos tickets; NFS then requires
    /// Kerberos. Over SMB, the name of a principal must be an account if there are accounts; without accounts, a ticket is
    /// required and suffices), `tls_cert` and `tls_key` (serve NFS with TLS to clients that request it), `tls_client_ca` and
    /// `tls_required`.
    #[arg(long, value_name = "FILE.toml")]
    pub identity: Option<PathBuf>,
    #[command(flatten)]
    pub password: PasswordFlags,
    /// Print successful logins over NCP; failed and rejected ones are always printed.
    #[arg(long)]
    pub log_logins: bool,
    /// Maximum number of clients of each server [default: 10000]. A server at its limit closes the oldest connection
    /// without a login for a new one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=65_000))]
    pub max_clients: Option<u16>,
    /// Allow NFS on addresses other than loopback, although its clients have no passwords.
    #[arg(long)]
    pub expose_nfs: bool,
}

/// A device of known speed under the volume.
#[derive(Debug, Args)]
#[command(next_help_heading = "Device model")]
pub struct DeviceFlags {
    /// Service time of each operation that misses the cache.
    #[arg(long, value_parser = parse_duration, value_name = "TIME")]
    pub service_time: Option<Duration>,
    /// Time that each entry of a directory adds to an operation on a name in it, as a linear search does.
    #[arg(long, value_parser = parse_duration, value_name = "TIME")]
    pub entry_time: Option<Duration>,
    /// Bandwidth in bytes per second.
    #[arg(long, value_name = "SIZE")]
    pub bandwidth: Option<ByteSize>,
    /// Size of the cache, which evicts the least recently used data.
    #[arg(long, value_name = "SIZE")]
    pub cache: Option<ByteSize>,
}

/// When SMB clients see the time of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum SmbWriteTimes {
    /// With the next request, as on Windows Server 2019 and Samba 4.23.
    #[default]
    AtOnce,
    /// The first write after 2 s, further ones at the close, as on Windows Server 2016 and Samba 4.22.
    Delayed,
}

/// Settings of the NCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NcpSettings {
    signatures: Level,
    checksums: Level,
    commit: CommitPolicy,
    names: NameSpaces,
    watchdog: Watchdog,
}

impl Default for NcpSettings {
    fn default() -> Self {
        Self {
            signatures: Level::default(),
            checksums: Level::default(),
            commit: CommitPolicy::Disk,
            names: NameSpaces::All,
            watchdog: Watchdog::default(),
        }
    }
}

impl std::str::FromStr for NcpSettings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const NAMES: [&str; 5] = ["sign", "checksum", "commit", "names", "watchdog"];
        let mut settings = Self::default();
        for pair in text.split(',').filter(|pair| !pair.is_empty()) {
            let Some((name, value)) = pair.split_once('=') else {
                return Err(format!("'{pair}': write NAME=VALUE, such as sign=3"));
            };
            let level = || {
                let level = value.parse().ok().and_then(Level::from_number);
                level.ok_or_else(|| format!("{pair}: the levels are 0 to 3"))
            };
            match (name, value) {
                ("sign", _) => settings.signatures = level()?,
                ("checksum", _) => settings.checksums = level()?,
                ("commit", "disk") => settings.commit = CommitPolicy::Disk,
                ("commit", "none") => settings.commit = CommitPolicy::None,
                ("commit", _) => return Err(format!("{pair}: the choices are disk and none")),
                ("names", "all") => settings.names = NameSpaces::All,
                ("names", "dos") => settings.names = NameSpaces::Dos,
                ("names", _) => return Err(format!("{pair}: the choices are all and dos")),
                ("watchdog", _) => {
                    settings.watchdog = parse_watchdog(value).map_err(|why| format!("{pair}: {why}"))?;
                }
                _ => {
                    let meant =
                        nearest(name, &NAMES).map_or(String::new(), |name| format!("did you mean {name}? "));
                    return Err(format!("unknown setting {name}; {meant}known are {}", NAMES.join(", ")));
                }
            }
        }
        Ok(settings)
    }
}

/// Serves until SIGINT, SIGTERM or SIGHUP; a second signal ends the process without waiting for the servers.
pub fn run(args: &ServeArgs) -> Result<ExitCode, Failure> {
    let ProtocolFlags { smb, nfs, ncp, ncp_ipx, ncp_ether, ncp_options, .. } = &args.protocols;
    if smb.or(*nfs).or(*ncp).or(*ncp_ipx).is_none() && ncp_ether.is_none() {
        return Err(Failure::usage("give at least one of --smb, --nfs, --ncp, --ncp-ipx and --ncp-ether"));
    }
    let identity = args.access.identity.as_deref().map(|path| IdentityFile::read(path, Role::Server));
    let identity = identity.transpose()?.unwrap_or_default();
    if identity.tls_cert.is_some() && nfs.is_none() {
        return Err(identity.error("tls_cert needs --nfs: only NFS is served with TLS"));
    }
    let accounts = accounts(&args.access)?;
    let account = accounts.first().map(|account| account.name.clone());
    let ncp_options = ncp_options.clone().unwrap_or_default();
    share_arenas();
    let volume = volume(args)?;
    let options = ServeOptions {
        smb: *smb,
        nfs: *nfs,
        ncp: *ncp,
        ncp_ipx: *ncp_ipx,
        ncp_ether: ncp_ether.clone(),
        ncp_signatures: ncp_options.signatures,
        ncp_checksums: ncp_options.checksums,
        ncp_commit: ncp_options.commit,
        ncp_names: ncp_options.names,
        ncp_watchdog: ncp_options.watchdog,
        smb_write_times: match args.protocols.smb_write_times {
            SmbWriteTimes::AtOnce => WriteTimes::AtOnce,
            SmbWriteTimes::Delayed => WriteTimes::Delayed,
        },
        smb1: args.protocols.smb1,
        bindery_profiles: accounts.iter().map(bindery_profile).collect(),
        keys: keys(&identity)?,
        accounts: accounts.into_iter().map(|account| (account.name, account.password)).collect(),
        log_logins: args.access.log_logins,
        read_only: args.read_only,
        name: args.name.clone(),
        nfs_state: args.protocols.nfs_state.clone(),
        nfs_tls: nfs_tls(&identity)?,
        nfs_udp: args.protocols.nfs_udp,
        expose_nfs: args.access.expose_nfs,
        max_clients: args.access.max_clients,
        log: EventLog::new(|text| message(plain(text))),
    };
    let interrupts = Interrupts::catch()?;
    let _serving = interrupts.serving();
    let servers = EmbeddedServers::start(&volume, &options).map_err(Failure::usage)?;
    if args.protocols.smb1 {
        message(
            "warning: --smb1 is unsafe: SMB1 has no encryption, its signatures are MD5, and its negotiation is not \
             protected",
        );
    }
    print_out(&(urls(&servers, account.as_deref(), args, &identity) + "serving; press Ctrl-C to end\n"))?;
    interrupts.wait();
    // A volume may block for a long time, and the threads that call it cannot be interrupted.
    message("stopping; a second signal ends the program at once");
    servers.stop();
    Ok(ExitCode::SUCCESS)
}

/// What the bindery shows of an account.
fn bindery_profile(account: &Account) -> (String, BinderyProfile) {
    let profile = BinderyProfile { groups: account.groups.clone(), full_name: account.full_name.clone() };
    (account.name.clone(), profile)
}

/// The Kerberos keys of the server.
fn keys(identity: &IdentityFile) -> Result<Option<AcceptorKeys>, Failure> {
    let Some(path) = &identity.keytab else { return Ok(None) };
    warn_of_readers("keytab", path);
    let keys = AcceptorKeys::read(path);
    keys.map(Some).map_err(|error| identity.error(format!("keytab {}: {error}", path.display())))
}

/// The certificate of the server.
fn nfs_tls(identity: &IdentityFile) -> Result<Option<NfsTls>, Failure> {
    let (Some(certificate), Some(key)) = (&identity.tls_cert, &identity.tls_key) else { return Ok(None) };
    Ok(Some(NfsTls { tls: tls::server(identity, certificate, key)?, required: identity.tls_required }))
}

/// The option of an NFS URL that the server requires.
fn nfs_option(identity: &IdentityFile) -> &'static str {
    match (identity.tls_required, &identity.tls_client_ca) {
        (false, _) => "",
        (true, None) => "&xprtsec=tls",
        (true, Some(_)) => "&xprtsec=mtls",
    }
}

/// The account of --account and those of --accounts, with their passwords.
fn accounts(access: &AccessFlags) -> Result<Vec<Account>, Failure> {
    let mut accounts = single_account(access)?;
    if let Some(path) = &access.accounts {
        accounts.extend(accounts_file::read(path)?);
    }
    if let [first, others @ ..] = &accounts[..]
        && others.iter().any(|other| other.name.to_uppercase() == first.name.to_uppercase())
    {
        return Err(Failure::usage(format!("--account {} is also an account of --accounts", first.name)));
    }
    Ok(accounts)
}

/// The account of --account with its password.
fn single_account(access: &AccessFlags) -> Result<Vec<Account>, Failure> {
    let Some(account) = &access.account else { return Ok(Vec::new()) };
    let password = credentials::given(access.password.file())?;
    let missing = || {
        Failure::usage(format!(
            "--account {account} needs a password: set {VARIABLE} or give --password-file"
        ))
    };
    let password = password.ok_or_else(missing)?;
    Ok(vec![Account { name: account.clone(), password, groups: Vec::new(), full_name: String::new() }])
}

/// The URLs of the servers, one per line, with the name of the first account.
fn urls(
    servers: &EmbeddedServers,
    account: Option<&str>,
    args: &ServeArgs,
    identity: &IdentityFile,
) -> String {
    let account = account.map_or(String::new(), |account| format!("{account}@"));
    let volume = args.name.to_uppercase();
    let mut urls = Vec::new();
    for (protocol, addr) in servers.addrs() {
        match protocol {
            "smb" => urls.push(format!("smb://{account}{addr}/{}", args.name)),
            "ncp" => {
                urls.push(format!("ncp://{account}{addr}/{volume}"));
                urls.push(format!("ncp://{account}{addr}/{volume}?transport=udp"));
            }
            "ncp-ipx" => urls.push(format!("ncp://{account}{addr}/{volume}?transport=ipx")),
            _ => {
                let option = nfs_option(identity);
                let url = format!("nfs://{addr}/{}?mountport={}{option}", args.name, addr.port());
                if args.protocols.nfs_udp {
                    urls.push(format!("{url}&proto=udp"));
                }
                urls.push(url);
            }
        }
    }
    if let Some(ether) = &args.protocols.ncp_ether {
        let server = NcpEtherServer::name();
        let frame = ether.framing.name();
        // IFACE is a placeholder, because the client's interface is on another machine.
        urls.push(format!("ncp://{account}{server}/{volume}?transport=ether&iface=IFACE&frame={frame}"));
    }
    urls.join("\n") + "\n"
}

fn volume(args: &ServeArgs) -> Result<Arc<dyn Volume>, Failure> {
    match (&args.directory, args.memory) {
        (Some(path), _) => {
            let options = DirectoryOptions {
                read_only: args.read_only,
                // Clients of NFSv4 follow links themselves; the other front ends do not show them.
                links: args.protocols.nfs.is_some(),
                ..DirectoryOptions::default()
            };
            Ok(with_device(DirectoryVolume::open(path, &options).map_err(Failure::usage)?, args))
        }
        (None, Some(size)) => Ok(with_device(MemoryVolume::new(size.0), args)),
        (None, None) => Err(Failure::usage("give a directory to serve, or --memory SIZE")),
    }
}

/// The volume, on the device model if an option configures one.
fn with_device(volume: impl Volume + 'static, args: &ServeArgs) -> Arc<dyn Volume> {
    let DeviceFlags { service_time, entry_time, bandwidth, cache } = &args.device;
    if service_time.is_none() && entry_time.is_none() && bandwidth.is_none() && cache.is_none() {
        return Arc::new(volume);
    }
    let cache = CacheOptions { bytes: cache.map_or(0, |size| size.0), ..CacheOptions::default() };
    let device = DeviceOptions {
        service: ServiceTime::Fixed(service_time.unwrap_or(Duration::ZERO)),
        entry_time: entry_time.unwrap_or(Duration::ZERO),
        bytes_per_s: bandwidth.map(|size| size.0),
        cache,
        ..DeviceOptions::default()
    };
    Arc::new(DeviceVolume::new(volume, device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_ncp_are_named() {
        let settings: NcpSettings = "sign=3,names=dos,watchdog=10s/3".parse().unwrap();
        assert_eq!((settings.signatures, settings.names), (Level::from_number(3).unwrap(), NameSpaces::Dos));
        assert_eq!("".parse(), Ok(NcpSettings::default()));
        for (text, word) in [
            ("sing=3", "did you mean sign?"),
            ("sign=4", "the levels are 0 to 3"),
            ("commit=x", "disk and none"),
            ("names", "write NAME=VALUE"),
            ("watchdog=5m", "TIME/N"),
        ] {
            let error = text.parse::<NcpSettings>().unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn watchdog_has_a_time_and_a_number_of_queries() {
        assert_eq!(parse_watchdog("5m/10"), Ok(Watchdog::default()));
        let watchdog = parse_watchdog("10s/3").unwrap();
        assert_eq!(
            (watchdog.idle, watchdog.interval, watchdog.attempts),
            (Duration::from_secs(10), Duration::from_secs(2), 3)
        );
        for wrong in ["", "10s", "0s/3", "25h/3", "10s/0", "10s/many", "3/10s"] {
            assert!(parse_watchdog(wrong).is_err(), "{wrong}");
        }
    }
}
