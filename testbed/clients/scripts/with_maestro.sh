#!/bin/sh
# MaestroWF: a study whose steps depend on each other and have parameters, followed by "squeue -u $USER -t all".
set -eu
. "$(dirname "$0")/show.sh"
version "$(maestro --version)"
USER=$(id -un)
COLUMNS=200
export USER COLUMNS
cat >study.yaml <<'Y'
description: {name: study, description: steps with parameters}
batch: {type: slurm, host: none, bank: "", queue: main}
study:
  - name: make
    description: one for each number
    run: {cmd: "echo $(N) >number.txt", procs: 1, nodes: 1, walltime: "00:05:00"}
  - name: sum
    description: when all are made
    run: {cmd: "cat $(make.workspace)/*/number.txt | sort | xargs >sum.txt", depends: ["make_*"], procs: 1, nodes: 1, walltime: "00:05:00"}
global.parameters:
  N: {values: [3, 4], label: N.%%}
Y
cat >bad.yaml <<'Y'
description: {name: bad, description: a step that fails}
batch: {type: slurm, host: none, bank: "", queue: main}
study:
  - name: bad
    description: fails
    run: {cmd: "exit 3", procs: 1, nodes: 1, walltime: "00:05:00"}
  - name: after
    description: never runs
    run: {cmd: "echo ran >after.txt", depends: [bad], procs: 1, nodes: 1, walltime: "00:05:00"}
Y
maestro run -y -fg -s 1 -o good study.yaml >good.log 2>&1 || { tail -n 30 good.log; exit 1; }
shown submit
[ "$(cat good/sum/sum.txt)" = "3 4" ]
shown depend
maestro status --layout flat --disable-pager good >status.txt 2>&1 || cat status.txt
[ "$(grep -c FINISHED status.txt)" = 3 ] || { cat status.txt; exit 1; }
shown poll
maestro run -y -fg -s 1 -o bad bad.yaml >bad.log 2>&1 || true
if [ -e bad/after/after.txt ]; then exit 1; fi
maestro status --layout flat --disable-pager bad | grep -q FAILED
shown fail
