// Package azure rents machines from Microsoft Azure: [Provider] is a provider.Provider on the official SDK. Nothing else links the SDK's armcompute and armnetwork.
//
// A gang is one virtual machine scale set, in one resource group, named by the gang's token. It is created with If-None-Match, so that the same request again finds
// the first one's, and it carries everything else as tags: fsub-federation, fsub-site, fsub-gang (the token), fsub-offering, fsub-request (a hash of the request)
// and fsub-until. Creation is a long-running operation: while it runs, Create answers KindPending with what resumes it, and the driver keeps that. A set that
// could not be filled is deleted before its failure is told, so that a refusal leaves nothing.
//
// Machines whose network is InfiniBand, and that are to be near each other, are in a set of Uniform orchestration with a single placement group, which is what
// InfiniBand needs; all others are in Flexible ones, whose machines can be listed with one call. Network interfaces and disks belong to their machine and are
// deleted with it. The set stays, empty, until its token cannot come again (fsub-until), and is then deleted by List.
//
// A machine that switches itself off is paid for until it is deleted: that is the daemon's to do. No credential is held by this package: azidentity finds it
// (environment, workload and managed identity, az), or a file names it. What the daemon must be allowed is in role.json ([Role]). Start reading at config.go,
// then create.go.
package azure

import _ "embed"

// Role is a custom role with what the daemon needs in its resource group.
//
//go:embed role.json
var Role string
