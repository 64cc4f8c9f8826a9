//! Calls that block, while the sessions of this thread continue.

/// Runs a call that may block for long, such as a request to a KDC, on a thread of its own; none if the call panics.
///
/// The thread is not of the runtime's pool, because the end of a runtime waits for that pool.
pub async fn on_own_thread<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    // The receiver is gone if the caller has given up; then nobody wants the result.
    std::thread::spawn(move || drop(sender.send(call())));
    receiver.await.ok()
}
