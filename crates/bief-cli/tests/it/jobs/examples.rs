//! What `examples/jobs` has for schedulers: run where they are installed, or with stand-ins; else its form is checked.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::recording;
use crate::common::{Folder, packets, stderr};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/jobs").join(name)
}

/// Runs a program that finds the command, and stand-ins in the folder before others.
fn run(folder: &Folder, program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Option<Output> {
    let bief = Path::new(env!("CARGO_BIN_EXE_bief")).parent().unwrap();
    let path = format!("{}:{}:{}", folder.path("bin").display(), bief.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", path).envs(variables.iter().copied()).current_dir(folder.path(""));
    command.output().inspect_err(|error| eprintln!("skipped: {program}: {error}")).ok()
}

/// Whether a program ends well.
fn works(program: &str, arguments: &[&str]) -> bool {
    let works = Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success());
    if !works {
        eprintln!("skipped: `{program} {}` does not work here", arguments.join(" "));
    }
    works
}

/// Two recordings with packets; one with none, and one without samples.
fn recordings(folder: &Folder) {
    recording(folder, "a", &packets(20));
    recording(folder, "b", &packets(30));
    let meta = folder.read("a.sigmf-meta");
    folder.write("noise.sigmf-meta", &meta);
    folder.write("noise.sigmf-data", packets(500));
    folder.write("lonely.sigmf-meta", &meta);
}

fn are_received(folder: &Folder) {
    assert!(folder.read("a.ts") == packets(20) && folder.read("b.ts") == packets(30));
    assert!(!folder.path("noise.json").exists() && !folder.path("lonely.json").exists());
}

#[test]
fn gnu_parallel_receives_a_folder() {
    let is_gnu = Command::new("parallel").arg("--version").output();
    if !is_gnu.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("GNU parallel")) {
        eprintln!("skipped: GNU parallel is not installed here");
        assert!(
            run(&Folder::new("jobs-syntax"), "bash", &["-n", example("parallel.sh").to_str().unwrap()], &[])
                .unwrap()
                .status
                .success()
        );
        return;
    }
    let folder = Folder::new("jobs-parallel");
    recordings(&folder);
    folder.write("b.ts.part", "of a job that was killed");
    for round in 0..2 {
        let script = example("parallel.sh");
        let output = run(&folder, "bash", &[script.to_str().unwrap(), ".", "2"], &[]).unwrap();
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "round {round}, two are not received: {message}");
        assert!(message.contains("not received: ./lonely.sigmf-meta"), "{message}");
        are_received(&folder);
        let log = String::from_utf8(folder.read("jobs.tsv")).unwrap();
        let mut statuses: Vec<&str> = log.lines().skip(1).map(|line| line.split('\t').nth(6).unwrap()).collect();
        statuses.sort_unstable();
        // Nothing was tried a second time.
        assert_eq!(statuses, ["0", "0", "65", "66"], "{log}");
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn slurm_queues_again_what_may_pass() {
    let folder = Folder::new("jobs-slurm");
    std::fs::create_dir_all(folder.path("bin")).unwrap();
    let stand_in = |name: &str, script: &str| {
        let path = folder.write(&format!("bin/{name}"), format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    recordings(&folder);
    stand_in("srun", "exec \"$@\"");
    stand_in("scontrol", "echo \"$@\" >> requeued");
    folder.write("list.txt", "a.sigmf-meta\nb.sigmf-meta\nnoise.sigmf-meta\nlonely.sigmf-meta\n");
    let script = example("slurm.sbatch");
    let task = |number: &str, restarts: &str| {
        let variables =
            [("SLURM_ARRAY_TASK_ID", number), ("SLURM_ARRAY_JOB_ID", "7"), ("SLURM_RESTART_COUNT", restarts)];
        run(&folder, "bash", &[script.to_str().unwrap(), "list.txt"], &variables).unwrap().status.code()
    };
    let statuses: Vec<_> = ["1", "2", "3", "4"].into_iter().map(|number| task(number, "0")).collect();
    assert_eq!(statuses, [Some(0), Some(0), Some(65), Some(66)]);
    are_received(&folder);
    assert!(!folder.path("requeued").exists());
    // A step that is killed is queued again, three times.
    stand_in("srun", "exit 137");
    assert_eq!((task("2", "2"), task("2", "3")), (Some(137), Some(137)));
    assert_eq!(String::from_utf8(folder.read("requeued")).unwrap(), "requeue 7_2\n");
}

#[test]
#[ignore = "long: part of .ci/run"]
fn the_kubernetes_job_is_one() {
    if !works("python3", &["-c", "import yaml"]) {
        return;
    }
    let folder = Folder::new("jobs-kubernetes");
    // Its script, and what is not tried again.
    let read = "import sys, yaml\n\
        [job] = yaml.safe_load_all(open(sys.argv[1]))\n\
        assert (job['apiVersion'], job['kind'], job['spec']['completionMode']) == ('batch/v1', 'Job', 'Indexed')\n\
        pod = job['spec']['template']['spec']\n\
        [bief] = pod['containers']\n\
        assert pod['restartPolicy'] == 'Never' and bief['command'] == ['/bin/sh', '-c']\n\
        [codes] = [rule['onExitCodes'] for rule in job['spec']['podFailurePolicy']['rules'] if 'onExitCodes' in rule]\n\
        assert codes['values'] == [2, 65, 66] and codes['containerName'] == bief['name']\n\
        assert {mount['name'] for mount in bief['volumeMounts']} == {volume['name'] for volume in pod['volumes']}\n\
        print(bief['args'][0], end='')";
    let output = run(&folder, "python3", &["-c", read, example("kubernetes.yaml").to_str().unwrap()], &[]).unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    recordings(&folder);
    let script = String::from_utf8(output.stdout).unwrap().replace("/data/", "");
    for (index, status) in [("0", 0), ("1", 0), ("2", 66), ("3", 65)] {
        let ended = run(&folder, "sh", &["-c", &script], &[("JOB_COMPLETION_INDEX", index), ("LC_ALL", "C")]).unwrap();
        assert_eq!(ended.status.code(), Some(status), "{index}: {}", stderr(&ended));
    }
    are_received(&folder);
}

#[test]
fn ray_receives_a_folder() {
    let script = example("receive_with_ray.py");
    let script = script.to_str().unwrap();
    let folder = Folder::new("jobs-ray");
    let compiled =
        run(&folder, "python3", &["-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())", script], &[]);
    assert!(compiled.is_none_or(|output| output.status.success()), "its syntax");
    let python = std::env::var("BIEF_PYTHON_WITH_RAY").unwrap_or_else(|_| "python3".to_owned());
    if !works(&python, &["-c", "import ray"]) {
        return;
    }
    recordings(&folder);
    let output = run(&folder, &python, &[script, "."], &[("RAY_USAGE_STATS_ENABLED", "0")]).unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "two are not received: {message}");
    assert!(message.contains("noise.sigmf-meta: 65") && message.contains("lonely.sigmf-meta: 66"), "{message}");
    are_received(&folder);
}
