// Package pools tests rented pools as they are shipped: the real driver over the real store, the real agent server on a socket, the local provider, and agents that are
// processes. What an agent or a machine does when something is killed is tested here, and the conformance of the whole as a site.
package pools
