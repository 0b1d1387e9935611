// Package agentserver is the daemon's HTTP side for agents on rented machines (package agentapi has what is said). It knows who asks, and hands
// what is asked to the driver of the machine's site ([cloud.Agents]).
//
// It keeps nothing. A gang's one-time token is site, gang and end of life under a HMAC of the daemon's key, so that it is the same however often it is
// made; that it works once for each machine is the driver's to say, who has the books. A machine's session token is its ID under a HMAC of the same key. A
// token of one kind is none of the other. Neither is logged, nor anything that came in a header.
//
// Answers that are not 200: 401 the token is not good, or stands for no machine any more: the machine should end itself. 403 the machine is good, the run is
// not its. 409 there is a gap in the log. 425 and 503: ask again.
package agentserver
