// Package tpu rents slices of Cloud TPU from Google: [Provider] is a provider.Provider on the generated client of its REST API, v2alpha1, which has what v2
// lacks: flex-start and run durations. (cloud.google.com/go/tpu serves the API of before queued resources, and is of no use here.)
//
// One offering is one slice: an accelerator type and topology in a zone and market, of so many hosts, which come and go together. A gang is one queued resource,
// named by a hash of federation, site and token, with one node for each slice, and its machines are the hosts, in the order of Request.Names: ID is
// ZONE/NODE/WORKER. The request's ID is made of the token too, so that the same request again is the same operation. Description and labels of a node tell the
// rest, as for package gcp.
//
// Google does not delete a node that it has preempted: List does, and deletes queued resources that have no nodes any more. Which slices exist package
// topology/torus knows. Start reading at shape.go, then create.go.
package tpu
