//! SMB against crate `smb2` and libsmb2, on smbd.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sharebench_tests::{Disk, Signing, Smbd, SmbdOptions};

use crate::Failure;
use crate::client;
use crate::sample::Sample;
use crate::shape::{FILE_BYTES, Shape};
use crate::table::{Bar, Opponent, Run, Table};

/// Protection of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protection {
    None,
    Signed,
    Sealed,
}

impl Protection {
    const ALL: [Self; 3] = [Self::None, Self::Signed, Self::Sealed];

    fn name(self) -> &'static str {
        match self {
            Self::None => "unsigned",
            Self::Signed => "signed",
            Self::Sealed => "encrypted",
        }
    }

    fn server(self) -> SmbdOptions {
        let disk = Some(Disk::Memory(4 * FILE_BYTES));
        let signing = match self {
            Self::None => Signing::Disabled,
            Self::Signed => Signing::Mandatory,
            Self::Sealed => Signing::Offered,
        };
        SmbdOptions { signing, encrypted: self == Self::Sealed, disk, ..SmbdOptions::default() }
    }

    /// The required ratio to crate `smb2`, if there is one.
    fn smb2_bar(self, shape: &Shape) -> Option<Bar> {
        match (self, shape.write, shape.record) {
            (Self::None, false, 4096) => Some(Bar::AtMost(0.6)),
            (Self::None, false, _) => Some(Bar::AtMost(0.2)),
            _ => None,
        }
    }

    /// The required ratio to libsmb2, if there is one.
    fn libsmb2_bar(self, shape: &Shape) -> Option<Bar> {
        match (self, shape.write, shape.record) {
            (Self::None, false, 4096) => Some(Bar::AtMost(1.0)),
            (Self::None, false, _) if shape.depth == 1 => Some(Bar::AtMost(1.0)),
            (Self::None, false, _) => Some(Bar::AtMost(1.25)),
            (Self::Signed, false, 4096) => Some(Bar::AtMost(0.15)),
            _ => None,
        }
    }
}

/// Measures on one smbd per kind of protection.
pub fn measure(table: &mut Table, directory: &Path, time: Duration) -> Result<(), Failure> {
    let libsmb2 = compile_libsmb2(directory)?;
    if libsmb2.is_none() {
        println!("\nlibsmb2 is not on this machine (Debian 12 has no package): its bars are not judged.");
    }
    for protection in Protection::ALL {
        let smbd = Smbd::start(&protection.server())?;
        std::fs::write(smbd.share().join("data"), vec![7; FILE_BYTES as usize])?;
        Table::head(&format!("SMB 3.1.1 on smbd (share on tmpfs), {}", protection.name()));
        let mut shapes: Vec<Shape> = [1, 8, 32].map(|depth| Shape::random_reads(4 << 10, depth, time)).into();
        for write in [false, true] {
            shapes.extend([1, 8].map(|depth| Shape::sequential(1 << 20, depth, write, time)));
        }
        for shape in &shapes {
            contest(table, protection, &smbd, libsmb2.as_deref(), shape)?;
        }
    }
    Ok(())
}

fn contest(
    table: &mut Table,
    protection: Protection,
    smbd: &Smbd,
    libsmb2: Option<&Path>,
    shape: &Shape,
) -> Result<(), Failure> {
    let url = smbd.url("", "");
    let us: Run = Box::new(|| client::own("ours", &[&url], shape));
    let mut opponents = Vec::new();
    // Samba rejects connections of the crate if encryption is required.
    if protection != Protection::Sealed {
        let port = smbd.port().to_string();
        opponents.push(Opponent {
            name: "smb2",
            rate: None,
            cpu: protection.smb2_bar(shape),
            run: Box::new(move || client::own("smb2", &[&port, smbd.user()], shape)),
        });
    }
    if let Some(program) = libsmb2 {
        opponents.push(Opponent {
            name: "libsmb2",
            rate: None,
            cpu: protection.libsmb2_bar(shape),
            run: Box::new(move || run_libsmb2(program, protection, smbd, shape)),
        });
    }
    table.contest(&shape.name(), &us, &opponents)
}

fn run_libsmb2(
    program: &Path,
    protection: Protection,
    smbd: &Smbd,
    shape: &Shape,
) -> Result<Sample, Failure> {
    let mode = match protection {
        Protection::None => "plain",
        Protection::Signed => "signed",
        Protection::Sealed => "sealed",
    };
    let mut command = Command::new(program);
    command.args([mode, &smbd.port().to_string(), smbd.user(), Smbd::PASSWORD, "data"]);
    client::run(command.args(shape.words()).arg(FILE_BYTES.to_string()))
}

/// Compiles the client with the libsmb2 below `LIBSMB2` or that of the system; returns `None` without either.
fn compile_libsmb2(directory: &Path) -> Result<Option<PathBuf>, Failure> {
    let Ok(prefix) = std::env::var("LIBSMB2") else {
        let there = Path::new("/usr/include/smb2/libsmb2.h").exists();
        return there.then(|| crate::nfs::compile("libsmb2", &["-lsmb2"], directory)).transpose();
    };
    let words = [
        format!("-I{prefix}/include"),
        format!("-L{prefix}/lib"),
        format!("-Wl,-rpath,{prefix}/lib"),
        "-lsmb2".to_owned(),
    ];
    crate::nfs::compile("libsmb2", &words.each_ref().map(String::as_str), directory).map(Some)
}
