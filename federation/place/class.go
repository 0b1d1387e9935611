package place

import (
	"fmt"
	"strings"

	"fsub/federation"
)

// who holds what a job's rights depend on.
type who struct{ user, account, qos, reservation string }

// person is somebody with jobs, and the class of those. Jobs of one class are judged alike at every site: so a shape is worked out once and not once for each of
// a thousand users. Classes count from 1.
type person struct {
	who
	number, class int
	moved         int // the state of what persons may do in which the class changed last; see likeness.limits
	grouping      int // see likeness.group
}

// personOf is whose a job is.
func (l *likeness) personOf(job *federation.Job) *person {
	is := who{job.User, job.Spec.Account, job.Spec.QOS, job.Spec.Reservation}
	near := &l.known[is.hint()%uint(len(l.known))]
	if p := *near; p != nil && p.who == is {
		return p
	}
	p := l.persons[is]
	if p == nil {
		p = &person{who: is, number: len(l.persons), class: l.classOf(job)}
		l.persons[is] = p
	}
	*near = p
	return p
}

// classOf is the class of those who have the rights of a job's user.
func (l *likeness) classOf(job *federation.Job) int {
	name := l.in.rights(job)
	class, ok := l.named[name]
	if !ok {
		class = len(l.named) + 1
		l.named[name] = class
	}
	return class
}

// put makes a job that person's.
func (p *person) put(job *federation.Job) {
	spec := *job.Spec
	spec.Account, spec.QOS, spec.Reservation = p.account, p.qos, p.reservation
	job.User, job.Spec = p.user, &spec
}

func (w *who) hint() uint {
	h := uint(len(w.user))
	for i := range len(w.user) {
		h = h*31 + uint(w.user[i])
	}
	return h*31 + uint(len(w.account)+len(w.qos)*7)
}

// rights spells out what a job's user may do at each site. Where a site's answer names the user, so does this.
func (ms *members) rights(job *federation.Job) string {
	var b strings.Builder
	if job.Spec.Reservation != "" {
		b.WriteString(job.User)
	}
	for i, st := range ms.sites {
		if st.model == nil {
			continue
		}
		if st.site.Outlook != nil { // how long a job waits there depends on its user
			fmt.Fprintf(&b, "|%d %s", i, job.User)
		}
		limited, rooted := false, false // partitions ask for the account, for root
		for p := range st.model.obs.Partitions {
			part := &st.model.obs.Partitions[p]
			limited = limited || len(part.AllowAccounts)+len(part.DenyAccounts) > 0
			rooted = rooted || part.RootOnly
		}
		if limitRefusal(st.site, job) != nil {
			fmt.Fprintf(&b, "|%d full %s", i, job.User)
		}
		if rooted && accessOf(st.site, job).root {
			fmt.Fprintf(&b, "|%d root", i)
		}
		access := accessOf(st.site, job)
		if access.refusal != nil {
			fmt.Fprintf(&b, "|%d %s", i, access.refusal.why.Text())
			continue
		}
		if st.model.obs.Associations == nil {
			if limited || job.Spec.Reservation != "" {
				fmt.Fprintf(&b, "|%d %s", i, access.account)
			}
			continue
		}
		fmt.Fprintf(&b, "|%d %s", i, access.account)
		for _, as := range st.model.obs.Associations[st.site.UserName(job.User)] {
			if as.Account == access.account && (as.Partition != "" || job.Spec.QOS != "") {
				fmt.Fprintf(&b, " %s %s %s", job.User, as.Partition, as.QOS)
			}
			if as.Account == access.account && job.Spec.QOS == "" && len(st.model.obs.StrictQOS) > 0 {
				fmt.Fprintf(&b, " default %s %s", as.Partition, defaultQOS(st.site, &as))
			}
		}
	}
	return b.String()
}
