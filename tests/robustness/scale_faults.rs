//! What becomes of a run of several load machines when one of them is slow, unlike the others, or dies.

use std::time::Duration;

use sharebench_tests::program::{PATIENCE, poll};
use sharebench_tests::{Lab, Need, Sharebench, Smbd, Wiring, needs};

use crate::cli::scale::{WIRING, mpirun, seen};
use crate::stored::Stored;

#[test]
fn client_on_a_slow_link_is_named() {
    needs!(Lab::NEEDS, [Need::Mpi]);
    // So slow that it is the link that counts, also where six clients share few processors.
    Lab::within(Wiring { last_rate: "2mbit", ..WIRING }, |lab| {
        let sharebench = Sharebench::with_mpi().unwrap();
        let served = sharebench.serve_at("served", "0.0.0.0").unwrap();
        let load = [
            "load",
            &seen(&served.smb_url("")),
            "--workload=single",
            "--users=12",
            "--think=1ms",
            "--warm-up=200ms",
            "--measure=4s",
            "--scale=1MB",
            "--block=32KB",
        ];
        let ran = mpirun(lab, &sharebench, &load).expect_success();
        println!("{}", ran.text());
        let step = &Stored::read(&sharebench, 1).steps[0];
        let checks = step["checks"].as_array().unwrap();
        let named = checks.iter().find(|check| check["name"] == "ranks").unwrap();
        let detail = named["detail"].as_str().unwrap();
        assert!(named["verdict"] == "warning" && detail.contains("rank 5 (c5) is slow"), "{detail}");
    });
}

#[test]
fn killed_client_fails_the_run_and_finished_steps_are_kept() {
    needs!(Lab::NEEDS, [Need::Mpi]);
    Lab::within(WIRING, |lab| {
        let sharebench = Sharebench::with_mpi().unwrap();
        let served = sharebench.serve_at("served", "0.0.0.0").unwrap();
        let home = sharebench.home().display().to_string();
        let url = seen(&served.smb_url(""));
        let mut words = lab.mpirun();
        // More than the second that Open MPI leaves between its signals: the leader writes down how it ended.
        words.extend(["--mca", "odls_base_sigkill_timeout", "2"].map(str::to_owned));
        words.extend(["--wdir", &home, sharebench.binary(), "load", &url].map(str::to_owned));
        // The second step is under way for long enough to be met, and to be ended.
        let load = [
            "--users=6,12",
            "--think=10ms",
            "--warm-up=100ms",
            "--measure=8s",
            "--scale=160KB",
            "--block=8KB",
        ];
        words.extend(load.map(str::to_owned));
        let env = [("SHAREBENCH_PASSWORD", Smbd::PASSWORD), ("HOME", home.as_str())];
        let mut program = lab.start(&words, &env, &sharebench.home().join("mpirun.log")).unwrap();
        let stored = || Stored::steps_so_far(&sharebench, 1);
        assert!(poll(2 * PATIENCE, || stored() == 1), "{}", program.output());
        // Not while the ranks agree on the next step: a message to one that is gone would end the leader too.
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!(lab.kill(3, "sharebench").unwrap(), 1);
        let ended = program.wait(PATIENCE).unwrap();
        println!("{}", program.output());
        // The code is that of mpirun (docs/measure/scale.md): 128 and SIGKILL, or that of the leader if it ended first.
        assert!(matches!(ended.code(), Some(137 | 1)), "{ended}");
        assert_eq!(stored(), 1, "the finished step is kept");
        let json = sharebench.run(&["export", "1", "--format", "json"]).unwrap().expect_success().stdout;
        let run: serde_json::Value = serde_json::from_str(&json).unwrap();
        let state = run["state"].as_str().unwrap();
        let reason = run["reason"].as_str().unwrap_or_default();
        assert!(state == "engine failed" && reason.contains("rank 3 (c3)"), "{state}: {reason}");
        assert!(program.output().contains("remove it by: sharebench clean"), "{}", program.output());
        let cleaned = sharebench.run(&["clean", &served.smb_url("")]).unwrap().expect_success();
        assert!(cleaned.stdout.contains("removed .sharebench-"), "{}", cleaned.text());
        let resumed = mpirun(lab, &sharebench, &["run", "--resume", "1"]);
        assert_eq!(resumed.code, Some(2), "{}", resumed.text());
        let message = "the run has ended and is immutable";
        assert_eq!(resumed.text().matches(message).count(), 1, "once: {}", resumed.text());
    });
}

#[test]
fn ranks_with_different_arguments_are_rejected_and_several_processes_need_mpi() {
    needs!([Need::Mpi]);
    let sharebench = Sharebench::with_mpi().unwrap();
    std::fs::create_dir(sharebench.home().join("share")).unwrap();
    let binary = sharebench.binary();
    let script = format!(
        "exec mpirun --allow-run-as-root --oversubscribe --mca btl self,vader \
         -np 1 {binary} load share --measure 10s : -np 1 {binary} load share --measure 5s"
    );
    let ended = sharebench.run_by(&["sh", "-c", &script]).unwrap();
    let message = "its plan contains 'measure = \"5s\"' where rank 0 has 'measure = \"10s\"'";
    assert_eq!(ended.text().matches(message).count(), 2, "on every rank: {}", ended.text());
    assert_eq!(ended.code, Some(2), "{}", ended.text());
    let script = format!(
        "exec mpirun --allow-run-as-root --oversubscribe --mca btl self,vader \
         -np 2 {binary} run --resume 7 --db none.db"
    );
    let ended = sharebench.run_by(&["sh", "-c", &script]).unwrap();
    assert_eq!(ended.text().matches("no run 7").count(), 1, "once: {}", ended.text());
    assert_eq!(ended.code, Some(2), "{}", ended.text());
    let plain = Sharebench::new().unwrap();
    let started = plain.run_with(&["load", "."], &[("OMPI_COMM_WORLD_SIZE", "6")]).unwrap();
    assert_eq!(started.code, Some(2));
    assert!(
        started.stderr.contains("one of 6 processes") && started.stderr.contains("--features mpi"),
        "{}",
        started.stderr
    );
    let shifted = plain.run(&["run", "plan.toml", "--shift-ranks", "1"]).unwrap();
    assert!(shifted.code == Some(2) && shifted.stderr.contains("--shift-ranks"), "{}", shifted.stderr);
}
