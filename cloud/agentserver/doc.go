// Package agentserver is the daemon's HTTP server for the agents on rented machines; package agentapi
// defines the messages. It authenticates a caller and passes its request to the driver of the machine's
// site ([cloud.Agents]).
//
// The server keeps no state. The one-time token of a gang is site, gang and expiry under an HMAC of the
// daemon's key, so that it is the same however often it is made; the driver, which has the records, sees
// to it that the token works once for each machine. The session token of a machine is its ID under an
// HMAC of the same key. A token of one kind is not valid as the other. Neither is logged, nor anything
// else of a header.
//
// Status codes other than 200: 401 the token is invalid, or its machine is gone: the machine should shut
// itself down. 403 the run does not belong to the machine. 409 there is a gap in the log. 425 and 503:
// try again.
package agentserver
