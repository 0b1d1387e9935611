// Package federation is the domain of fsub: a [Job] is what a user asked for, an [Attempt] is one submission of it to
// one [Site], a [Snapshot] is all that placement may know and a [Plan] is what it decided. It also declares the
// interfaces that others implement: [Driver] (one site), and [JobStore] and its neighbours (the durable state).
//
// Start with job.go, attempt.go and driver.go. There is no I/O here: package place decides, package controller acts,
// packages slurm and store talk to the outside.
package federation
