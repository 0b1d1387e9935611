package once

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func TestProxyLosesWhatItSays(t *testing.T) {
	var acted atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		acted.Add(1)
		io.WriteString(w, `{"job_id": 30000000}`)
	}))
	defer site.Close()
	for _, c := range []struct {
		name      string
		odds      Odds
		acts, out bool
		losses    Losses
	}{
		{"nothing", Odds{}, true, true, Losses{Requests: 1, Submissions: 1}},
		{"request", Odds{LoseRequest: 1}, false, false, Losses{LostRequests: 1, LostSubmissions: 1}},
		{"reply", Odds{LoseReply: 1}, true, false, Losses{LostReplies: 1, LostReceipts: 1}},
		{"half", Odds{CutReply: 1}, true, false, Losses{LostReplies: 1, LostReceipts: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := NewProxy(site.URL, 1)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			p.SetOdds(c.odds)
			before := acted.Load()
			resp, err := http.Post(p.URL()+"/slurm/v0.0.42/job/submit", "application/json", strings.NewReader("{}"))
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if (err == nil) != c.out {
				t.Errorf("answer: %v", err)
			}
			if got := acted.Load() - before; (got == 1) != c.acts {
				t.Errorf("the site acted %d times", got)
			}
			if p.Losses() != c.losses {
				t.Errorf("counted %+v", p.Losses())
			}
		})
	}
}
