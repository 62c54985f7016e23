"""Receives every recording of a folder that all machines see, a Ray task for each.

    python receive_with_ray.py FOLDER
"""

import pathlib
import subprocess
import sys

import ray

CORES = 2
# Wrong use, no signal, no input: again would not help.
FINAL = {0, 2, 65, 66}


class Again(Exception):
    """A recording that was not received, for a reason that may pass."""


@ray.remote(num_cpus=CORES, max_retries=3, retry_exceptions=[Again])
def receive(recording):
    """The exit status of the job of a recording."""
    base = recording.removesuffix(".sigmf-meta")
    command = ["bief", "rx", recording, "-o", f"{base}.ts", "--json", f"{base}.json", "--resume", "--cores", str(CORES)]
    status = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
    if status not in FINAL:
        raise Again(f"{recording}: status {status}")
    return status


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: receive_with_ray.py FOLDER")
    recordings = sorted(str(path.resolve()) for path in pathlib.Path(sys.argv[1]).glob("*.sigmf-meta"))
    jobs = {receive.remote(recording): recording for recording in recordings}
    waiting, missing = list(jobs), 0
    while waiting:
        done, waiting = ray.wait(waiting)
        for job in done:
            try:
                outcome = ray.get(job)
            except (Again, ray.exceptions.RayError) as error:
                outcome = error
            if outcome != 0:
                print(f"not received: {jobs[job]}: {outcome}", file=sys.stderr)
                missing += 1
    sys.exit(min(missing, 100))


if __name__ == "__main__":
    main()
