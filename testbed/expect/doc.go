// Command expect runs tests of Slurm's own expect suite twice at a real Slurm 22.05 (the bed's site delta): with Slurm's
// commands, and with ours in front of them, over a daemon. It prints what each test said on both sides and fails if one passes
// with Slurm's commands and not with ours, unless exceptions.txt says why.
//
// The suite is not part of this project. It is the folder testsuite/expect of Slurm's source package, which `apt-get source
// slurm-wlm` of Debian 12 brings. As root, after `make build`:
//
//	go run ./testbed/expect SUITE            # all of tests.txt
//	go run ./testbed/expect SUITE test17.4   # these only
//
// Each side has a bed of its own and runs at the same time as the other, inside the site, as an ordinary user or, where tests.txt
// says so, as root. sbatch, squeue, scancel, sinfo, sacct and scontrol are ours on our side; srun, salloc and the rest are the site's on
// both. The site has what tests would be skipped for taken out of its slurm.conf. A test's output is kept in -logs. All takes ten minutes.
//
// Programs that the suite needs and the site lacks (expect, a C compiler) come as Debian packages of the host's own release, into
// -debs, and are unpacked into the site's root, which is in memory.
//
// Files: side.go and packages.go make a cluster ready, suite.go runs a test in it, report.go compares.
package main
