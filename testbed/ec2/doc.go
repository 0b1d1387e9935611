// Package ec2 stands in for Amazon EC2 where a test or a demo needs that cloud: the query API that the SDKs and the aws command line speak, the pricing API,
// and the metadata service of each instance, all in process. It is a small working cloud with fault switches, not a list of canned answers.
//
// Start with [New] and [Config]. A [Cloud] is an http.Handler; [Cloud.Start] serves it on a loopback address. Requests are held to Amazon's own model
// (package model), their signatures are verified, and every call is counted and recorded ([Cloud.Calls]). With [Config.Process], a running instance
// really runs its user data as a process tree of its own, with its metadata service at AWS_EC2_METADATA_SERVICE_ENDPOINT, and `poweroff` ends the
// instance, never the machine. Without it, instances are only states: thousands cost nothing.
//
// What goes wrong in real clouds is asked for with [Cloud.SetStock], [Cloud.SetQuota], [Cloud.SetRate], [Cloud.Deny], [Cloud.Inject], [Cloud.SetBoot], and
// for one instance [Cloud.SpotNotice], [Cloud.Kill].
//
// Left out: volumes, addresses, key pairs, stop and start, persistent spot requests, fleets other than instant.
package ec2
