//! Descriptor tables for threads alone, so that their system calls count no references.
//!
//! While threads share a table, Linux takes and drops a reference to the file at every read and write (`fdget`), some
//! percent of a small one out of the page cache. They would be charged to the target; a program of one thread,
//! which is what a local target is compared with, does not pay them.

use std::sync::Once;

/// Gives the calling thread a descriptor table of its own: what is open by now is open in both, what either
/// opens or closes from now on is its own affair. For threads that open and close their own sessions; while they
/// last, they keep open what others close. False where the kernel's guard refuses; only speed differs.
pub fn own_descriptors() -> bool {
    static SHARED: Once = Once::new();
    // The first runtime makes descriptors that those of all threads use (tokio's pipe for signals).
    SHARED.call_once(|| drop(tokio::runtime::Builder::new_current_thread().enable_all().build()));
    // SAFETY: the table is copied, nothing is closed (unshare(2)).
    unsafe { libc::unshare(libc::CLONE_FILES) == 0 }
}

/// The same with nothing but standard input, output and error in it, for a thread that has just begun and uses
/// nothing that was opened by others. False where the kernel (before Linux 5.9) or its guard refuses.
pub(crate) fn no_descriptors() -> bool {
    const FIRST: libc::c_uint = 3;
    let unshare = libc::CLOSE_RANGE_UNSHARE as libc::c_uint;
    // SAFETY: with this flag the table is copied up to `FIRST` before anything else happens, so that nothing of
    // other threads is closed; this thread owns no descriptor yet (close_range(2)).
    unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, unshare) == 0 }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_table_of_ones_own_takes_nothing_from_others() {
        let mut file = File::open("/proc/self/exe").unwrap();
        let number = file.as_raw_fd();
        // SAFETY: F_GETFD takes no further argument and reads a flag.
        let seen = move || unsafe { libc::fcntl(number, libc::F_GETFD) };
        let emptied = std::thread::spawn(move || (no_descriptors(), seen())).join().unwrap();
        assert_eq!(emptied.1, if emptied.0 { -1 } else { libc::FD_CLOEXEC });
        let copied = std::thread::spawn(move || {
            let alone = own_descriptors();
            let fresh = File::open("/proc/self/exe").unwrap();
            (alone, seen(), fresh.as_raw_fd())
        });
        let (alone, copy, fresh) = copied.join().unwrap();
        assert_eq!(copy, libc::FD_CLOEXEC);
        assert!(!alone || fresh != number);
        let mut magic = [0; 4];
        file.read_exact(&mut magic).unwrap();
        assert_eq!(&magic, b"\x7fELF");
    }

    #[test]
    fn runtimes_work_in_every_table() {
        let in_other_thread = || {
            own_descriptors();
            tokio::runtime::Builder::new_current_thread().enable_all().build().map(drop)
        };
        for thread in [std::thread::spawn(in_other_thread), std::thread::spawn(in_other_thread)] {
            thread.join().unwrap().unwrap();
        }
        in_other_thread().unwrap();
    }
}
