// Package azure stands in for Microsoft Azure where a test needs that cloud: the part of Azure Resource Manager that cloud/azure calls, and the metadata service of
// each machine, with its scheduled events. It is a small working cloud with fault switches, shaped by the SDK's own models.
//
// Start with [New] and [Config]; [Cloud.Start] serves it. Scale sets are made and deleted by long-running operations (Azure-AsyncOperation, Retry-After), whose
// failures come with status 200. A set that cannot be filled keeps the machines that there were, as Azure does. With [Config.Process] machines run their custom data;
// one that switches itself off is stopped and goes on being paid for. What goes wrong is asked for as in testbed/machines, whose Host and Faults a Cloud has.
//
// Left out: everything else, and roles beyond [machines.Faults.Deny].
package azure
