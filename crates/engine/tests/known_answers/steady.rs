//! Steady state (docs/measure/measurement-rules.md R5) in the engine: what counts as steady, what is extended, and what never settles.

use sharebench_model::{StepResult, Verdict};
use sharebench_simulated::{Device, Service};

use crate::known_answers::lab::{close, load, millis, quantile_ms, verdict};

const SECOND: u64 = 1_000_000_000;

/// More users than the service center can serve at once, and half of what it can by a schedule.
const CLOSED: &str = "users = [20]\nthink = 'exp 20ms'\nwarm_up = '2s'\n";
const OPEN: &str = "users = [64]\narrivals = 'constant'\nrates = [250]\nwarm_up = '2s'\n";

fn device() -> Device {
    Device::new(13).service_center(1, Service::Lognormal(millis(2), 0.3))
}

fn judged(pace: &str, more: &str, device: Device) -> (StepResult, String) {
    let (step, _) = load(13, &format!("{pace}{more}"), device);
    let check = step.checks.iter().find(|check| check.name == "steady").unwrap();
    println!("{:?}: {}", check.verdict, check.detail);
    let detail = check.detail.clone();
    (step, detail)
}

#[test]
fn a_flat_server_is_steady_and_its_step_does_not_go_on() {
    for pace in [CLOSED, OPEN] {
        let (step, detail) = judged(pace, "measure = '60s'\nmax_extensions = 3", device());
        assert_eq!(verdict(&step, "steady"), Verdict::Valid, "{detail}");
        assert!(detail.starts_with("steady over the window of 60 s, at "), "{detail}");
        assert_eq!(step.measure.window_ns, 60 * SECOND);
    }
}

#[test]
fn a_window_too_short_to_judge_says_what_would_do() {
    let (step, detail) = judged(CLOSED, "measure = '10s'", device());
    assert_eq!(verdict(&step, "steady"), Verdict::NotKnown);
    assert_eq!(detail, "a window of 10s cannot be judged, 30s can: --measure 30s or --max-extensions 2");
    // Twenty transactions in a second, give or take four or five: no trend of 5 % could be seen in a minute of that.
    let few = "users = [64]\narrivals = 'poisson'\nrates = [20]\nwarm_up = '2s'\n";
    let (step, detail) = judged(few, "measure = '60s'", device());
    assert_eq!(verdict(&step, "steady"), Verdict::NotKnown);
    assert!(detail.contains(" can be chance (standard error "), "{detail}");
}

/// A cache that is full after 50 s: from then on the server takes two and a half times as long.
#[test]
fn a_step_that_was_not_steady_goes_on_until_it_is() {
    let filling = || device().slower_from(50 * SECOND, 2.5);
    let (step, detail) = judged(CLOSED, "measure = '60s'", filling());
    assert_eq!(verdict(&step, "steady"), Verdict::Warning);
    assert!(detail.starts_with("not steady: ") && detail.contains(" before; that is "), "{detail}");
    let (step, detail) = judged(CLOSED, "measure = '60s'\nmax_extensions = 3", filling());
    assert_eq!(verdict(&step, "steady"), Verdict::Valid, "{detail}");
    assert_eq!(step.measure.window_ns, 120 * SECOND, "twice, once");
    // The longer window holds nothing of the time before: it measures what a server measures that was always so.
    let slow = Device::new(13).service_center(1, Service::Lognormal(millis(5), 0.3));
    let (always, _) = judged(CLOSED, "measure = '120s'", slow);
    let rate = |step: &StepResult| step.measure.throughput().unwrap();
    close("R5 after the extension: rate as if always so", rate(&step), rate(&always), 0.01);
    let p95 = |step: &StepResult| quantile_ms(&step.measure.response, 0.95);
    close("R5 after the extension: p95 as if always so", p95(&step), p95(&always), 0.03);
    for name in ["little", "participation", "censored"] {
        assert_eq!(verdict(&step, name), Verdict::Valid, "{name}");
    }
    // An open load that the server still carries keeps its rate through the change: that is steady. One that it
    // carries no more is not, until it is at the server's own rate.
    let (step, detail) =
        judged(OPEN, "measure = '60s'\nmax_extensions = 3", device().slower_from(50 * SECOND, 4.0));
    assert_eq!(verdict(&step, "steady"), Verdict::Valid, "{detail}");
    assert_eq!(step.measure.window_ns, 120 * SECOND);
    let served = 125.0 / (0.3f64 * 0.3 / 2.0).exp();
    close("R5 of an open load: the server's rate", step.measure.transaction_rate().unwrap(), served, 0.01);
    assert_eq!(verdict(&step, "offered"), Verdict::Warning, "steady, but not what was asked for");
}

/// Early in the window: steady from then on, but the mean of the window is not that level.
#[test]
fn a_level_that_came_later_says_from_when() {
    let (step, detail) = judged(CLOSED, "measure = '120s'", device().slower_from(42 * SECOND, 2.5));
    assert_eq!(verdict(&step, "steady"), Verdict::Warning);
    assert!(detail.starts_with("steady from 40 s of 120 s on at ") && detail.contains("longer by 40 s"));
    assert_eq!(step.measure.window_ns, 120 * SECOND, "nothing is cut away");
}

#[test]
fn a_drifting_server_is_never_steady_and_a_stall_without_end_neither() {
    let (step, detail) = judged(CLOSED, "measure = '60s'\nmax_extensions = 3", device().wearing(0.02));
    assert_eq!(verdict(&step, "steady"), Verdict::Warning);
    assert!(
        detail.starts_with("not steady: ") && detail.contains("(extended: the first window was 60s)"),
        "{detail}"
    );
    assert_eq!(step.measure.window_ns, 480 * SECOND, "as often as it may, and no more");
    let stalled = device().stalled(20 * SECOND, millis(900_000));
    let (step, detail) = judged(CLOSED, "measure = '60s'", stalled);
    assert_eq!(verdict(&step, "steady"), Verdict::Warning);
    assert!(detail.starts_with("not steady: nothing moved from 18 s to 60 s of 60 s"), "{detail}");
}
