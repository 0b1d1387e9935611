// Package hold makes the container that package container describes, as the job's user, with the
// programs of the machine, and keeps it while a step or a batch script needs it. [Start] is called
// by the step daemon, before its tasks, and by [Batch], which becomes the batch script.
//
// It exists since users' scripts ask for containers as with pyxis (docs/rented-machines.md), and neither enroot nor podman keeps one that the tasks of a step
// can join from outside.
//
//	step daemon -- unsquashfs | enroot create | podman --> root file system
//	            -- crun run | enroot start --> holder ([Main]): tells its number, environment and folder, and waits
//	            -- fork, setns, exec --> task
package hold
