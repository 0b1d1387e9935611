package told

import (
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"fsub/testbed/listener"
)

// ears are a mail server, a receiver of webhooks and a collector of traces.
type ears struct {
	mail listener.Inbox
	web  string // http://HOST:PORT

	mu     sync.Mutex
	posted map[string][]string // jobs, by path
	spans  []*trace.Span
}

// listen begins; end is told how to stop.
func (l *ears) listen(end func(func() error)) error {
	l.posted = map[string][]string{}
	stop, err := l.mail.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	end(stop)
	posts, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	l.web = "http://" + posts.Addr().String()
	web := &http.Server{Handler: l}
	go web.Serve(posts)
	end(web.Close)
	return nil
}

func (l *ears) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := listener.Body(r)
	if err == nil {
		err = l.take(r.URL.Path, body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func (l *ears) take(path string, body []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if path == "/v1/traces" {
		spans, err := listener.Spans(body)
		l.spans = append(l.spans, spans...)
		return err
	}
	var e struct{ Subject string }
	if err := json.Unmarshal(body, &e); err != nil {
		return err
	}
	l.posted[path] = append(l.posted[path], e.Subject)
	return nil
}

func (l *ears) mailsOf(job string) (out []listener.Mail) {
	for _, m := range l.mail.Mails() {
		if strings.Contains(m.Subject, "Job_id="+job+" ") || strings.Contains(m.Subject, "Job_id="+job+"_") {
			out = append(out, m)
		}
	}
	return out
}

func (l *ears) posts(path string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.posted[path])
}

func (l *ears) spansOf(job string) []*trace.Span {
	l.mu.Lock()
	defer l.mu.Unlock()
	return listener.SpansOf(l.spans, job)
}
