package quota

import (
	"cmp"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/decision"
	"fsub/federation/fairshare"
)

// normalQOS is the QOS of a job for which neither the user nor the tree names one.
const normalQOS = "normal"

// Preempting are the preemption rules of the tree's QOS; nil if no QOS may preempt another, and nobody is guaranteed anything. It is the same value as long as the tree is.
func (b *Book) Preempting() *federation.Preempting {
	t := b.books.Tree()
	if b.rulesOf == t {
		return b.rules
	}
	b.rulesOf, b.rules = t, preemptingOf(t)
	return b.rules
}

func preemptingOf(t *accounts.Tree) *federation.Preempting {
	p := &federation.Preempting{QOS: map[string]federation.PreemptQOS{}, Of: func(j *federation.Job) string {
		if j.Spec.QOS != "" {
			return strings.ToLower(j.Spec.QOS)
		}
		return cmp.Or(strings.ToLower(defaultQOS(t, fairshare.KeyOf(t, j))), normalQOS)
	}}
	any := guaranteesOf(t) != nil
	for _, r := range t.QOS() {
		q := federation.PreemptQOS{Over: map[string]bool{}}
		for name := range strings.SplitSeq(r.Set["Preempt"], ",") {
			if name = strings.ToLower(name); name != "" && name != r.Name {
				q.Over[name], any = true, true
			}
		}
		mode := strings.ToLower(r.Set["PreemptMode"])
		q.Returns = mode != "" && !strings.Contains(mode, "off")
		switch {
		case strings.Contains(mode, "cancel"):
			q.Mode = decision.PreemptCancel
		case strings.Contains(mode, "off"):
			q.Mode = decision.PreemptOff
		}
		if n, ok := r.Count("PreemptExemptTime"); ok {
			q.Exempt = time.Duration(n) * time.Minute
		}
		if n, ok := r.Count("GraceTime"); ok {
			q.Grace = time.Duration(n) * time.Second
		}
		p.QOS[r.Name] = q
	}
	if !any {
		return nil
	}
	return p
}
