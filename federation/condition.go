package federation

import "time"

// Condition is something that is wrong with a site. Its name is the same wherever it is shown: in lists, events and metrics.
type Condition struct {
	Name   ConditionName
	Since  time.Time
	Detail string // what the site said, or what was seen
}

// ConditionName is a state that a site can be in beside its FedState. Names are stored: they are never renamed.
type ConditionName string

const (
	// CondLost: an operator has said that the site is gone. Its jobs have gone elsewhere.
	CondLost ConditionName = "LOST"
	// CondReturned: a site that was lost answers again. Copies of jobs that it still has are ended.
	CondReturned ConditionName = "RETURNED"
	// CondNotSeen: the daemon has just started and has not had an answer yet.
	CondNotSeen ConditionName = "NOT_SEEN"
	// CondTokenRefused: it answers, and refuses the token; a cloud refuses the credentials.
	CondTokenRefused ConditionName = "TOKEN_REFUSED"
	// CondNoAnswer: its controller does not answer.
	CondNoAnswer ConditionName = "NO_ANSWER"
	// CondRestored: its controller knows less than before, or jobs that had ended long ago: an old state was put back.
	CondRestored ConditionName = "RESTORED"
	// CondNodesSilent: at least half of its nodes do not respond.
	CondNodesSilent ConditionName = "NODES_SILENT"
	// CondTokenExpires: it takes the token, which will expire soon.
	CondTokenExpires ConditionName = "TOKEN_EXPIRES"
	// CondNoAccounting: the controller answers and slurmdbd does not.
	CondNoAccounting ConditionName = "NO_ACCOUNTING"
	// CondOldPrices: prices that its machines are rented by are older than max_age.
	CondOldPrices ConditionName = "OLD_PRICES"
	// CondBadPart: gangs are kept off a switch, block or rail of it that failures were laid to.
	CondBadPart ConditionName = "BAD_PART"
)

// Advice says what a condition means for jobs, and what an operator may do.
func (n ConditionName) Advice() string {
	switch n {
	case CondLost:
		return "its jobs went elsewhere; it gets none until: fed site resume SITE"
	case CondReturned:
		return "copies of jobs that went elsewhere are ended; when it is sound, run: fed site resume SITE"
	case CondNotSeen:
		return "wait, or run: fed site test SITE"
	case CondTokenRefused:
		return "it gets no jobs, and its running jobs are not followed; renew the token, the key or the cloud's credentials: fed site test SITE"
	case CondNoAnswer:
		return "it gets no jobs, and those that it has are waited for; if it will not come back, run: fed site lost SITE --reason TEXT"
	case CondRestored:
		return "old copies of jobs are ended and forgotten jobs are sent again; when the site is as it should be, run: fed site resume SITE"
	case CondNodesSilent:
		return "a network or a power supply rather than the nodes; jobs go to the others meanwhile"
	case CondTokenExpires:
		return "nothing is wrong yet; put a new token into the file, which is read at once, or set key_file or token_command"
	case CondNoAccounting:
		return "jobs run on; the fate of lost ones, their usage and new accounts wait for slurmdbd"
	case CondOldPrices:
		return "jobs go where it was cheapest then; let the daemon ask the cloud's price list (docs/prices.md), then run: fed offers refresh"
	case CondBadPart:
		return "gangs go to other nodes, jobs of one node run there; fed health says why, and when it is repaired, run: fed health reset part:SITE/NAME"
	}
	return ""
}
