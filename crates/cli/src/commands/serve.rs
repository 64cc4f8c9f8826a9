//! `sharebench serve`: embedded servers until a signal.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use sharebench_model::units::{ByteSize, parse_duration};
use sharebench_ncp::security::level::Level;
use sharebench_server::{
    CacheOptions, CommitPolicy, DeviceOptions, DeviceVolume, DirectoryOptions, DirectoryVolume,
    EmbeddedServers, MemoryVolume, NcpEtherOptions, NcpEtherServer, ServeError, ServeOptions, ServiceTime, Volume,
    share_arenas,
};

use crate::exit::Failure;
use crate::flags::GlobalFlags;
use crate::run::credentials::{self, VARIABLE};

/// What to serve, and how.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Directory to serve.
    #[arg(required_unless_present = "memory", conflicts_with = "memory")]
    pub directory: Option<PathBuf>,
    /// Serve this much memory instead.
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<ByteSize>,
    /// Speak SMB here; other than loopback needs --account.
    #[arg(long, value_name = "ADDR:PORT")]
    pub smb: Option<SocketAddr>,
    /// Speak `NFSv3` (and MOUNT, on the same port) here.
    #[arg(long, value_name = "ADDR:PORT")]
    pub nfs: Option<SocketAddr>,
    /// Speak NCP here, on TCP and UDP; other than loopback needs --account.
    #[arg(long, value_name = "ADDR:PORT")]
    pub ncp: Option<SocketAddr>,
    /// Speak NCP on IPX here: IPX packets in UDP, as `DOSBox` and RFC 1234 have them.
    #[arg(long, value_name = "ADDR:PORT")]
    pub ncp_ipx: Option<SocketAddr>,
    /// Speak NCP on IPX in the frames of this Ethernet; FRAME is ii, raw, 802.2 (default) or snap, NETWORK the segment's
    /// number in hex (default 1). Needs the capability `CAP_NET_RAW`, and --account.
    #[arg(long, value_name = "IFACE[,FRAME[,NETWORK]]")]
    pub ncp_ether: Option<NcpEtherOptions>,
    /// When IPX packets on an Ethernet have checksums: levels as for signatures; frame raw has none.
    #[arg(long, value_name = "LEVEL", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub ncp_checksum: u8,
    /// When NCP packets are signed: 0 never, 1 if the client asks, 2 if it can, 3 always.
    #[arg(long, value_name = "LEVEL", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub ncp_sign: u8,
    /// Whether a file that an NCP client commits is on disk when the reply comes.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t)]
    pub ncp_commit: NcpCommit,
    /// Account of the SMB share and the NCP volume; the password comes from `SHAREBENCH_PASSWORD` or --password-file.
    #[arg(long)]
    pub account: Option<String>,
    /// Name of the share; the NFS export is "/" and this name, the NCP volume this name in upper case.
    #[arg(long, default_value = "share")]
    pub name: String,
    /// Refuse every change.
    #[arg(long)]
    pub read_only: bool,
    /// Let other machines use NFS, although `NFSv3` knows no passwords.
    #[arg(long)]
    pub expose_nfs: bool,
    /// Device model: time of each operation that misses the cache.
    #[arg(long, value_parser = parse_duration, value_name = "TIME")]
    pub service_time: Option<Duration>,
    /// Device model: bytes per second.
    #[arg(long, value_name = "SIZE")]
    pub bandwidth: Option<ByteSize>,
    /// Device model: cache of this size, least recently used out first.
    #[arg(long, value_name = "SIZE")]
    pub cache: Option<ByteSize>,
}

/// What a commit of an NCP client means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum NcpCommit {
    /// The data is on disk before the reply.
    #[default]
    Disk,
    /// Nothing, as with SET NCP FILE COMMIT=OFF.
    None,
}

