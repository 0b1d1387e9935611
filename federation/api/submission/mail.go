package submission

import (
	"fmt"
	"slices"
	"strings"

	"fsub/federation"
)

// MailNote says where a job that asks for mail will send none, "" if it sends it wherever it may run: slurmctld sends mail, and machines without Slurm have none.
func (s *Gate) MailNote(job *federation.Job) string {
	if job.Spec.MailType == "" || strings.EqualFold(job.Spec.MailType, "NONE") {
		return ""
	}
	own := map[federation.SiteName]bool{}
	for _, site := range s.Controller.Sites() {
		own[site.Name] = site.Seen != nil && site.Seen.Version == federation.OwnVersion
	}
	var without, with []string
	for _, o := range s.Controller.Decision(job).Offers {
		into := &with
		if own[o.Site] {
			into = &without
		}
		if name := string(o.Site); !slices.Contains(*into, name) {
			*into = append(*into, name)
		}
	}
	slices.Sort(without)
	slices.Sort(with)
	switch {
	case len(without) == 0:
		return ""
	case len(with) == 0:
		return fmt.Sprintf("no mail will come: the job can only run at %s, and machines without Slurm send none", strings.Join(without, ", "))
	}
	return fmt.Sprintf("mail comes only if the job runs at %s: machines without Slurm (%s) send none", strings.Join(with, ", "), strings.Join(without, ", "))
}
