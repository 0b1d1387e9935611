// Package machines is what the clouds that stand in for real ones (testbed/ec2 and its neighbours) have in common. A [Host] runs their [Machine]s: process
// trees with namespaces, a metadata service and a power switch of their own, which run their user data as a first boot does. [Faults] is what a test can make
// go wrong, and the calls that a cloud has got. What is a cloud's own (its API, its states and words) stays with it.
package machines