/// Serves until SIGINT or SIGTERM.
pub fn run(args: &ServeArgs, flags: &GlobalFlags) -> Result<ExitCode, Failure> {
    if args.smb.or(args.nfs).or(args.ncp).or(args.ncp_ipx).is_none() && args.ncp_ether.is_none() {
        return Err(Failure::usage(
            "nothing to serve; name --smb, --nfs or --ncp with ADDR:PORT, or several",
        ));
    }
    let mut users = Vec::new();
    if let Some(user) = &args.account {
        let password = credentials::given(flags.password_file.as_deref())?;
        let missing = || {
            Failure::usage(format!(
                "--account {user} needs a password: set {VARIABLE} or name --password-file"
            ))
        };
        users.push((user.clone(), password.ok_or_else(missing)?));
    }
    share_arenas();
    let volume = volume(args)?;
    let options = ServeOptions {
        smb: args.smb,
        nfs: args.nfs,
        ncp: args.ncp,
        ncp_ipx: args.ncp_ipx,
        ncp_ether: args.ncp_ether.clone(),
        ncp_signatures: Level::from_number(args.ncp_sign).unwrap_or_default(),
        ncp_checksums: Level::from_number(args.ncp_checksum).unwrap_or_default(),
        ncp_commit: match args.ncp_commit {
            NcpCommit::Disk => CommitPolicy::Disk,
            NcpCommit::None => CommitPolicy::None,
        },
        users,
        read_only: args.read_only,
        name: args.name.clone(),
        expose_nfs: args.expose_nfs,
    };
    let (sender, signals) = mpsc::channel();
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let sender = sender.clone();
        let mut iterator = signal_hook::iterator::Signals::new([signal])?;
        std::thread::spawn(move || iterator.forever().try_for_each(|signal| sender.send(signal)));
    }
    let servers = EmbeddedServers::start(&volume, &options).map_err(|error| started(&error))?;
    announce(&servers, args);
    println!("serving; Ctrl-C ends");
    // Only a signal ends this; a closed channel cannot be, since we hold a sender.
    let _ = signals.recv();
    servers.stop();
    Ok(ExitCode::SUCCESS)
}

/// Prints the URLs of what is served.
fn announce(servers: &EmbeddedServers, args: &ServeArgs) {
    let user = args.account.as_ref().map_or(String::new(), |user| format!("{user}@"));
    let volume = args.name.to_uppercase();
    for (protocol, addr) in servers.addrs() {
        match protocol {
            "smb" => println!("smb://{user}{addr}/{}", args.name),
            "ncp" => {
                println!("ncp://{user}{addr}/{volume}");
                println!("ncp://{user}{addr}/{volume}?transport=udp");
            }
            "ncp-ipx" => println!("ncp://{user}{addr}/{volume}?transport=ipx"),
            _ => println!("nfs://{addr}/{}?mountport={}", args.name, addr.port()),
        }
    }
    if let Some(ether) = &args.ncp_ether {
        let (name, frame) = (NcpEtherServer::name(), ether.framing.name());
        // The client's interface is another machine's.
        println!("ncp://{user}{name}/{volume}?transport=ether&iface=IFACE&frame={frame}");
    }
}

fn started(error: &ServeError) -> Failure {
    Failure::usage(error)
}

fn volume(args: &ServeArgs) -> Result<Arc<dyn Volume>, Failure> {
    match (&args.directory, args.memory) {
        (Some(path), _) => {
            let options = DirectoryOptions { read_only: args.read_only, ..DirectoryOptions::default() };
            Ok(behind_device(DirectoryVolume::open(path, &options).map_err(Failure::usage)?, args))
        }
        (None, Some(size)) => Ok(behind_device(MemoryVolume::new(size.0), args)),
        (None, None) => Err(Failure::usage("name a directory to serve, or --memory SIZE")),
    }
}

/// Puts the device model in front where a flag asks for one.
fn behind_device(volume: impl Volume + 'static, args: &ServeArgs) -> Arc<dyn Volume> {
    if args.service_time.is_none() && args.bandwidth.is_none() && args.cache.is_none() {
        return Arc::new(volume);
    }
    let cache = CacheOptions { bytes: args.cache.map_or(0, |size| size.0), ..CacheOptions::default() };
    let device = DeviceOptions {
        service: ServiceTime::Fixed(args.service_time.unwrap_or(Duration::ZERO)),
        bytes_per_s: args.bandwidth.map(|size| size.0),
        cache,
        ..DeviceOptions::default()
    };
    Arc::new(DeviceVolume::new(volume, device))
}
