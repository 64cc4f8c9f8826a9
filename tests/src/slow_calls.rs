//! A preloaded library that makes calls of a program slow by known times, so that a fault of a real server has a known size.

use std::io;
use std::sync::Arc;

use crate::need::Need;
use crate::program::run;
use crate::scratch::Scratch;

/// Times in microseconds come from the environment, once per process.
const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static long of(const char *name) { const char *text = getenv(name); return text ? atol(text) : 0; }
static void wait_us(long us) {
    struct timespec left = { us / 1000000, us % 1000000 * 1000 };
    if (us > 0) while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left)) { }
}
static void burn_us(long us) {
    struct timespec start, now;
    if (us <= 0) return;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 < us);
}
#define WAIT(name) do { static long us = -1; if (us < 0) us = of(name); wait_us(us); } while (0)
#define NEXT(name) static __typeof__(&name) next; if (!next) next = dlsym(RTLD_NEXT, #name)

static void opened(const char *path, int flags) {
    int is_file = !(flags & (O_PATH | O_DIRECTORY)) && (path[0] != '/' || !strncmp(path, "/proc/self/fd/", 14));
    if (is_file) WAIT("SLOW_OPEN_US");
}
#define OPENED(name, call) \
    int mode = 0; \
    if (flags & (O_CREAT | __O_TMPFILE)) { va_list a; va_start(a, flags); mode = va_arg(a, int); va_end(a); } \
    NEXT(name); \
    opened(p, flags); \
    return call
int open(const char *p, int flags, ...) { OPENED(open, next(p, flags, mode)); }
int open64(const char *p, int flags, ...) { OPENED(open64, next(p, flags, mode)); }
int openat(int d, const char *p, int flags, ...) { OPENED(openat, next(d, p, flags, mode)); }
int openat64(int d, const char *p, int flags, ...) { OPENED(openat64, next(d, p, flags, mode)); }

ssize_t pread(int f, void *b, size_t n, off_t o) { NEXT(pread); WAIT("SLOW_READ_US"); return next(f, b, n, o); }
ssize_t pread64(int f, void *b, size_t n, off64_t o) { NEXT(pread64); WAIT("SLOW_READ_US"); return next(f, b, n, o); }
ssize_t preadv(int f, const struct iovec *v, int n, off_t o) { NEXT(preadv); WAIT("SLOW_READ_US"); return next(f, v, n, o); }
ssize_t preadv64(int f, const struct iovec *v, int n, off64_t o) { NEXT(preadv64); WAIT("SLOW_READ_US"); return next(f, v, n, o); }

int fsync(int f) { NEXT(fsync); WAIT("SLOW_SYNC_US"); return next(f); }
int fdatasync(int f) { NEXT(fdatasync); WAIT("SLOW_SYNC_US"); return next(f); }

static void sent(int f) {
    static long us = -1;
    struct stat is;
    WAIT("SLOW_SEND_US");
    if (us < 0) us = of("BURN_SEND_US");
    if (us > 0 && !fstat(f, &is) && S_ISSOCK(is.st_mode)) burn_us(us);
}
ssize_t sendmsg(int f, const struct msghdr *m, int flags) { NEXT(sendmsg); sent(f); return next(f, m, flags); }
ssize_t writev(int f, const struct iovec *v, int n) { NEXT(writev); sent(f); return next(f, v, n); }

struct dirent *readdir(DIR *d) { NEXT(readdir); WAIT("SLOW_ENTRY_US"); return next(d); }
struct dirent64 *readdir64(DIR *d) { NEXT(readdir64); WAIT("SLOW_ENTRY_US"); return next(d); }

struct passwd *getpwnam(const char *n) { NEXT(getpwnam); WAIT("SLOW_USER_US"); return next(n); }
int getnameinfo(const struct sockaddr *a, socklen_t al, char *h, socklen_t hl, char *s, socklen_t sl, int flags) {
    NEXT(getnameinfo);
    if (!(flags & NI_NUMERICHOST)) WAIT("SLOW_NAME_US");
    return next(a, al, h, hl, s, sl, flags);
}
int getaddrinfo(const char *n, const char *s, const struct addrinfo *h, struct addrinfo **r) {
    NEXT(getaddrinfo);
    WAIT("SLOW_ADDRESS_US");
    return next(n, s, h, r);
}

static void ahead(int failed, struct timespec *time) {
    static long seconds = -1;
    if (seconds < 0) seconds = of("AHEAD_S");
    if (!failed) time->tv_sec += seconds;
}
int fstat(int f, struct stat *s) { NEXT(fstat); int failed = next(f, s); ahead(failed, &s->st_mtim); return failed; }
int fstat64(int f, struct stat64 *s) { NEXT(fstat64); int failed = next(f, s); ahead(failed, &s->st_mtim); return failed; }

/* Otherwise what is loaded later binds past this library. */
void *dlopen(const char *p, int flags) { NEXT(dlopen); return next(p, flags & ~RTLD_DEEPBIND); }
"#;

/// A call that takes longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlowCall {
    /// Opening a file.
    Open,
    /// Reading at an offset.
    Read,
    /// `fsync` and `fdatasync`.
    Sync,
    /// Sending a message.
    Send,
    /// Sending a message, with the CPU busy.
    SendBusy,
    /// The next entry of a directory.
    Entry,
    /// Looking up an account.
    User,
    /// Looking up the name of an address.
    Name,
    /// Looking up the address of a name.
    Address,
    /// No longer, but times of files are ahead: the value is in seconds.
    Ahead,
}

impl SlowCall {
    const fn variable(self) -> &'static str {
        match self {
            Self::Open => "SLOW_OPEN_US",
            Self::Read => "SLOW_READ_US",
            Self::Sync => "SLOW_SYNC_US",
            Self::Send => "SLOW_SEND_US",
            Self::SendBusy => "BURN_SEND_US",
            Self::Entry => "SLOW_ENTRY_US",
            Self::User => "SLOW_USER_US",
            Self::Name => "SLOW_NAME_US",
            Self::Address => "SLOW_ADDRESS_US",
            Self::Ahead => "AHEAD_S",
        }
    }
}

/// The library with its times; clones share it.
#[derive(Debug, Clone)]
pub struct SlowCalls {
    scratch: Arc<Scratch>,
    call: SlowCall,
    amount: u64,
}

impl SlowCalls {
    /// Requirements of the machine.
    pub const NEEDS: [Need; 1] = [Need::Program("gcc")];

    /// Compiles it; `amount` is in microseconds, or in seconds for [`SlowCall::Ahead`].
    pub fn new(call: SlowCall, amount: u64) -> io::Result<Self> {
        let scratch = Scratch::new("slow")?;
        let source = scratch.file("slow.c");
        std::fs::write(&source, SOURCE)?;
        run(&["gcc", "-O2", "-shared", "-fPIC", "-w", "-o", &scratch.file("slow.so"), &source, "-ldl"], &[])?;
        Ok(Self { scratch: Arc::new(scratch), call, amount })
    }

    /// Its path, for `LD_PRELOAD`.
    pub fn library(&self) -> String {
        self.scratch.file("slow.so")
    }

    /// The variable that a program needs besides.
    pub fn switch(&self) -> (&'static str, String) {
        (self.call.variable(), self.amount.to_string())
    }
}
