// Package bed runs real Slurm clusters on one Debian machine, for tests and for the demo.
//
// A Bed is a directory with a few sites in it. Each Site is a whole cluster with daemons of its own (MariaDB, slurmdbd,
// slurmctld, several slurmd, slurmrestd), a Slurm version of its own (a Debian root filesystem, see rootfs.go) and
// namespaces of its own: pid, mount, uts, ipc and network. A veth pair joins it to the host, so that its link can be cut.
// The sites share the users and their homes, which have the same path everywhere.
//
// The pseudo-site "login" is the host itself, seen through a private mount namespace in which those users exist: fsub's
// commands and the daemon run there. The host's own files, /etc/slurm and /etc/passwd included, are never changed.
//
// Two directories of the host are seen at every site, under the same path and read-only, so that a job can use the federation: BinDir
// for our commands (InstallCommands), FedDir for the sockets of daemons, those made later included. A daemon is told the right user, as
// the sites have no user namespaces. In a job script:
//
//	export PATH=/var/lib/fsub-bed/bin:$PATH FSUB_SOCKET=/var/lib/fsub-bed/fed/fsub.sock
//	sbatch --dependency=afterok:$SLURM_JOB_ID next.sh
//
// A daemon for an experiment has its socket in a directory of its own below FedDir, to be reached as well.
//
// What real sbatch makes of its options can be had at every site (ParseConf). A site that does not do its work is described by Report.
//
// What a bed leaves to others: everything that speaks to Slurm. It says where slurmrestd listens and where the key is
// (Info), and it starts, kills and cuts things (Up, Down, Service, Link).
package bed
