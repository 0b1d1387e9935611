// Package hostile has users of one machine attack the daemon, `fed serve`, all at once, while an honest one goes on to submit his jobs: each request
// that docs/limits.md lists, as often and as large as its bounds let them, over a simulated site. What is asked: his jobs run, his fsub is answered
// soon, and the daemon stays within its memory.
//
// Users are of an /etc of the test's own, in a mount namespace; each is a process, whose uid the kernel tells the daemon. They run at nice 19, for they share
// the processors with what is measured, and on a real login node would have their own share of them.
package hostile
