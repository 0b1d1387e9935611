// Package containers tries containers of jobs from end to end: a daemon with two pools of this machine, of which one makes containers, and jobs that ask for one by pyxis'
// options. It downloads nothing: the image is busybox in a squashfs file.
package containers
