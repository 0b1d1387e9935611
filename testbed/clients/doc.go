// Package clients runs programs that drive Slurm for people, unmodified, against real sites with our commands first in PATH: each submits,
// polls, sees a job fail, cancels, and uses arrays and dependencies where it has them. It has tests only.
//
// A client is a line of the table in clients_test.go and one script in scripts/, which runs as an ordinary user in an empty directory of the
// shared homes, and says what it has seen to work ("shown WORD"). The words that must come are in the table, so that a script that ends too
// early is not a success.
//
// Programs come from Debian's packages, or from PyPI or Maven Central at the versions of the table. provide.sh puts them below
// /var/cache/fsub-clients, one interpreter for all; nothing is installed on the machine. The sites see that directory under the same path, as
// jobs run the same interpreter. Debian's clients are part of every test run. The others run where FSUB_FULL is set, and by
//
//	testbed/clients/run.sh [NAME...]
//
// which runs each client with a site's own commands, too: what fails there is not ours.
//
// TestOwn runs the tests that submitit and PSI/J have of themselves, with our commands and with a site's: what passes there must pass with ours. Those of PSI/J
// are in a checkout of its sources, which FSUB_PSIJ names.
//
// TestEngines has Parsl, Nextflow and Snakemake run many jobs at a site and with our commands while the daemon is killed, and logs how long both took. FSUB_ENGINES_JOBS says how many.
//
// TestWithin has the tasks of an array use the names that they have within their jobs, TestArraysNumber compares what the array's own one means there and
// outside with what real commands say.
package clients
