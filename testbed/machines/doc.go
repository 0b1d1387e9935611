// Package machines runs the machines of the clouds that stand in for real ones (testbed/ec2 and its neighbours). A [Machine] is a process tree with namespaces, a metadata
// service and a power switch of its own, which runs its user data as a first boot does.
package machines
