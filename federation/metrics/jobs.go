package metrics

import (
	"strings"

	"fsub/federation"
	"fsub/federation/api/queue"
)

// Which is what [Config.Jobs] is to tell apart.
const Which = queue.ByState | queue.BySite | queue.ByReason

// mostReasons bounds the reasons that are shown. Slurm knows some 100, of which a federation sees few at a time.
const mostReasons = 64

type place struct{ word, site string }

func collectJobs(to out, counts []queue.Count) {
	states, pending, reasons := map[place]int64{}, map[place]int64{}, map[string]bool{}
	for i := range counts {
		n := &counts[i]
		if n.State.Ended() {
			continue
		}
		states[place{string(n.State), string(n.Site)}] += n.Tasks
		if n.State != federation.Pending {
			continue
		}
		word := reasonWord(string(n.Reason))
		if !reasons[word] && len(reasons) >= mostReasons {
			word = "other"
		}
		reasons[word] = true
		pending[place{word, string(n.Site)}] += n.Tasks
	}
	for p, n := range states {
		to.gauge(jobs, float64(n), p.word, p.site)
	}
	for p, n := range pending {
		to.gauge(waiting, float64(n), p.word, p.site)
	}
}

// reasonWord is the first word of a reason: sites append names of nodes to some ("ReqNodeNotAvail, UnavailableNodes:n[1-3]").
func reasonWord(reason string) string {
	word, _, _ := strings.Cut(reason, ",")
	word, _, _ = strings.Cut(word, " ")
	for _, c := range []byte(word) {
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') {
			return "other"
		}
	}
	if word == "" {
		return "None"
	}
	return word
}
