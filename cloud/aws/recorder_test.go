package aws

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"sync"
)

// recorder keeps what goes out, and what is logged.
type recorder struct {
	mu   sync.Mutex
	seen []string
	log  bytes.Buffer
}

func (r *recorder) Do(req *http.Request) (*http.Response, error) {
	text, err := httputil.DumpRequestOut(req, true)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.seen = append(r.seen, string(text))
	r.mu.Unlock()
	return http.DefaultClient.Do(req)
}

func (r *recorder) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(lockedWriter{r}, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (r *recorder) logged() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

type lockedWriter struct{ r *recorder }

func (w lockedWriter) Write(p []byte) (int, error) {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	return w.r.log.Write(p)
}

var _ io.Writer = lockedWriter{}
