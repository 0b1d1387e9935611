// Package preempted holds, on real Slurm, what is promised of preemption: by us and by the site itself, no more jobs than needed make room, after their grace and not
// before their exempt time is over, and a requeued one keeps its ID and its place in the queue. The ledger says what was lost.
//
// FSUB_FULL=1 takes two versions of Slurm, waits until requeued jobs run again, and for the exempt time, which is counted in minutes.
package preempted
