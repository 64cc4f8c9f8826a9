//! A preloaded library that makes system calls of a running program fail, or its wall clock jump.

use std::fs;
use std::io;
use std::sync::Arc;

use crate::need::Need;
use crate::program::run;
use crate::scratch::Scratch;

/// Reads `WRITE OPEN SECONDS` from the file named by the environment before each call: the error that writes fail with, the
/// error that opening for writing fails with (0 for none), and the offset of the wall clock.
const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static long wanted(int which) {
    const char *path = getenv("SHAREBENCH_TEST_FAILING");
    char text[64];
    long values[3] = {0, 0, 0};
    int kept = errno;
    if (!path) return 0;
    int file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
    if (file >= 0) {
        long len = syscall(SYS_read, file, text, sizeof text - 1);
        syscall(SYS_close, file);
        if (len > 0) {
            text[len] = 0;
            sscanf(text, "%ld %ld %ld", &values[0], &values[1], &values[2]);
        }
    }
    errno = kept;
    return values[which];
}

#define REFUSE(which) do { long e = wanted(which); if (e) { errno = (int)e; return -1; } } while (0)
#define NEXT(name) static __typeof__(&name) next; if (!next) next = dlsym(RTLD_NEXT, #name)

ssize_t pwrite(int f, const void *b, size_t n, off_t o) { NEXT(pwrite); REFUSE(0); return next(f, b, n, o); }
ssize_t pwrite64(int f, const void *b, size_t n, off64_t o) { NEXT(pwrite64); REFUSE(0); return next(f, b, n, o); }
ssize_t pwritev(int f, const struct iovec *v, int n, off_t o) { NEXT(pwritev); REFUSE(0); return next(f, v, n, o); }
ssize_t pwritev64(int f, const struct iovec *v, int n, off64_t o) { NEXT(pwritev64); REFUSE(0); return next(f, v, n, o); }

#define OPENED(name, call) \
    int mode = 0; \
    if (flags & (O_CREAT | __O_TMPFILE)) { va_list a; va_start(a, flags); mode = va_arg(a, int); va_end(a); } \
    NEXT(name); \
    if ((flags & O_ACCMODE) != O_RDONLY || flags & O_CREAT) REFUSE(1); \
    return call
int open(const char *p, int flags, ...) { OPENED(open, next(p, flags, mode)); }
int open64(const char *p, int flags, ...) { OPENED(open64, next(p, flags, mode)); }
int openat(int d, const char *p, int flags, ...) { OPENED(openat, next(d, p, flags, mode)); }
int openat64(int d, const char *p, int flags, ...) { OPENED(openat64, next(d, p, flags, mode)); }

/* Otherwise what is loaded later binds past this library. */
void *dlopen(const char *p, int flags) { NEXT(dlopen); return next(p, flags & ~RTLD_DEEPBIND); }

int clock_gettime(clockid_t clock, struct timespec *now) {
    NEXT(clock_gettime);
    int failed = next(clock, now);
    if (!failed && clock == CLOCK_REALTIME) now->tv_sec += wanted(2);
    return failed;
}
int gettimeofday(struct timeval *now, void *zone) {
    NEXT(gettimeofday);
    int failed = next(now, zone);
    if (!failed) now->tv_sec += wanted(2);
    return failed;
}
time_t time(time_t *place) {
    NEXT(time);
    time_t now = next(NULL) + wanted(2);
    if (place) *place = now;
    return now;
}
"#;

/// The library and its switch; clones share both.
#[derive(Debug, Clone)]
pub struct Failing(Arc<Scratch>);

impl Failing {
    /// Requirements of the machine.
    pub const NEEDS: [Need; 1] = [Need::Program("gcc")];
    /// The quota of the user is exceeded.
    pub const EDQUOT: i32 = 122;
    /// The file system is read-only.
    pub const EROFS: i32 = 30;
    /// Permission denied.
    pub const EACCES: i32 = 13;
    /// Input/output error.
    pub const EIO: i32 = 5;

    /// Compiles the library, with all faults off.
    pub fn build() -> io::Result<Self> {
        let scratch = Scratch::new("failing")?;
        let source = scratch.file("failing.c");
        fs::write(&source, SOURCE)?;
        run(&["gcc", "-shared", "-fPIC", "-O1", "-o", &scratch.file("failing.so"), &source], &[])?;
        let failing = Self(Arc::new(scratch));
        failing.heal()?;
        Ok(failing)
    }

    /// Returns the path of the library, for `LD_PRELOAD`.
    pub fn library(&self) -> String {
        self.0.file("failing.so")
    }

    /// Returns name and value of the environment variable with the path of the library's switch.
    pub fn switch(&self) -> (&'static str, String) {
        ("SHAREBENCH_TEST_FAILING", self.0.file("switch"))
    }

    /// Sets the errno of writes and that of opening for writing; 0 switches the fault off.
    pub fn fail(&self, writes: i32, opens: i32) -> io::Result<()> {
        self.set(&format!("{writes} {opens} 0"))
    }

    /// Sets the wall clock forward by this number of seconds, or back if it is negative.
    pub fn step_calendar(&self, seconds: i64) -> io::Result<()> {
        self.set(&format!("0 0 {seconds}"))
    }

    /// Switches all faults off.
    pub fn heal(&self) -> io::Result<()> {
        self.set("0 0 0")
    }

    /// Replaces the file atomically, because the program may be reading it.
    fn set(&self, text: &str) -> io::Result<()> {
        let fresh = self.0.file("switch.new");
        fs::write(&fresh, text)?;
        fs::rename(fresh, self.0.file("switch"))
    }
}
