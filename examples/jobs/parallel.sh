#!/usr/bin/env bash
# Receives every recording of a folder on this machine, a job for each, with GNU parallel:
#
#   parallel.sh FOLDER [JOBS]      JOBS at a time, one core each [all cores]
#
# FOLDER/jobs.tsv has a line for each job of the last round: its status in the seventh column, the signal that killed it in the eighth.
# Started again, it does what is left. It ends with the number of recordings that were not received, at most 100.
set -euo pipefail

folder=${1:?"usage: parallel.sh FOLDER [JOBS]"}
log=$folder/jobs.tsv
parallel --version 2>/dev/null | grep -q 'GNU parallel' || { echo "parallel.sh: install GNU parallel" >&2; exit 127; }

mapfile -d '' left < <(find "$folder" -name '*.sigmf-meta' -print0 | sort -z)
for _ in 1 2 3 4; do
    [ ${#left[@]} -gt 0 ] || break
    # SIGTERM lets a job end in order when this script is interrupted.
    printf '%s\0' "${left[@]}" | parallel --null --jobs "${2:-100%}" --joblog "$log" --termseq TERM,10000,KILL,100 \
        bief rx {} -o {.}.ts --json {.}.json --resume --cores 1 '>' /dev/null || true
    # Again what may have another end: not wrong use (2), no signal (65), no input (66).
    again=()
    while read -r number; do
        again+=("${left[number - 1]}")
    done < <(awk -F '\t' 'NR > 1 && ($8 > 0 || $7 != 0 && $7 != 2 && $7 != 65 && $7 != 66) { print $1 }' "$log")
    left=(${again[@]+"${again[@]}"})
done

missing=0
while IFS= read -r -d '' recording; do
    [ -e "${recording%.sigmf-meta}.json" ] || { echo "not received: $recording" >&2; missing=$((missing + 1)); }
done < <(find "$folder" -name '*.sigmf-meta' -print0 | sort -z)
exit $((missing < 100 ? missing : 100))
