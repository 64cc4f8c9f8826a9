//! What a run keeps when the program is killed in the middle.

use std::fs;
use std::time::Duration;

use sharebench_tests::program::poll;
use sharebench_tests::{Sharebench, Signal};

use crate::plans::{SWEEP_STEPS, left_in, sweep};
use crate::stored::Stored;

const REPETITIONS: u32 = 3;

#[test]
fn killed_sweep_keeps_its_steps_and_resumes() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let local = sharebench.home().join("local");
    fs::create_dir(&local).unwrap();
    let plan = sweep(&[("local", "./local"), ("smb", &served.smb_url(""))], "150ms", REPETITIONS);
    sharebench.write("plan.toml", &plan).unwrap();

    let running = sharebench.start(&["run", "plan.toml"], "run.log").unwrap();
    assert!(
        poll(Duration::from_secs(60), || Stored::steps_so_far(&sharebench, 1) >= 10),
        "{}",
        running.output()
    );
    running.signal_group(Signal::KILL);
    drop(running);
    let before = Stored::read(&sharebench, 1);
    assert!(before.steps.len() >= 10 && before.steps.len() < before.planned, "{before:?}");
    let runs = sharebench.run(&["runs"]).unwrap().expect_success().stdout;
    assert!(runs.contains("interrupted"), "{runs}");

    let resumed = sharebench.run(&["run", "--resume", "1"]).unwrap().expect_success();
    let after = Stored::read(&sharebench, 1);
    assert_eq!(after.steps.len(), 2 * SWEEP_STEPS * REPETITIONS as usize, "{}", resumed.text());
    assert_eq!(after.steps.len(), after.planned);
    // The steps measured before the kill are still the same ones.
    assert!(before.steps.iter().all(|step| after.steps.contains(step)), "{before:?}\n{after:?}");
    let runs = sharebench.run(&["runs"]).unwrap().expect_success().stdout;
    assert!(runs.contains("complete") && !runs.contains("interrupted"), "{runs}");
    assert_eq!(left_in(&local), Vec::<String>::new());
    assert_eq!(left_in(served.directory()), Vec::<String>::new());
}
