// Package container describes the container that a step or a batch script asks for, in the words of
// pyxis (NVIDIA's Slurm plugin, 0.24): its options ([Options]), image references ([ParseImage]) and
// mounts; and the programs of a machine that make such a container ([Choose]), with their command
// lines and files. It is pure; package hold runs them.
//
// Each step has one container per node. A program of the machine makes it and keeps one process in
// it, the holder; the tasks join the holder's namespaces between fork and exec, as with pyxis, so
// that their process IDs, signals, streams and exit codes are their own. This needs no root: a
// container is a user namespace of the job's user, in which the image's files are the user's.
package container
