//! Readiness of descriptors that the runtime does not know: tokio's `AsyncFd`, or a stand-in without values where the
//! system has no such descriptors.

#[cfg(target_os = "linux")]
pub use tokio::io::unix::AsyncFd;

#[cfg(not(target_os = "linux"))]
pub use absent::AsyncFd;

#[cfg(not(target_os = "linux"))]
mod absent {
    use std::convert::Infallible;
    use std::future::Ready;
    use std::io::{self, ErrorKind};
    use std::marker::PhantomData;
    use std::task::{Context, Poll};

    /// Has no values on this system, because [`Self::register`] always fails.
    #[derive(Debug)]
    pub struct AsyncFd<T>(Infallible, PhantomData<T>);

    /// Has no values either; the counterpart of tokio's guard.
    #[derive(Debug)]
    pub struct ReadyGuard<'a, T>(&'a AsyncFd<T>);

    /// The operation has to wait; the counterpart of tokio's error.
    #[derive(Debug)]
    pub struct WouldBlock(());

    impl<T> AsyncFd<T> {
        /// Fails with [`ErrorKind::Unsupported`].
        ///
        /// # Safety
        /// Safe: nothing is registered. Only the signature is that of tokio.
        pub unsafe fn register(_: T) -> io::Result<Self> {
            Err(io::Error::new(ErrorKind::Unsupported, "this system has no descriptors to wait for"))
        }

        /// The object that was registered.
        pub fn get_ref(&self) -> &T {
            match self.0 {}
        }

        /// Waits until it can be read.
        pub fn readable(&self) -> Ready<io::Result<ReadyGuard<'_, T>>> {
            match self.0 {}
        }

        /// Waits until it can be written.
        pub fn writable(&self) -> Ready<io::Result<ReadyGuard<'_, T>>> {
            match self.0 {}
        }

        /// Polls whether it can be read.
        pub fn poll_read_ready(&self, _: &mut Context<'_>) -> Poll<io::Result<ReadyGuard<'_, T>>> {
            match self.0 {}
        }

        /// Polls whether it can be written.
        pub fn poll_write_ready(&self, _: &mut Context<'_>) -> Poll<io::Result<ReadyGuard<'_, T>>> {
            match self.0 {}
        }
    }

    impl<T> ReadyGuard<'_, T> {
        /// Performs an operation that may find the descriptor busy.
        pub fn try_io<R>(
            &mut self,
            _: impl FnOnce(&AsyncFd<T>) -> io::Result<R>,
        ) -> Result<io::Result<R>, WouldBlock> {
            match self.0.0 {}
        }
    }
}
