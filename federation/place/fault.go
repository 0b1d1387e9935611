package place

import (
	"fmt"
	"runtime/debug"

	"fsub/federation"
)

// Fault is a panic of placement: a defect that some job, or what some site said of itself, has brought to light.
type Fault struct {
	Job   federation.JobID    // that was looked at; 0 if it was none
	Site  federation.SiteName // whose observation was being read, if no job was looked at
	Value any                 // of the panic
	Stack string
}

func (f *Fault) Error() string {
	over := "a plan"
	switch {
	case f.Job != 0:
		over = fmt.Sprintf("job %d", f.Job)
	case f.Site != "":
		over = "what site " + string(f.Site) + " says of itself"
	}
	return fmt.Sprintf("placement failed over %s, which is a defect of fed and stands in its log: %v", over, f.Value)
}

// looking is what a World is at work on, for a [Fault].
type looking struct {
	job  *federation.Job
	site federation.SiteName
}

// Guard calls do, in which w is asked, and returns a panic as a Fault, nil if there was none. After one w has forgotten what it
// made of the observations and of the jobs, and may be asked again.
func (w *World) Guard(do func()) (fault *Fault) {
	defer func() {
		if p := recover(); p != nil {
			fault = &Fault{Site: w.at.site, Value: p, Stack: string(debug.Stack())}
			if w.at.job != nil {
				fault.Job = w.at.job.ID
			}
			w.unlearn()
			w.forgetLikeness()
		}
		w.at = looking{}
	}()
	do()
	return nil
}
