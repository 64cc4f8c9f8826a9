//! The plans of the runs.

use crate::case::{Case, Work};

/// Steps of one repetition of the cells.
pub const CELLS: usize = 2 * 2 * 4;

/// Returns a sweep of small cells that is long enough to inject a fault in its middle, or a load in steps.
pub fn plan(case: &Case, url: &str, repetitions: u32) -> String {
    // Only a silent server makes the run wait for the timeout.
    let timeout = if case.silent { "3s" } else { "30s" };
    let verify = if case.verify_full { "full" } else { "stamps" };
    let head = format!(
        "title = 'fault'\nseed = 7\ntimeout = '{timeout}'\nrepetitions = {repetitions}\nverify = '{verify}'\nmin_sample_time = '60ms'\n\
         [[target]]\nname = 'server'\nurl = '{url}'\n"
    );
    let rest = match case.work {
        Work::Cells => {
            "[sweep]\nfile_sizes = ['64KiB', '256KiB']\nrecord_sizes = ['4KiB', '32KiB']\n\
             tests = ['write', 'rewrite', 'read', 'random-read']\n"
        }
        Work::Crowd => {
            // Long enough for all users to begin, also on a slow machine.
            "[load]\nworkload = 'single:operation=write'\nblock = '1MiB'\nscale = '1MiB'\nusers = [1, 2, 400]\nthink = '0s'\n\
             warm_up = '0s'\nmeasure = '3s'\n"
        }
        Work::MoreUsers => {
            "[load]\nworkload = 'single:operation=write'\nblock = '4KiB'\nscale = '64KiB'\nusers = [1, 2, 40]\n\
             warm_up = '0s'\nmeasure = '200ms'\n"
        }
        Work::Thinking => {
            "[load]\nworkload = 'single'\nblock = '4KiB'\nscale = '64KiB'\nusers = [1, 2, 3]\nthink = '4400ms'\n\
             warm_up = '0s'\nmeasure = '9s'\n"
        }
    };
    head + rest
}
