//! Another build of this program, such as that of an earlier commit, compared with this one: CPU time per operation of the
//! clients, of the servers and of the engine.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::load_server::Served;
use crate::sample::Sample;
use crate::server_cpu::of_server;
use crate::shape::Shape;
use crate::table::{Bar, Opponent, Run, Table};
use crate::{Failure, client, ours};

/// The parts that both builds can measure.
pub const PARTS: [&str; 5] = ["nfs", "smb", "smb-server", "ncp", "recording"];
/// No change of structure may cost more.
const CPU: Bar = Bar::AtMost(1.03);
/// Bytes of a record of NCP: the largest of one request.
const NCP_RECORD: u32 = 61_440;
/// Operations of the engine on the null target.
const RECORDED: &str = "20000000";

/// Clients by part: what the table calls them, the protocol of the embedded server, and the options of the URL.
const CLIENTS: [(&str, &str, &str, &str); 7] = [
    ("nfs", "NFSv3", "nfs", ""),
    ("nfs", "NFSv4.1", "nfs", "?vers=4.1"),
    ("smb", "SMB 3.1.1, unsigned", "smb", "?sign=off"),
    ("smb", "SMB 3.1.1, signed", "smb", "?sign=required"),
    ("smb", "SMB 3.1.1, encrypted", "smb", "?encrypt=required"),
    ("ncp", "NCP on TCP", "ncp", ""),
    ("ncp", "NCP on UDP with packet burst", "ncp", "?transport=udp&burst=on"),
];

/// Measures one contender, whose program is given.
type By<'a> = &'a dyn Fn(&Path) -> Result<Sample, Failure>;

/// Prints the tables of the parts that are wanted.
pub fn measure(
    table: &mut Table,
    old: &Path,
    wants: &dyn Fn(&str) -> bool,
    time: Duration,
) -> Result<(), Failure> {
    table.under("This build and another one");
    for (part, name, protocol, options) in CLIENTS {
        if wants(part) {
            let served = Served::start(protocol)?;
            let url = prepare(&served, options)?;
            Table::head(&format!("Client of {name} at the embedded server (CPU of the client)"));
            for shape in shapes(protocol, time) {
                contest(table, &shape.name(), old, &|program| client::by(program, "ours", &[&url], &shape))?;
            }
        }
    }
    for (part, name, protocol, options) in CLIENTS {
        // Only the server of SMB is a part of its own.
        if wants(if part == "smb" { "smb-server" } else { part }) {
            Table::head(&format!(
                "Server of {name}, the client of this build (CPU of the server, logins included)"
            ));
            for shape in shapes(protocol, time).map(Shape::without_warm_up) {
                contest(table, &shape.name(), old, &|program| {
                    let served = Served::start_by(program, protocol)?;
                    let url = prepare(&served, options)?;
                    of_server(served.pid(), || client::own("ours", &[&url], &shape))
                })?;
            }
        }
    }
    if wants("recording") {
        Table::head("The engine on the null target, records of 512 bytes");
        for (test, depth) in [("random-read", "1"), ("read", "1"), ("random-read", "32"), ("read", "32")] {
            contest(table, &format!("{test}, depth {depth}"), old, &|program| {
                client::run(Command::new(program).args(["client", "recording", test, depth, RECORDED]))
            })?;
        }
    }
    Ok(())
}

/// Creates the file on a server, and returns the URL with these options only, if any: the port of MOUNT belongs to version 3.
fn prepare(served: &Served, options: &str) -> Result<String, Failure> {
    let url = served.url();
    ours::create_data(&url)?;
    let address = url.split('?').next().filter(|_| !options.is_empty());
    Ok(format!("{}{options}", address.unwrap_or(&url)))
}

fn shapes(protocol: &str, time: Duration) -> [Shape; 4] {
    let small = Shape::random_reads(4 << 10, 8, time);
    let large = Shape::sequential(if protocol == "ncp" { NCP_RECORD } else { 1 << 20 }, 1, false, time);
    [small, Shape { write: true, ..small }, large, Shape { write: true, ..large }]
}

fn contest(table: &mut Table, name: &str, old: &Path, by: By<'_>) -> Result<(), Failure> {
    let this = std::env::current_exe()?;
    let us: Run = Box::new(|| by(&this));
    table.contest(
        name,
        &us,
        &[Opponent { name: "the other build", rate: None, cpu: Some(CPU), run: Box::new(|| by(old)) }],
    )
}
