//! Packages of a stand-in for the program, their installation in an empty root, and the list of dependencies.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::*;

/// Answers `man DIR` and `completions SHELL`, as the program does.
const PROGRAM: &str = "#!/bin/sh\n[ \"$1\" = man ] && echo '.TH SHAREBENCH 1\n.SH NAME\nsharebench \\- measure' \
    >\"$2/sharebench.1\"\necho \"# $2\"\n";

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("xtask-dist-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// The stand-in for a kind of program.
    fn program(&self, kind: Kind) -> Program {
        let path = self.0.join("program");
        fs::write(&path, PROGRAM).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let depends = if kind == Kind::Mpi { "libc6, openmpi-bin".into() } else { String::new() };
        Program { kind, path, runner: None, depends }
    }

    fn dependency(&self) -> Dependency {
        let source = self.0.join("source");
        fs::create_dir_all(&source).unwrap();
        fs::write(source.join("LICENSE-MIT"), "permission is granted").unwrap();
        Dependency { name: "one".into(), version: "0.1.0".into(), licence: "MIT/Apache-2.0".into(), source }
    }

    /// Makes the packages of a kind in a new directory.
    fn packages(&self, kind: Kind, name: &str) -> (PathBuf, Vec<String>) {
        let directory = self.0.join(name);
        let files = write_all(&release(), &self.program(kind), &[self.dependency()], &directory).unwrap();
        write_checksums(&directory).unwrap();
        (directory, files)
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

/// Returns true if a program is installed, which CI requires.
fn has(program: &str) -> bool {
    let found = command::exists(program);
    let required = std::env::var_os("CI").is_some_and(|ci| !ci.is_empty());
    assert!(found || !required, "{program} is not installed (tests/install-peers)");
    found
}

#[test]
fn packages_have_program_pages_completions_and_licences_and_are_reproducible() {
    let scratch = Scratch::new("packages");
    let (first, files) = scratch.packages(Kind::X86_64, "first");
    let (second, _) = scratch.packages(Kind::X86_64, "second");
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
fn packages_of_each_kind_name_their_processor_and_what_they_need() {
    let scratch = Scratch::new("kinds");
    let (directory, mut files) = scratch.packages(Kind::Aarch64, "out");
    files.extend(scratch.packages(Kind::Mpi, "out").1);
    let wanted = ["sharebench_1.2.3-1_arm64.deb", "sharebench-mpi_1.2.3-1_amd64.deb"];
    assert!(wanted.iter().all(|name| files.iter().any(|file| file == name)), "{files:?}");
    assert!(files.contains(&"sharebench-1.2.3-aarch64-unknown-linux-musl.tar.gz".to_owned()), "{files:?}");
    if has("rpmbuild") {
        assert!(files.contains(&"sharebench-1.2.3-1.aarch64.rpm".to_owned()), "{files:?}");
    }
    let field =
        |deb: &str, field: &str| command::output("dpkg-deb", &["-f", deb, field], &directory).unwrap();
    assert_eq!(field(wanted[0], "Architecture").trim(), "arm64");
    assert_eq!(field(wanted[0], "Depends").trim(), "");
    assert_eq!(field(wanted[1], "Depends").trim(), "libc6, openmpi-bin");
    assert_eq!(field(wanted[1], "Conflicts").trim(), "sharebench");
    let sums = fs::read_to_string(directory.join("SHA256SUMS")).unwrap();
    assert_eq!(sums.lines().count(), files.len(), "{sums}");
}

#[test]
fn lintian_has_no_errors() {
    if !has("lintian") {
        return;
    }
    let scratch = Scratch::new("lintian");
    let (directory, _) = scratch.packages(Kind::X86_64, "out");
    let line = ["--fail-on", "error", "--allow-root", "sharebench_1.2.3-1_amd64.deb"];
    command::output("lintian", &line, &directory).unwrap();
}

/// Every file below a directory, except the database of dpkg.
fn files_below(root: &Path) -> BTreeSet<String> {
    let listed = command::output("find", &[".", "-type", "f", "-not", "-path", "./var/lib/dpkg/*"], root);
    listed.unwrap().lines().map(str::to_owned).collect()
}

/// The long form is tests/packages/clean-root, with a root of Debian and the real program.
#[test]
fn removal_leaves_nothing_but_the_files_of_the_user() {
    let is_root = command::output("id", &["-u"], Path::new("/")).unwrap().trim() == "0";
    if !is_root {
        return;
    }
    let scratch = Scratch::new("removal");
    let (directory, _) = scratch.packages(Kind::X86_64, "out");
    let root = scratch.0.join("root");
    for place in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "home"] {
        fs::create_dir_all(root.join(place)).unwrap();
    }
    fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
    fs::write(root.join("home/sharebench.db"), "results").unwrap();
    let before = files_below(&root);
    let at = format!("--root={}", root.display());
    let quiet = format!("--log={}", scratch.0.join("dpkg.log").display());
    let dpkg =
        |line: &[&str]| command::output("dpkg", &[&[&at[..], &quiet], line].concat(), &directory).unwrap();
    dpkg(&["--install", "sharebench_1.2.3-1_amd64.deb"]);
    assert!(files_below(&root).contains("./usr/bin/sharebench"));
    dpkg(&["--purge", "sharebench"]);
    assert_eq!(files_below(&root), before);
    assert!(!root.join("usr/share/doc/sharebench").exists() && !root.join("usr/bin").exists());
}

#[test]
fn first_difference_of_two_programs_is_found() {
    assert_eq!(reproduce::difference(b"same", b"same"), None);
    assert_eq!(reproduce::difference(b"same", b"some"), Some(1));
    assert_eq!(reproduce::difference(b"same", b"same and more"), Some(4));
}

#[test]
fn sbom_lists_what_the_program_links_with_licences() {
    let dependencies = dependency::linked(&release().root, Kind::X86_64).unwrap();
    let has = |name: &str| dependencies.iter().any(|dependency| dependency.name == name);
    assert!(has("rusqlite") && has("clap"), "{dependencies:?}");
    assert!(!has("insta") && !has("sharebench-model") && !has("mpi"), "{dependencies:?}");
    let with_mpi = dependency::linked(&release().root, Kind::Mpi).unwrap();
    assert!(with_mpi.iter().any(|dependency| dependency.name == "mpi"), "{with_mpi:?}");
    let document: serde_json::Value =
        serde_json::from_str(&sbom::document(&release(), &dependencies)).unwrap();
    assert_eq!(document["bomFormat"], "CycloneDX");
    let components = document["components"].as_array().unwrap();
    assert_eq!(components.len(), dependencies.len());
    let licences =
        components.iter().map(|component| component["licenses"][0]["expression"].as_str().unwrap());
    assert!(licences.clone().all(|licence| licence != "NOASSERTION" && !licence.contains('/')));
}
