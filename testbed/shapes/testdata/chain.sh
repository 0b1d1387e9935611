#!/bin/bash
# A pipeline: each stage waits for what it needs. The third fails; one stage is for that case, one never runs.
set -e
a=$(sbatch --parsable -J prep stage.sbatch prep 0)
b=$(sbatch --parsable -J train -d afterok:$a stage.sbatch train 0)
c=$(sbatch --parsable -J eval --dependency=afterok:$b stage.sbatch eval 3)
d=$(sbatch --parsable -J rescue --dependency=afternotok:$c stage.sbatch rescue 0)
e=$(sbatch --parsable -J publish --dependency=afterok:$c --kill-on-invalid-dep=yes stage.sbatch publish 0)
f=$(sbatch --parsable -J report --dependency=afterany:$a:$b:$c:$d stage.sbatch report 0)
