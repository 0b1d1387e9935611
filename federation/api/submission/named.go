package submission

import (
	"fmt"

	"fsub/federation"
	"fsub/federation/api/answer"
)

// TaskCount bounds what one request may name of jobs, and of array tasks one by one: "17_[0-4000000]" is short, and may be said a million times.
type TaskCount int

// Add counts tasks more of them.
func (n *TaskCount) Add(tasks int) error {
	if *n += TaskCount(tasks); *n > federation.MaxNamed {
		return answer.BadBody(fmt.Sprintf("more than %d jobs and tasks of arrays are named in one request; name arrays as a whole, or some of them", federation.MaxNamed))
	}
	return nil
}
