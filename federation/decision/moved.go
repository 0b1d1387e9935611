package decision

import (
	"fmt"
	"strings"
	"time"

	"fsub/accounting"
	"fsub/federation/ident"
)

// Moved is a move of a running job that the planner has decided: why, and what it comes to. It is stored with the attempts of the job from then on.
type Moved struct {
	At   time.Time      `json:"at"`
	Run  time.Time      `json:"run"` // when the run began that it was to end
	From ident.SiteName `json:"from"`
	Kind string         `json:"kind"`           // see package move
	Why  string         `json:"why"`            // in a sentence
	For  ident.JobID    `json:"for,omitempty"`  // the gang that it makes room for; 0: it is moved for its own sake
	Stay bool           `json:"stay,omitempty"` // other nodes of the same site will do
	// What it saves and costs, in dollars of what is paid and of what time is worth.
	Saves []Term `json:"saves"`
	Costs []Term `json:"costs"`
	Count int    `json:"count"` // moves of the job that the planner has decided, this one included
}

// Sum adds up terms.
func Sum(terms []Term) (sum Dollars) {
	for i := range terms {
		sum += terms[i].Amount
	}
	return sum
}

// Text is why, and the sum: "maintenance of rhein begins at 2026-12-01T08:00:00Z; saves $12.10 (...), costs $1.90 (...)". What an operator has asked
// for saves nothing.
func (m *Moved) Text() string {
	if len(m.Saves) == 0 {
		return fmt.Sprintf("%s; costs %s", m.Why, termsText(m.Costs))
	}
	return fmt.Sprintf("%s; saves %s, costs %s", m.Why, termsText(m.Saves), termsText(m.Costs))
}

func termsText(terms []Term) string {
	var parts []string
	for _, t := range terms {
		part := t.Name + " " + accounting.MoneyOf(float64(t.Amount)).USD()
		if t.Detail != "" {
			part += ": " + t.Detail
		}
		parts = append(parts, part)
	}
	sum := accounting.MoneyOf(float64(Sum(terms))).USD()
	if len(parts) == 0 {
		return sum
	}
	return sum + " (" + strings.Join(parts, "; ") + ")"
}
