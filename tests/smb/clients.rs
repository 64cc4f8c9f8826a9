//! SMB clients of other projects against the embedded server.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use sharebench_server::{DirectoryOptions, DirectoryVolume, Protection, SmbServer, SmbServerOptions, Volume};
use sharebench_target::Secret;
use sharebench_tests::program::run;
use sharebench_tests::{Need, Scratch, Served, Sharebench, Smbd, needs};

/// Dialects and protections of smbclient, with what the server requires. Encryption begins with dialect 3.0.
const SMBCLIENTS: [(&str, &str, Protection); 10] = [
    ("SMB2_02", "off", Protection::Optional),
    ("SMB2_10", "sign", Protection::Optional),
    ("SMB2_10", "off", Protection::Signed),
    ("SMB3_00", "sign", Protection::Optional),
    ("SMB3_00", "encrypt", Protection::Optional),
    ("SMB3_02", "encrypt", Protection::Optional),
    ("SMB3_02", "off", Protection::Encrypted),
    ("SMB3_11", "off", Protection::Optional),
    ("SMB3_11", "sign", Protection::Signed),
    ("SMB3_11", "off", Protection::Encrypted),
];

/// Bytes of the large file and number of small files that smbclient transfers: few in CI, many with `SHAREBENCH_LONG`.
fn amounts() -> (usize, usize) {
    if std::env::var_os("SHAREBENCH_LONG").is_some() { (300 << 20, 10_000) } else { (3 << 20, 20) }
}

/// Writes a large file, and small ones with names in several alphabets.
fn write_source(directory: &Path, (bytes, files): (usize, usize)) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let large: Vec<u8> = (0..bytes.div_ceil(8))
        .flat_map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        })
        .collect();
    fs::write(directory.join("large"), large).unwrap();
    let small = directory.join("größe 文件 файл");
    fs::create_dir(&small).unwrap();
    for number in 0..files {
        fs::write(small.join(format!("{number} – ñ 𝄞.dat")), vec![number as u8; number % 5000]).unwrap();
    }
}

#[test]
fn smbclient_transfers_files_in_every_dialect_and_protection() {
    needs!([Need::Program("smbclient"), Need::Program("diff")]);
    let scratch = Scratch::new("smbclient").unwrap();
    let source = scratch.directory("source").unwrap();
    write_source(&source, amounts());
    for (number, (dialect, protection, required)) in SMBCLIENTS.into_iter().enumerate() {
        let directory = scratch.directory(&format!("served-{number}")).unwrap();
        let back = scratch.directory(&format!("back-{number}")).unwrap();
        let volume = DirectoryVolume::open(&directory, &DirectoryOptions::default()).unwrap();
        let volume: Arc<dyn Volume> = Arc::new(volume);
        let accounts = vec![(Served::USER.to_owned(), Secret::new(Smbd::PASSWORD))];
        let options = SmbServerOptions { accounts, protection: required, ..SmbServerOptions::default() };
        let server = SmbServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap();
        let port = server.addr().port().to_string();
        let user = format!("{}%{}", Served::USER, Smbd::PASSWORD);
        let protects = format!("--client-protection={protection}");
        let at_least = format!("--option=client min protocol={dialect}");
        for (direction, place) in [("mput", &source), ("mget", &back)] {
            let commands = format!("prompt off; recurse on; lcd {}; {direction} *", place.display());
            let share = ["smbclient", "//127.0.0.1/share", "-p", &port, "-U", &user, "-m", dialect];
            let line = [&share[..], &[&protects, &at_least, "-c", &commands]].concat();
            run(&line, &[("LC_ALL", "C.UTF-8")]).unwrap();
        }
        for copy in [&directory, &back] {
            let [source, copy] = [&source, copy].map(|path| path.display().to_string());
            run(&["diff", "-r", &source, &copy], &[]).unwrap();
            fs::remove_dir_all(copy).unwrap();
        }
    }
}

#[test]
fn clients_written_in_python_read_what_they_wrote() {
    needs!([Need::PythonModule("impacket"), Need::PythonModule("smb"), Need::PythonModule("smbclient")]);
    let sharebench = Sharebench::new().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/smb/clients/run");
    println!("{}", run(&[script, "--short", "--sharebench", sharebench.binary()], &[]).unwrap());
}
