"""Checks Kubernetes manifests: manifests.py FILE...

Objects of Kubernetes are validated by its own schemas (PyPI package kubernetes-validate), without unknown fields. An MPIJob
is a resource of the MPI operator, whose schema no package has: its own fields are checked here, and its pods by the schema
of PodTemplate.
"""

import sys

import kubernetes_validate
import yaml

VERSION = "1.30"

# Fields of kubeflow.org/v2beta1 with their values, or None for any.
SPEC = {
    "slotsPerWorker": int,
    "mpiImplementation": ["OpenMPI", "Intel", "MPICH"],
    "sshAuthMountPath": str,
    "launcherCreationPolicy": ["AtStartup", "WaitForWorkersReady"],
    "runLauncherAsWorker": bool,
    "runPolicy": dict,
    "mpiReplicaSpecs": dict,
}
POLICY = {
    "activeDeadlineSeconds": int,
    "backoffLimit": int,
    "cleanPodPolicy": ["None", "Running", "All"],
    "managedBy": str,
    "schedulingPolicy": dict,
    "suspend": bool,
    "ttlSecondsAfterFinished": int,
}
REPLICA = {"replicas": int, "restartPolicy": ["Never", "OnFailure", "Always"], "template": dict}


def check(fields, allowed, where):
    """Raises an error for the first field that is unknown or has a wrong value."""
    for name, value in fields.items():
        wanted = allowed.get(name)
        if wanted is None:
            raise ValueError(f"{where}: unknown field {name}")
        if value not in wanted if isinstance(wanted, list) else not isinstance(value, wanted):
            raise ValueError(f"{where}.{name}: {value!r} is not {wanted}")


def check_mpi_job(job):
    """Checks an MPIJob by its structure."""
    spec = job["spec"]
    check(spec, SPEC, "spec")
    check(spec.get("runPolicy", {}), POLICY, "spec.runPolicy")
    replicas = spec["mpiReplicaSpecs"]
    if set(replicas) != {"Launcher", "Worker"} or replicas["Launcher"].get("replicas", 1) != 1:
        raise ValueError("spec.mpiReplicaSpecs: one Launcher and the Workers are expected")
    for name, replica in replicas.items():
        check(replica, REPLICA, f"spec.mpiReplicaSpecs.{name}")
        pods = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "pods"}, "template": replica["template"]}
        kubernetes_validate.validate(pods, VERSION, strict=True)
    started = replicas["Launcher"]["template"]["spec"]["containers"][0]["args"]
    ranks = int(started[started.index("-np") + 1])
    if ranks != replicas["Worker"]["replicas"] * spec["slotsPerWorker"]:
        raise ValueError(f"mpirun starts {ranks} ranks, which is not the number of workers times slotsPerWorker")


def main(files):
    for file in files:
        with open(file, encoding="utf-8") as text:
            for manifest in yaml.safe_load_all(text):
                kind = f"{manifest['apiVersion']} {manifest['kind']}"
                if kind == "kubeflow.org/v2beta1 MPIJob":
                    check_mpi_job(manifest)
                else:
                    kubernetes_validate.validate(manifest, VERSION, strict=True)
                print(f"{kind}: valid")


if __name__ == "__main__":
    main(sys.argv[1:])
