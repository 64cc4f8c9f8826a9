//! The files of a package, in a directory.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::dependency::Dependency;
use super::kind::Program;
use super::{Release, command, licences, sbom};

/// Where a kind of package has its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Below one directory of any name.
    Archive,
    /// Below `/usr`, as Debian's policy requires.
    Debian,
    /// Below `/usr`, as RPM systems have it.
    Rpm,
}

/// Paths in the tree of a package.
struct Places {
    program: &'static str,
    man: &'static str,
    documents: String,
    /// Each shell with its completion script.
    completions: [(&'static str, &'static str); 3],
}

impl Layout {
    fn places(self, package: &str) -> Places {
        let zsh = match self {
            Self::Archive => "completions/_sharebench",
            Self::Debian => "usr/share/zsh/vendor-completions/_sharebench",
            Self::Rpm => "usr/share/zsh/site-functions/_sharebench",
        };
        if self == Self::Archive {
            let completions = [
                ("bash", "completions/sharebench.bash"),
                ("zsh", zsh),
                ("fish", "completions/sharebench.fish"),
            ];
            return Places { program: "sharebench", man: "man/man1", documents: ".".into(), completions };
        }
        Places {
            program: "usr/bin/sharebench",
            man: "usr/share/man/man1",
            documents: format!("usr/share/doc/{package}"),
            completions: [
                ("bash", "usr/share/bash-completion/completions/sharebench"),
                ("zsh", zsh),
                ("fish", "usr/share/fish/vendor_completions.d/sharebench.fish"),
            ],
        }
    }
}

/// Writes the tree of a package below `work` and returns its root. The program itself writes its man pages and
/// completions, so they match it.
pub fn write(
    release: &Release,
    program: &Program,
    dependencies: &[Dependency],
    layout: Layout,
    work: &Path,
) -> io::Result<PathBuf> {
    let tree = work.join(format!("sharebench-{}-{layout:?}", release.version).to_lowercase());
    let places = layout.places(program.kind.package());
    let man = tree.join(places.man);
    let documents = tree.join(&places.documents);
    fs::create_dir_all(&man)?;
    fs::create_dir_all(&documents)?;
    place(&tree.join(places.program), &fs::read(program.path())?)?;
    let answer = |arguments: &[&str]| command::capture(program.command().args(arguments));
    answer(&["man", &man.display().to_string()])?;
    for (shell, path) in places.completions {
        place(&tree.join(path), answer(&["completions", shell])?.as_bytes())?;
    }
    let own = fs::read_to_string(release.root.join("LICENSE-MIT"))?;
    fs::write(documents.join("dependencies.cdx.json"), sbom::document(release, dependencies))?;
    fs::write(documents.join("LICENSES-OF-DEPENDENCIES"), licences::text(dependencies)?)?;
    if layout == Layout::Debian {
        let apache = "Licence: MIT or Apache-2.0 (/usr/share/common-licenses/Apache-2.0)";
        fs::write(documents.join("copyright"), format!("{apache}\n\n{own}"))?;
        fs::write(documents.join("changelog.Debian"), changelog(release, program.kind.package())?)?;
        compress(&documents, "changelog.Debian")?;
        compress(&documents, "LICENSES-OF-DEPENDENCIES")?;
    } else {
        fs::write(documents.join("LICENSE-MIT"), own)?;
        fs::copy(release.root.join("LICENSE-APACHE"), documents.join("LICENSE-APACHE"))?;
    }
    if layout != Layout::Archive {
        for page in fs::read_dir(&man)? {
            compress(&man, &page?.file_name().to_string_lossy())?;
        }
    }
    command::output("chmod", &["-R", "u=rwX,go=rX", "."], &tree)?;
    fs::set_permissions(tree.join(places.program), fs::Permissions::from_mode(0o755))?;
    Ok(tree)
}

fn place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    fs::write(path, bytes)
}

/// Compresses a file without its name and time.
fn compress(directory: &Path, name: &str) -> io::Result<()> {
    command::output("gzip", &["-9", "-n", name], directory).map(|_| ())
}

fn changelog(release: &Release, package: &str) -> io::Result<String> {
    let date = command::output("date", &["-u", "-R", "-d", &format!("@{}", release.epoch)], &release.root)?;
    Ok(format!(
        "{package} ({}-1) unstable; urgency=medium\n\n  * Release.\n\n -- {}  {}",
        release.version,
        super::deb::MAINTAINER,
        date
    ))
}
