//! Packages of a stand-in for the program, and the list of dependencies of this repository.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// Answers `man DIR` and `completions SHELL`, as the program does.
const PROGRAM: &str = "#!/bin/sh\n[ \"$1\" = man ] && echo page >\"$2/sharebench.1\"\necho \"# $2\"\n";

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("xtask-dist-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn release() -> Release {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    Release { root: root.to_owned(), version: "1.2.3".into(), epoch: "1700000000".into() }
}

#[test]
fn packages_have_program_pages_completions_and_licences_and_are_reproducible() {
    let scratch = Scratch::new("packages");
    let program = scratch.0.join("program");
    fs::write(&program, PROGRAM).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let source = scratch.0.join("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("LICENSE-MIT"), "permission is granted").unwrap();
    let dependency =
        Dependency { name: "one".into(), version: "0.1.0".into(), licence: "MIT/Apache-2.0".into(), source };
    let first = scratch.0.join("first");
    let second = scratch.0.join("second");
    let files = write_all(&release(), &program, std::slice::from_ref(&dependency), &first).unwrap();
    write_all(&release(), &program, &[dependency], &second).unwrap();
    for file in &files {
        assert_eq!(fs::read(first.join(file)).unwrap(), fs::read(second.join(file)).unwrap(), "{file}");
    }
    let archive = "sharebench-1.2.3-x86_64-unknown-linux-musl";
    let listed = command::output("tar", &["-tzf", &format!("{archive}.tar.gz")], &first).unwrap();
    for path in ["sharebench", "man/man1/sharebench.1", "completions/_sharebench", "dependencies.cdx.json"] {
        assert!(listed.contains(&format!("{archive}/{path}\n")), "{path}: {listed}");
    }
    let deb = "sharebench_1.2.3-1_amd64.deb";
    let listed = command::output("dpkg-deb", &["--contents", deb], &first).unwrap();
    for path in [
        "usr/bin/sharebench",
        "usr/share/man/man1/sharebench.1.gz",
        "usr/share/bash-completion/completions/sharebench",
        "usr/share/zsh/vendor-completions/_sharebench",
        "usr/share/fish/vendor_completions.d/sharebench.fish",
        "usr/share/doc/sharebench/copyright",
    ] {
        assert!(listed.contains(&format!(" ./{path}\n")), "{path}: {listed}");
    }
    assert!(listed.lines().all(|line| line.contains(" root/root ")), "{listed}");
    command::output("sha256sum", &["--check", "--quiet", "SHA256SUMS"], &first).unwrap();
}

#[test]
fn sbom_lists_what_the_program_links_with_licences() {
    let dependencies = dependency::linked(&release().root, TARGET).unwrap();
    let has = |name: &str| dependencies.iter().any(|dependency| dependency.name == name);
    assert!(has("rusqlite") && has("clap"), "{dependencies:?}");
    assert!(!has("insta") && !has("sharebench-model"), "{dependencies:?}");
    let document: serde_json::Value =
        serde_json::from_str(&sbom::document(&release(), &dependencies)).unwrap();
    assert_eq!(document["bomFormat"], "CycloneDX");
    let components = document["components"].as_array().unwrap();
    assert_eq!(components.len(), dependencies.len());
    let licences =
        components.iter().map(|component| component["licenses"][0]["expression"].as_str().unwrap());
    assert!(licences.clone().all(|licence| licence != "NOASSERTION" && !licence.contains('/')));
}
