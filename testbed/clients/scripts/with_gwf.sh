#!/bin/sh
# gwf: targets with dependencies by --dependency=afterok, told apart by squeue's states and by the files that they make.
set -eu
. "$(dirname "$0")/show.sh"
version "$(gwf --version | tr -d ,)"
echo '{"check_updates": false, "backend": "slurm"}' >.gwfconf.json # or it asks PyPI
cat >workflow.py <<'W'
from gwf import Workflow
gwf = Workflow(defaults={"queue": "main", "memory": "100m", "walltime": "00:05:00"})
gwf.target("First", inputs=[], outputs=["first.txt"]) << "sleep 2; echo one >first.txt"
gwf.target("Second", inputs=["first.txt"], outputs=["second.txt"]) << "(cat first.txt; echo two) >second.txt"
gwf.target("Bad", inputs=[], outputs=["never.txt"]) << "exit 3"
gwf.target("Slow", inputs=[], outputs=["slow.txt"]) << "sleep 600"
W
status() { gwf -b slurm status "$1" 2>&1; }
is() { status "$1" | grep -q "$2"; }
gwf -b slurm run Second Bad Slow >run.log 2>&1 || { cat run.log; exit 1; }
shown submit
until_true "First is seen" is First "submitted\|running\|completed"
[ "$(squeue -h --me -n Second -t PD -o %r)" = Dependency ] || is Second "running\|completed"
shown depend
until_true "Second is done" is Second completed
[ "$(cat second.txt | xargs)" = "one two" ]
shown poll
until_true "Slow runs" is Slow running
gwf -b slurm cancel -f Slow >cancel.log 2>&1
gone() { [ -z "$(squeue -h --me -o %i)" ]; }
until_true "none is left" gone
sacct -X -n -P --name Slow -o state -S now-10minutes | grep -q CANCELLED
shown cancel
is Bad shouldrun
sacct -X -n -P --name Bad -o exitcode -S now-10minutes | grep -q 3:0
shown fail
