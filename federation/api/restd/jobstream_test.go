package restd

import (
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"fsub/slurm/wire"
)

// TestListingsAtOnce: listings that are written at the same time do not meet in what they share; the race detector sees it if they do.
func TestListingsAtOnce(t *testing.T) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
			r.Pattern = "GET /slurm/{version}/jobs/state/{$}"
			r.SetPathValue("version", "v0.0.43")
			if shapeOf(r) == nil {
				t.Error("there is no shape")
				return
			}
			none := func(func([]Part, error) bool) {}
			err := writePages(w, r, none, nil, func(int) any { return wire.JobsStateResponse{} })
			if text := w.Body.String(); err != nil || !strings.HasPrefix(text, `{"jobs":[],"`) || strings.Count(text, `"jobs"`) != 1 {
				t.Errorf("%v %s", err, text)
			}
		})
	}
	all.Wait()
}
