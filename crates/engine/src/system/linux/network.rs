//! Network devices and mounts of Linux.

use std::net::IpAddr;
use std::path::Path;

/// The rate of a device in Mbit/s, as the kernel writes it.
pub(crate) fn device_speed(device: &str) -> Option<String> {
    std::fs::read_to_string(format!("/sys/class/net/{device}/speed")).ok()
}

/// The server of the mount that holds a path.
pub(crate) fn server_of_path(path: &Path) -> Option<String> {
    server_of(path, &std::fs::read_to_string("/proc/self/mountinfo").ok()?)
}

/// The server of the mount that holds `path`: `addr=` of NFS and CIFS.
fn server_of(path: &Path, mountinfo: &str) -> Option<String> {
    let mounts = mountinfo.lines().filter_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let point = left.split(' ').nth(4)?;
        path.starts_with(point.replace("\\040", " ")).then_some((point.len(), right))
    });
    // Of equal mount points the last lies on top.
    let (_, right) = mounts.max_by_key(|(len, _)| *len)?;
    if !["nfs", "nfs4", "cifs", "smb3"].contains(&right.split(' ').next()?) {
        return None;
    }
    right.split([' ', ',']).find_map(|option| option.strip_prefix("addr=")).map(str::to_owned)
}

/// The device that has an address.
pub(crate) fn device_with(own: IpAddr) -> Option<String> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: getifaddrs fills in a list that is freed below, once, after its last use.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return None;
    }
    let mut next = first;
    let mut found = None;
    while !next.is_null() && found.is_none() {
        // SAFETY: `next` is an element of the list: a valid struct with a terminated name.
        let entry = unsafe { &*next };
        if address(entry.ifa_addr) == Some(own) {
            // SAFETY: as above.
            let name = unsafe { std::ffi::CStr::from_ptr(entry.ifa_name) };
            found = Some(name.to_string_lossy().into_owned());
        }
        next = entry.ifa_next;
    }
    // SAFETY: the list of getifaddrs, not used any more.
    unsafe { libc::freeifaddrs(first) };
    found
}

fn address(from: *const libc::sockaddr) -> Option<IpAddr> {
    if from.is_null() {
        return None;
    }
    // SAFETY: the family says which struct it is; both are read without assuming their alignment.
    unsafe {
        match i32::from((*from).sa_family) {
            libc::AF_INET => {
                let inet = from.cast::<libc::sockaddr_in>().read_unaligned();
                Some(IpAddr::from(inet.sin_addr.s_addr.to_ne_bytes()))
            }
            libc::AF_INET6 => {
                let inet = from.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(IpAddr::from(inet.sin6_addr.s6_addr))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_come_from_mounts() {
        let info = "22 1 254:0 / / rw - ext4 /dev/vda rw\n\
                    32 31 0:42 / /mnt/a\\040b rw - nfs nas:/export rw,vers=3,addr=10.0.0.1\n";
        assert_eq!(server_of(Path::new("/mnt/a b/dir"), info).as_deref(), Some("10.0.0.1"));
        assert_eq!(server_of(Path::new("/mnt"), info), None);
    }
}
