package decision

import (
	"fmt"
	"time"

	"fsub/federation/ident"
)

// PreemptMode is what becomes of a job that has to make room.
type PreemptMode string

const (
	PreemptOff     PreemptMode = "off"
	PreemptRequeue PreemptMode = "requeue" // it is queued again, in its old place; "" means this
	PreemptCancel  PreemptMode = "cancel"  // it ends as PREEMPTED
	PreemptMove    PreemptMode = "move"    // it goes on elsewhere: see package move
)

// PreemptBy is who ends jobs at a site for others.
type PreemptBy string

const (
	PreemptByUs   PreemptBy = "federation" // "" means this
	PreemptBySite PreemptBy = "site"       // its slurmctld, which has preemption of its own: a job is only sent to wait there
	PreemptByNone PreemptBy = "off"
)

// Preemption is what a job was bound with where others make room for it, all at the one site. It is decided once, and stored with the attempt.
type Preemption struct {
	At  time.Time `json:"at"`
	By  PreemptBy `json:"by,omitempty"`
	QOS string    `json:"qos"` // of the job that they make room for
	// Guarantee is the account within whose guarantee that job is, if others give back what they have borrowed.
	Guarantee string   `json:"guarantee,omitempty"`
	Victims   []Victim `json:"victims"`
}

// Victim is a job that has to make room.
type Victim struct {
	Job      ident.JobID   `json:"job"`
	Restarts int           `json:"restarts"` // what Job.Restarts was: once it is more, the run that was meant is over
	QOS      string        `json:"qos"`
	Mode     PreemptMode   `json:"mode,omitempty"`
	Grace    time.Duration `json:"grace,omitempty"`
	// Moved is what its move saves and costs; nil: it is not moved.
	Moved *Moved        `json:"moved,omitempty"`
	Lost  time.Duration `json:"lost"` // work since its start or its last checkpoint, when it was decided
}

// Ends is when the last of the victims is to be ended.
func (p *Preemption) Ends() time.Time {
	last := p.At
	for i := range p.Victims {
		if at := p.At.Add(p.Victims[i].Grace); at.After(last) {
			last = at
		}
	}
	return last
}

// For says whom they make room for: "of QOS high", "within the guarantee of account physics".
func (p *Preemption) For() string {
	if p.Guarantee != "" {
		return "within the guarantee of account " + p.Guarantee
	}
	return "of QOS " + p.QOS
}

// Moves reports whether those who make room go on elsewhere.
func (p *Preemption) Moves() bool { return len(p.Victims) > 0 && p.Victims[0].Mode == PreemptMove }

// Text is p in words: "2 jobs make room: 30000003 (QOS low, 1h10m lost), 30000007 (QOS low, 5m lost)".
func (p *Preemption) Text() string {
	text := "1 job makes room: "
	if n := len(p.Victims); n != 1 {
		text = fmt.Sprintf("%d jobs make room: ", n)
	}
	for i := range p.Victims {
		v := &p.Victims[i]
		if i == 8 {
			return text + fmt.Sprintf(" and %d more", len(p.Victims)-i)
		}
		if i > 0 {
			text += ", "
		}
		if v.Mode == PreemptMove {
			text += fmt.Sprintf("%s (moves, %s lost)", v.Job, v.Lost.Round(time.Second))
			continue
		}
		text += fmt.Sprintf("%s (QOS %s, %s lost)", v.Job, v.QOS, v.Lost.Round(time.Second))
	}
	return text
}
