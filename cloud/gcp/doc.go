// Package gcp rents machines from Google Compute Engine: [Provider] is a provider.Provider and provider.Topologist on the official SDK. Nothing else links
// the SDK's compute.
//
// A gang is one instances.bulkInsert with minCount = count, or, for machines that Google queues (flex-start), one resize request of an instance group made for
// it. Everything of a gang is named by a hash of federation, site and token: instances HASH-0, HASH-1 and so on, in the order of Request.Names. The request's ID
// is made of the token too, so that the same request again is the same operation. What the names do not tell is in the description of each thing: token,
// offering, host names, and a hash of the request. Two labels, fsub-federation and fsub-site, are what List asks by.
//
// An instance that switches itself off is only stopped, and its disk is paid for: List deletes those. Placement policies, instance groups and templates are
// deleted when their machines are gone.
//
// Nothing is retried here, and no credential is held by this package: the SDK takes them from where Google's own tools have them, or from the file that the
// configuration names. What the daemon's service account must be allowed is in role.yaml ([Role]). Start reading at config.go, then create.go.
package gcp

import _ "embed"

// Role is a custom role with what the daemon's service account needs, as "gcloud iam roles create --file" reads it.
//
//go:embed role.yaml
var Role string
