// Package container is what a step or a batch script asks of a container, in the words of pyxis (NVIDIA's plugin of Slurm, 0.24): its options ([Options]), references of
// images ([ParseImage]), mounts; and which programs of a machine make such a container ([Choose]), with their command lines and files. It is pure; package
// hold runs them.
//
// There is one container for each step and node. A program of the machine makes it and keeps one process in it, the holder; the tasks join the holder's
// namespaces between fork and exec, as pyxis does, so that their numbers, signals, streams and exit codes are their own. Nobody is root for that: a container
// is a user namespace of the job's user, in which files of the image are the user's.
package container
