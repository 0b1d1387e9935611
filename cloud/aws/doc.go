// Package aws rents machines from Amazon EC2: [Provider] is a provider.Provider and
// provider.Topologist on the official SDK. Nothing else links the SDK's ec2.
//
// A gang is one RunInstances with MinCount = MaxCount, or one CreateFleet of type instant where AWS
// may choose the zone. Both carry the gang's token as ClientToken and everything else as tags on
// creation: fsub-federation, fsub-site, fsub-gang (the token), fsub-offering, fsub-names (host
// names as a hostlist, in the order of the launch index) and fsub-request (a hash of the request).
// So a crash after any call leaves machines that List finds, and the same request again returns the
// same machines: EC2 keeps a token for at least 24 hours after the machines' end.
//
// Placement groups and launch templates are named by the token too. They are deleted when their
// machines are gone; what a crash leaves behind List finds.
//
// Nothing is retried here, and no credential is ever held by this package: the SDK takes them from
// its default chain (environment, shared files, instance metadata). What the daemon's role must be
// allowed is in policy.json ([Policy]). Start reading at config.go, then create.go.
package aws

import _ "embed"

// Policy is an IAM policy with what the daemon's role needs. Without pricing:GetProducts prices are those of the table; ssm:GetParameters is for images
// that are named "resolve:ssm:..."; iam:PassRole for an instance profile whose role is named fsub-..., and for nothing where none is configured.
//
//go:embed policy.json
var Policy string
