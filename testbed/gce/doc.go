// Package gce stands in for Google Compute Engine and Cloud TPU where a test needs those clouds: the REST APIs that the SDKs and gcloud speak, and the metadata
// server of each machine, all in process. It is a small working cloud with fault switches, not a list of canned answers.
//
// Start with [New] and [Config]. A [Cloud] is an http.Handler; Start serves it on a loopback address. Each request, and each answer, is held to Google's own
// discovery documents, which the SDK's module brings along: a field, a value or a parameter that the API does not have is refused as Google would. Operations
// take time. With [Config.Process] a running machine really runs its startup script as a process tree of its own (package machines), with its metadata server
// at GCE_METADATA_HOST; its shutdown commands stop the machine, never the one below.
//
// What goes wrong in real clouds is asked for as with Amazon's stand-in (machines.Faults), and for one machine with [Cloud.Preempt] and [Cloud.Kill]. Actions
// are named as in the documents, without the service: "instances.bulkInsert", "projects.locations.queuedResources.create".
package gce
