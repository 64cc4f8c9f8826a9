//! The volume that holds a directory: its file system, its kind, its sectors.

use std::os::windows::ffi::OsStrExt;
use std::path::{Component, Path, Prefix};

use sharebench_model::{Fact, Space, TargetFacts};
use windows_sys::Win32::Storage::FileSystem::{
    GetDiskFreeSpaceExW, GetDiskFreeSpaceW, GetDriveTypeW, GetVolumeInformationW, GetVolumePathNameW,
};
use windows_sys::Win32::System::WindowsProgramming::{
    DRIVE_CDROM, DRIVE_FIXED, DRIVE_RAMDISK, DRIVE_REMOTE, DRIVE_REMOVABLE,
};

use crate::error_code::ErrorCode;

/// Longest path of a volume in UTF-16 units.
const MAX_PATH: usize = 1024;
/// Longest name of a file system in UTF-16 units.
const MAX_KIND: usize = 64;
/// The sector of almost every volume, where the system does not report it.
pub(crate) const DEFAULT_SECTOR: u32 = 4096;

/// A volume, as the system describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Volume {
    /// Its root, such as `C:\` or `\\server\share\`.
    pub root: String,
    /// `NTFS`, `ReFS`, `FAT32`; what the server states for a share. Empty if it is not known.
    pub kind: String,
    /// It belongs to a server: a UNC path or a mapped drive.
    pub remote: bool,
    /// `fixed`, `removable`, `network`, `RAM disk`, `CD-ROM` or `unknown`.
    pub drive: &'static str,
    /// Bytes of a sector, in multiples of which unbuffered I/O works.
    pub sector: u32,
}

/// A path with its end, as calls of Windows take it.
pub(crate) fn wide(path: &Path) -> Vec<u16> {
    path.as_os_str().encode_wide().chain([0]).collect()
}

fn text(units: &[u16]) -> String {
    String::from_utf16_lossy(units.split(|unit| *unit == 0).next().unwrap_or_default())
}

impl Volume {
    /// The volume of a directory. What cannot be found out has its default.
    pub fn from_directory(directory: &Path) -> Self {
        let path = wide(directory);
        let mut root = [0_u16; MAX_PATH];
        // SAFETY: the path is terminated, and the call writes at most as many units as there are.
        let found = unsafe { GetVolumePathNameW(path.as_ptr(), root.as_mut_ptr(), MAX_PATH as u32) } != 0;
        let root = if found { &root[..] } else { &path[..] };
        let mut kind = [0_u16; MAX_KIND];
        let mut free = 0;
        let mut clusters = 0;
        let mut per_cluster = 0;
        let mut sector = 0;
        // SAFETY: the root is terminated, all numbers are live, and the name has the stated length.
        let drive = unsafe {
            let none = std::ptr::null_mut();
            GetVolumeInformationW(
                root.as_ptr(),
                none,
                0,
                none.cast(),
                none.cast(),
                none.cast(),
                kind.as_mut_ptr(),
                MAX_KIND as u32,
            );
            GetDiskFreeSpaceW(
                root.as_ptr(),
                &raw mut per_cluster,
                &raw mut sector,
                &raw mut free,
                &raw mut clusters,
            );
            GetDriveTypeW(root.as_ptr())
        };
        let remote = drive == DRIVE_REMOTE || is_unc(directory);
        let drive = match drive {
            _ if remote => "network",
            DRIVE_FIXED => "fixed",
            DRIVE_REMOVABLE => "removable",
            DRIVE_RAMDISK => "RAM disk",
            DRIVE_CDROM => "CD-ROM",
            _ => "unknown",
        };
        let sector = if sector.is_power_of_two() { sector } else { DEFAULT_SECTOR };
        Self { root: text(root), kind: text(&kind), remote, drive, sector }
    }

    /// Adds what is known.
    pub fn write_facts(&self, facts: &mut TargetFacts) {
        facts.state(Fact::Access, if self.remote { "mounted" } else { "local" });
        if !self.kind.is_empty() {
            facts.state(Fact::FileSystem, self.kind.clone());
        }
        facts.state(Fact::MountPoint, self.root.clone());
        facts.state(Fact::Drive, self.drive);
        facts.state(Fact::BlockSize, self.sector.to_string());
    }
}

/// True for a UNC path, which is also what a mapped drive resolves to.
fn is_unc(path: &Path) -> bool {
    let Some(Component::Prefix(prefix)) = path.components().next() else { return false };
    matches!(prefix.kind(), Prefix::UNC(..) | Prefix::VerbatimUNC(..))
}

/// Size of the volume of a directory, and the bytes that this user can still write.
pub(crate) fn space(directory: &Path) -> Result<Space, ErrorCode> {
    let path = wide(directory);
    let mut available = 0;
    let mut total = 0;
    // SAFETY: the path is terminated, and the numbers are live.
    let done = unsafe {
        GetDiskFreeSpaceExW(path.as_ptr(), &raw mut available, &raw mut total, std::ptr::null_mut())
    };
    if done == 0 { Err(ErrorCode::last()) } else { Ok(Space { total, available }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_directory_is_on_a_volume_with_space() {
        let directory = std::env::temp_dir().canonicalize().unwrap();
        let volume = Volume::from_directory(&directory);
        assert!(volume.sector.is_power_of_two() && !volume.root.is_empty(), "{volume:?}");
        let space = space(&directory).unwrap();
        assert!(space.total >= space.available && space.total > 0, "{space:?}");
    }

    #[test]
    fn unc_paths_are_remote() {
        assert!(is_unc(Path::new(r"\\nas\share\dir")) && is_unc(Path::new(r"\\?\UNC\nas\share")));
        assert!(!is_unc(Path::new(r"\\?\C:\dir")) && !is_unc(Path::new(r"C:\dir")));
    }
}
