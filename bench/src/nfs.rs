//! NFS reads against libnfs and `nfs3_client`, on ganesha and on the canned responder.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sharebench_tests::{Disk, Ganesha, GaneshaOptions};

use crate::Failure;
use crate::client;
use crate::sample::Sample;
use crate::shape::{FILE_BYTES, Shape};
use crate::table::{Bar, Opponent, Run, Table};

/// An NFSv3 export on loopback.
#[derive(Debug, Clone)]
pub struct Export {
    /// Port of the NFS program.
    pub port: u16,
    /// Port of the MOUNT protocol.
    pub mount_port: u16,
    /// Path of the export.
    pub path: String,
}

impl Export {
    /// Parses the arguments of a client program.
    pub fn from_words(words: &[String]) -> Result<Self, Failure> {
        let [port, mount_port, path] = words else {
            return Err("an NFS client wants: port mount-port export".into());
        };
        Ok(Self { port: port.parse()?, mount_port: mount_port.parse()?, path: path.clone() })
    }

    fn ours(&self, shape: &Shape) -> Result<Sample, Failure> {
        let Self { port, mount_port, path } = self;
        let url = format!("nfs://127.0.0.1:{port}{path}?mountport={mount_port}&uid=0&gid=0");
        client::own("ours", &[&url], shape)
    }

    fn nfs3_client(&self, shape: &Shape) -> Result<Sample, Failure> {
        let port = self.port.to_string();
        let mount_port = self.mount_port.to_string();
        client::own("nfs3_client", &[&port, &mount_port, &self.path], shape)
    }

    fn libnfs(&self, program: &Path, interface: &str, shape: &Shape) -> Result<Sample, Failure> {
        let Self { port, mount_port, path } = self;
        let url = format!(
            "nfs://127.0.0.1{path}?version=3&nfsport={port}&mountport={mount_port}&auto-traverse-mounts=0"
        );
        let mut command = Command::new(program);
        command.args([interface, &url, "data"]).args(shape.words()).arg(FILE_BYTES.to_string());
        client::run(&mut command)
    }

    /// libnfs over version 4.0, whose paths begin at the pseudo root.
    pub fn libnfs_4(&self, program: &Path, shape: &Shape) -> Result<Sample, Failure> {
        let port = self.port;
        let url = format!("nfs://127.0.0.1/export?version=4&nfsport={port}&auto-traverse-mounts=0");
        let mut command = Command::new(program);
        command.args(["pread", &url, "data"]).args(shape.words()).arg(FILE_BYTES.to_string());
        client::run(&mut command)
    }
}

/// Measures against both servers. The opponents in C are compiled to `directory`.
pub fn measure(table: &mut Table, directory: &Path, time: Duration) -> Result<(), Failure> {
    let libnfs = compile("libnfs", &["-lnfs"], directory)?;
    on_ganesha(table, &libnfs, time)?;
    on_canned(table, &libnfs, time)
}

fn on_ganesha(table: &mut Table, libnfs: &Path, time: Duration) -> Result<(), Failure> {
    let ganesha =
        Ganesha::start(&GaneshaOptions { disk: Some(Disk::Memory(4 * FILE_BYTES)), ..Default::default() })?;
    std::fs::write(ganesha.directory().join("data"), vec![7; FILE_BYTES as usize])?;
    let export = Export { port: ganesha.port(), mount_port: ganesha.mount_port(), path: ganesha.export() };
    Table::head("NFSv3 on nfs-ganesha (FSAL VFS on tmpfs)");
    let mut shapes: Vec<Shape> = [1, 8, 32].map(|depth| Shape::random_reads(4 << 10, depth, time)).into();
    shapes.push(Shape::sequential(1 << 20, 1, false, time));
    for shape in &shapes {
        let us: Run = Box::new(|| export.ours(shape));
        let bar = (shape.record == 4 << 10).then_some(Bar::AtMost(0.6));
        let opponents = [
            Opponent {
                name: "libnfs nfs_pread_async",
                rate: None,
                cpu: bar,
                run: Box::new(|| export.libnfs(libnfs, "pread", shape)),
            },
            Opponent {
                name: "libnfs rpc_nfs_read_async",
                rate: None,
                cpu: None,
                run: Box::new(|| export.libnfs(libnfs, "raw", shape)),
            },
            Opponent {
                name: "nfs3_client",
                rate: None,
                cpu: None,
                run: Box::new(|| export.nfs3_client(shape)),
            },
        ];
        table.contest(&shape.name(), &us, &opponents)?;
    }
    Ok(())
}

fn on_canned(table: &mut Table, libnfs: &Path, time: Duration) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::Builder::new()
        .name("canned".into())
        .spawn(move || sharebench_nfs::canned::serve(&listener))?;
    let export = Export { port, mount_port: port, path: "/export".into() };
    Table::head("NFSv3 at a canned responder (the client is the limit)");
    for depth in [1, 8, 32] {
        let shape = Shape::random_reads(4 << 10, depth, time);
        let us: Run = Box::new(|| export.ours(&shape));
        let opponents = [
            Opponent {
                name: "nfs3_client",
                rate: (depth == 8).then_some(Bar::AtLeast(3.0)),
                cpu: None,
                run: Box::new(|| export.nfs3_client(&shape)),
            },
            Opponent {
                name: "libnfs nfs_pread_async",
                rate: None,
                cpu: None,
                run: Box::new(|| export.libnfs(libnfs, "pread", &shape)),
            },
            Opponent {
                name: "libnfs rpc_nfs_read_async",
                rate: None,
                cpu: None,
                run: Box::new(|| export.libnfs(libnfs, "raw", &shape)),
            },
        ];
        table.contest(&shape.name(), &us, &opponents)?;
    }
    Ok(())
}

/// Compiles `opponents/NAME.c` and returns the path of the program.
pub fn compile(name: &str, libraries: &[&str], directory: &Path) -> Result<PathBuf, Failure> {
    let program = directory.join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("opponents").join(format!("{name}.c"));
    let status =
        Command::new("gcc").arg("-O2").arg("-o").arg(&program).arg(source).args(libraries).status()?;
    if status.success() { Ok(program) } else { Err(format!("gcc cannot compile {name}.c").into()) }
}
