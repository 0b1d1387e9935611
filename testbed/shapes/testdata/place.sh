#!/bin/bash
mkdir -p work/dir && echo "a line" >work/input
umask 027; ulimit -Sn 512; ulimit -Sc 0
sbatch place.sbatch
