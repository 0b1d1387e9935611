// Package cloud makes a site of the federation out of machines that can be rented. A [provider.Provider] rents them from one cloud (a small package below
// this one for each: local, aws); the [Driver] turns a Provider into a federation.Driver: it takes jobs, creates a gang of machines for those that no
// idle machine fits, hands them to the agents on the machines (package agentapi is their language, package agentserver their way in), follows
// them, and lets machines go that nobody needs.
//
// Nothing is trusted to memory: a gang is written down before it is asked for, with the idempotency token it is asked for with, and every machine carries
// the token as a tag. So a crash between any two calls leaves either a record without machines, which is asked for again under the same token, or
// machines that the next listing finds by their tag.
//
// Start reading at provider/provider.go for what a cloud must do, and at driver.go for the life of a job.
package cloud
