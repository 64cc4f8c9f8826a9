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
use sharebench_report::plain;
use sharebench_server::{
    BinderyProfile, CacheOptions, CommitPolicy, DeviceOptions, DeviceVolume, DirectoryOptions,
    DirectoryVolume, EmbeddedServers, EventLog, MemoryVolume, NameSpaces, NcpEtherOptions, NcpEtherServer,
    NfsTls, ServeOptions, ServiceTime, Volume, WriteTimes, share_arenas,
};

use crate::exit::Failure;
use crate::flags::password::PasswordFlags;
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
    #[arg(long, requires = "nfs", conflicts_with_all = ["keytab", "tls_required"])]
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
    /// Checksums of IPX packets on Ethernet; levels as for --ncp-sign. The frame type raw has none.
    #[arg(long, value_name = "LEVEL", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub ncp_checksum: u8,
    /// Signatures of NCP packets: 0 never, 1 if the client requires them, 2 if the client supports them, 3 always.
    #[arg(long, value_name = "LEVEL", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub ncp_sign: u8,
    /// Durability of a file that an NCP client commits.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t)]
    pub ncp_commit: NcpCommit,
    /// Names that NCP clients can give to files.
    #[arg(long, value_name = "NAMES", value_enum, default_value_t)]
    pub ncp_names: NcpNames,
    /// Query an NCP client on UDP or IPX that is silent for TIME, and remove it with its locks after N queries without an
    /// answer. The queries follow each other after a fifth of TIME.
    #[arg(long, value_name = "TIME,N", default_value = "5m,10", value_parser = parse_watchdog)]
    pub ncp_watchdog: Watchdog,
}

/// Parses the time before the first query and the number of queries.
fn parse_watchdog(text: &str) -> Result<Watchdog, String> {
    /// Shorter times would remove clients that wait for a slow request.
    const TIMES: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(24);
    let (idle, queries) = text.split_once(',').ok_or("give TIME,N such as 5m,10")?;
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
    /// Accept Kerberos tickets for the keys of FILE. NFS then requires Kerberos. Over SMB, the name of a principal must be an
    /// account if there are accounts; without accounts, a ticket is required and suffices.
    #[arg(long, value_name = "FILE")]
    pub keytab: Option<PathBuf>,
    /// Serve NFS with TLS (RFC 9289) to clients that request it: the certificate with its chain (PEM).
    #[arg(long, value_name = "FILE", requires = "nfs", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The private key of --tls-cert (PEM). Only the owner may read FILE.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// With TLS, require a certificate of the client that an authority of FILE (PEM) has signed.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_client_ca: Option<PathBuf>,
    /// Deny NFS calls without TLS.
    #[arg(long, requires = "tls_cert")]
    pub tls_required: bool,
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

/// The effect of a commit by an NCP client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum NcpCommit {
    /// The reply comes after the data is on disk.
    #[default]
    Disk,
    /// No effect, as with SET NCP FILE COMMIT=OFF.
    None,
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

/// The name spaces of the NCP volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum NcpNames {
    /// Long names, and the 8.3 names derived from them.
    #[default]
    All,
    /// 8.3 names only, as on NetWare 3.x without the OS/2 name space.
    Dos,
}

/// Serves until SIGINT, SIGTERM or SIGHUP; a second signal ends the process without waiting for the servers.
pub fn run(args: &ServeArgs) -> Result<ExitCode, Failure> {
    let ProtocolFlags { smb, nfs, ncp, ncp_ipx, ncp_ether, .. } = &args.protocols;
    if smb.or(*nfs).or(*ncp).or(*ncp_ipx).is_none() && ncp_ether.is_none() {
        return Err(Failure::usage("give at least one of --smb, --nfs, --ncp, --ncp-ipx and --ncp-ether"));
    }
    let accounts = accounts(&args.access)?;
    let account = accounts.first().map(|account| account.name.clone());
    share_arenas();
    let volume = volume(args)?;
    let options = ServeOptions {
        smb: *smb,
        nfs: *nfs,
        ncp: *ncp,
        ncp_ipx: *ncp_ipx,
        ncp_ether: ncp_ether.clone(),
        ncp_signatures: Level::from_number(args.protocols.ncp_sign).unwrap_or_default(),
        ncp_checksums: Level::from_number(args.protocols.ncp_checksum).unwrap_or_default(),
        ncp_commit: match args.protocols.ncp_commit {
            NcpCommit::Disk => CommitPolicy::Disk,
            NcpCommit::None => CommitPolicy::None,
        },
        ncp_names: match args.protocols.ncp_names {
            NcpNames::All => NameSpaces::All,
            NcpNames::Dos => NameSpaces::Dos,
        },
        ncp_watchdog: args.protocols.ncp_watchdog,
        smb_write_times: match args.protocols.smb_write_times {
            SmbWriteTimes::AtOnce => WriteTimes::AtOnce,
            SmbWriteTimes::Delayed => WriteTimes::Delayed,
        },
        smb1: args.protocols.smb1,
        bindery_profiles: accounts.iter().map(bindery_profile).collect(),
        keys: keys(&args.access)?,
        accounts: accounts.into_iter().map(|account| (account.name, account.password)).collect(),
        log_logins: args.access.log_logins,
        read_only: args.read_only,
        name: args.name.clone(),
        nfs_state: args.protocols.nfs_state.clone(),
        nfs_tls: nfs_tls(&args.access)?,
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
    print_out(&(urls(&servers, account.as_deref(), args) + "serving; press Ctrl-C to end\n"))?;
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

/// The keys of --keytab.
fn keys(access: &AccessFlags) -> Result<Option<AcceptorKeys>, Failure> {
    let Some(path) = &access.keytab else { return Ok(None) };
    warn_of_readers("--keytab", path);
    let keys = AcceptorKeys::read(path);
    keys.map(Some).map_err(|error| Failure::usage(format!("--keytab {}: {error}", path.display())))
}

/// The certificate of --tls-cert.
fn nfs_tls(access: &AccessFlags) -> Result<Option<NfsTls>, Failure> {
    let (Some(certificate), Some(key)) = (&access.tls_cert, &access.tls_key) else { return Ok(None) };
    let tls = tls::server(certificate, key, access.tls_client_ca.as_deref())?;
    Ok(Some(NfsTls { tls, required: access.tls_required }))
}

/// The option of an NFS URL that the server requires.
fn nfs_option(access: &AccessFlags) -> &'static str {
    match (access.tls_required, &access.tls_client_ca) {
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
fn urls(servers: &EmbeddedServers, account: Option<&str>, args: &ServeArgs) -> String {
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
                let option = nfs_option(&args.access);
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
    fn watchdog_has_a_time_and_a_number_of_queries() {
        assert_eq!(parse_watchdog("5m,10"), Ok(Watchdog::default()));
        let watchdog = parse_watchdog("10s, 3").unwrap();
        assert_eq!(
            (watchdog.idle, watchdog.interval, watchdog.attempts),
            (Duration::from_secs(10), Duration::from_secs(2), 3)
        );
        for wrong in ["", "10s", "0s,3", "25h,3", "10s,0", "10s,many", "3,10s"] {
            assert!(parse_watchdog(wrong).is_err(), "{wrong}");
        }
    }
}
