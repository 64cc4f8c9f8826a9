//! The examples of packaging/kubernetes follow their schemas, and a wrong field is an error.

use std::fs;
use std::path::Path;

use sharebench_tests::{Need, Scratch, needs, python};

use crate::file;

const SCHEMAS: [Need; 2] = [Need::Program("python3"), Need::PythonModule("kubernetes_validate")];

/// Runs `tests/packages/manifests.py` and returns both outputs.
fn check(manifest: &Path) -> String {
    let output = python().arg(file("tests/packages/manifests.py")).arg(manifest).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    format!("{}\n{}", output.status, String::from_utf8_lossy(&text))
}

#[test]
fn kubernetes_examples_follow_their_schemas() {
    needs!(SCHEMAS);
    let job = check(&file("packaging/kubernetes/job.yaml"));
    assert!(job.starts_with("exit status: 0") && job.contains("batch/v1 Job: valid"), "{job}");
    let ranks = check(&file("packaging/kubernetes/mpijob.yaml"));
    assert!(ranks.starts_with("exit status: 0"), "{ranks}");
    assert!(ranks.contains("kubeflow.org/v2beta1 MPIJob: valid"), "{ranks}");
}

#[test]
fn wrong_fields_of_manifests_are_found() {
    needs!(SCHEMAS);
    let scratch = Scratch::new("manifests").unwrap();
    let wrong = scratch.path().join("wrong.yaml");
    let cases = [
        ("job.yaml", "backoffLimit:", "backofLimit:", "backofLimit"),
        ("mpijob.yaml", "slotsPerWorker: 1", "slotsPerWorker: 2", "which is not the number of workers"),
        ("mpijob.yaml", "cleanPodPolicy: Running", "cleanPodPolicy: Some", "cleanPodPolicy"),
        ("mpijob.yaml", "volumeMounts:", "volumeMount:", "volumeMount"),
    ];
    for (name, right, typo, reason) in cases {
        let text = fs::read_to_string(file("packaging/kubernetes").join(name)).unwrap();
        assert!(text.contains(right), "{name}: {right}");
        fs::write(&wrong, text.replace(right, typo)).unwrap();
        let said = check(&wrong);
        assert!(said.starts_with("exit status: 1") && said.contains(reason), "{typo}: {said}");
    }
}
