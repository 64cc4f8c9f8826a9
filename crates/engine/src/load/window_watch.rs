//! What a thread does while a window lasts: progress, lateness and CPU time.

use sharebench_model::CpuTime;

use crate::load::observer::{LoadObserver, ReportedCounts};
use crate::load::user::thread_context::ThreadContext;
use crate::record::tally::Tally;
use crate::time::window::Window;

/// Time between two additions of a thread's counts to the progress of its step.
const PROGRESS_NS: u64 = 100_000_000;

/// Waits for the end of a window. Reports progress meanwhile, and gives the CPU time of the thread in the measured part.
pub(crate) async fn watch_window(
    context: &ThreadContext<'_>,
    window: Window,
    observer: &LoadObserver<'_>,
) -> CpuTime {
    let ((), cpu) = tokio::join!(note_start(context, window), sample_cpu(context, window, observer));
    cpu
}

/// Adds to the tally of a window that has ended what concerns its thread and not its users.
pub(crate) fn account_window(tally: &mut Tally, window: Window, cpu: CpuTime) {
    tally.window_ns = window.end - window.measure;
    // A thread's own CPU time; merging the threads keeps the largest.
    tally.cpu = cpu;
    tally.busiest = cpu;
    tally.spans(window.measure, window.end);
}

/// Records how late this thread's users started after the announced instant.
async fn note_start(context: &ThreadContext<'_>, window: Window) {
    context.clock.sleep_precise(window.start).await;
    let late_ns = context.clock.now().saturating_sub(window.start);
    let mut tally = context.tally.borrow_mut();
    tally.late_ns = tally.late_ns.max(late_ns);
}

async fn sample_cpu(context: &ThreadContext<'_>, window: Window, observer: &LoadObserver<'_>) -> CpuTime {
    context.clock.sleep_coarse(window.measure).await;
    let before = context.clock.thread_cpu();
    let mut said = ReportedCounts::default();
    while context.clock.now() < window.end && !context.stop.is_stopped() {
        let nap = context.clock.now() + PROGRESS_NS;
        context.clock.sleep_coarse(nap.min(window.end)).await;
        let now = context.clock.now();
        match &*context.closed.borrow() {
            // In a series the window may have handed over its tally already.
            Some(closed) => observer.note(now, closed, &mut said),
            None => observer.note(now, &context.tally.borrow(), &mut said),
        }
    }
    let after = context.clock.thread_cpu();
    CpuTime { user_ns: after.user_ns - before.user_ns, kernel_ns: after.kernel_ns - before.kernel_ns }
}
