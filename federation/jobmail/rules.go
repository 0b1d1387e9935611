package jobmail

import (
	"fmt"
	"slices"
	"strings"

	"fsub/federation"
	"fsub/federation/plain"
	"fsub/federation/reports"
)

// Rules say to whom mail of jobs may go. Nil: there is no mail server.
type Rules struct {
	// Domains are those that mail may be sent to. A name without a domain, such as that of the job's user, is one of the first.
	Domains []string
}

// mostRecipients is how many addresses --mail-user may name.
const mostRecipients = 5

// Recipients are the addresses that mail of a job goes to: those of --mail-user, else its user's. The error says why there are none.
func (r *Rules) Recipients(j *federation.Job) (to []string, err error) {
	if r == nil {
		return nil, fmt.Errorf("the federation has no mail server (mail in the daemon's configuration)")
	}
	names := strings.Split(j.Spec.MailUser, ",")
	if strings.TrimSpace(j.Spec.MailUser) == "" {
		names = []string{j.User}
	}
	return r.addresses(names, "--mail-user")
}

// addresses are those of some names. what is where they stand.
func (r *Rules) addresses(names []string, what string) (to []string, err error) {
	for _, name := range names {
		name = strings.TrimSpace(name)
		at := strings.LastIndexByte(name, '@')
		if at < 0 {
			name += "@" + r.Domains[0]
			at = strings.LastIndexByte(name, '@')
		}
		if !reports.ValidAddress(name) {
			return nil, fmt.Errorf("%q is no address: want NAME or NAME@DOMAIN", plain.Line(name[:min(len(name), 100)]))
		}
		if !slices.Contains(r.Domains, strings.ToLower(name[at+1:])) {
			return nil, fmt.Errorf("this federation sends mail to %s only, not to %s", strings.Join(r.Domains, ", "), name)
		}
		if to = append(to, name); len(to) > mostRecipients {
			return nil, fmt.Errorf("%s names more than %d addresses", what, mostRecipients)
		}
	}
	return to, nil
}

// leads are the addresses of the coordinators of a job's account: the first ones, if they are many.
func (r *Rules) leads(names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, fmt.Errorf("its account has no coordinators")
	}
	return r.addresses(names[:min(len(names), mostRecipients)], "the account")
}

// Note says, when a job is submitted that asks for mail, why none will come; "": it will, or the job asks for none.
func (r *Rules) Note(j *federation.Job) string {
	if len(askedBy(j.Spec)) == 0 {
		return ""
	}
	if _, err := r.Recipients(j); err != nil {
		return "no mail will come: " + err.Error()
	}
	return ""
}
