//! A descriptor table for each thread, so that its system calls need no reference counting.
//!
//! While threads share a table, Linux takes and drops a reference to the file at every read and write (`fdget`), some
//! percent of a small one out of the page cache. That time would count as the target's, and a program of one thread,
//! with which local targets are compared, does not spend it.

use std::sync::Once;

/// Gives the calling thread a descriptor table of its own. Descriptors that are open now are open in both tables;
/// later changes affect one table only. It is meant for threads that open and close their own sessions. While such a
/// thread lives, it keeps files open that other threads close. It returns false where a sandbox forbids the call;
/// only speed differs.
pub fn own_descriptors() -> bool {
    static SHARED: Once = Once::new();
    // The first runtime makes descriptors that those of all threads use (tokio's pipe for signals).
    SHARED.call_once(|| drop(tokio::runtime::Builder::new_current_thread().enable_all().build()));
    // SAFETY: the table is copied, nothing is closed (unshare(2)).
    unsafe { libc::unshare(libc::CLONE_FILES) == 0 }
}

/// Gives the calling thread a descriptor table with standard input, output and error only, for a new thread that uses
/// no file of other threads. It returns false on Linux before 5.9 and where a sandbox forbids the call.
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
