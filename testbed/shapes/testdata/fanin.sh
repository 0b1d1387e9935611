#!/bin/bash
# An array with a failing task, a collector after all of it and one after its success, two tasks at a time.
set -e
a=$(sbatch --parsable -J map --array=1-4%2 map.sbatch)
sbatch --parsable -J reduce -n1 -t5 --mem=100 -o reduce.out --dependency=afterany:$a --wrap 'cat part.* | sort'
sbatch --parsable -J strict -n1 -t5 --mem=100 -o strict.out -d afterok:$a --kill-on-invalid-dep=yes --wrap 'echo never'
sbatch --parsable -J each --array=1,2,4 -n1 -t5 --mem=100 -o each.%a.out -d aftercorr:$a --kill-on-invalid-dep=yes --wrap 'echo corr $SLURM_ARRAY_TASK_ID'
