//! The C compiler for another processor: that of the Python package `ziglang`, which includes the headers of musl.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

use super::kind::Kind;
use super::{Release, command};

/// The version that makes releases: another one generates other code.
const VERSION: &str = "0.15.2";

/// Sets the compiler of a build below `root` for another processor and returns flags of rustc. The linker, the start files and the
/// C library are those of Rust's own target.
pub fn prepare(build: &mut Command, release: &Release, root: &Path, kind: Kind) -> io::Result<Vec<String>> {
    let modules = release.root.join(".peers/python");
    let zig = command::capture(
        Command::new("python3").args(["-m", "ziglang", "version"]).env("PYTHONPATH", &modules),
    );
    if !zig.is_ok_and(|version| version.trim() == VERSION) {
        return Err(io::Error::other(format!(
            "needs `pip install --target .peers/python ziglang=={VERSION}`"
        )));
    }
    let tools = root.join("target/dist/tools");
    fs::create_dir_all(&tools)?;
    let target = kind.target().replace("-unknown", "");
    // Cargo's crate `cc` names the target as clang does, which zig does not understand. Without optimization zig adds checks of
    // undefined behaviour, whose functions no library here has.
    let compiler = format!(
        "#!/bin/bash\nfor word; do case $word in --target=*) ;; *) words+=(\"$word\") ;; esac; done\n\
         exec python3 -m ziglang cc -target {target} -fno-sanitize=undefined \"${{words[@]}}\"\n"
    );
    // The crate `libloading` links `dl`. The C library of Rust's target includes it, without the empty archive of other systems.
    fs::write(tools.join("libdl.a"), "!<arch>\n")?;
    let linker = "#!/bin/sh\nexec rust-lld \"$@\" -L \"${0%/*}\"\n".to_owned();
    let archiver = "#!/bin/sh\nexec python3 -m ziglang ar \"$@\"\n".to_owned();
    for (name, script) in [("cc", compiler), ("ar", archiver), ("ld", linker)] {
        let path = tools.join(name);
        fs::write(&path, script)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    let name = kind.target().replace('-', "_");
    build
        .env(format!("CC_{name}"), tools.join("cc"))
        .env(format!("AR_{name}"), tools.join("ar"))
        .env(format!("CARGO_TARGET_{}_LINKER", name.to_uppercase()), tools.join("ld"))
        .env("PYTHONPATH", modules);
    Ok(vec!["-Clinker-flavor=ld.lld".into(), "-Clink-self-contained=yes".into()])
}
