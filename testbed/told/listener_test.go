package told

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	netmail "net/mail"
	"slices"
	"strings"
	"sync"

	"github.com/emersion/go-smtp"
	otlp "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// listener is a mail server, a receiver of webhooks and a collector of traces.
type listener struct {
	mail string // HOST:PORT
	web  string // http://HOST:PORT

	mu     sync.Mutex
	mails  []mail
	posted map[string][]string // jobs, by path
	spans  []*trace.Span
}

type mail struct {
	subject, text string
	to            []string
}

// listen begins; end is told how to stop.
func (l *listener) listen(end func(func() error)) error {
	l.posted = map[string][]string{}
	mails, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	posts, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	l.mail, l.web = mails.Addr().String(), "http://"+posts.Addr().String()
	server, web := smtp.NewServer(l), &http.Server{Handler: l}
	go server.Serve(mails)
	go web.Serve(posts)
	end(server.Close)
	end(web.Close)
	return nil
}

// NewSession implements [smtp.Backend].
func (l *listener) NewSession(*smtp.Conn) (smtp.Session, error) { return &session{l: l}, nil }

type session struct {
	l  *listener
	to []string
}

func (s *session) Mail(string, *smtp.MailOptions) error { s.to = nil; return nil }
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = append(s.to, to)
	return nil
}
func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

func (s *session) Data(r io.Reader) error {
	m, err := netmail.ReadMessage(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(m.Body)
	if err != nil {
		return err
	}
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	s.l.mails = append(s.l.mails, mail{m.Header.Get("Subject"), strings.NewReplacer("=\r\n", "", "=3D", "=").Replace(string(text)), s.to})
	return nil
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = z
	}
	text, err := io.ReadAll(body)
	if err == nil {
		err = l.take(r.URL.Path, text)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func (l *listener) take(path string, text []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if path == "/v1/traces" {
		var req otlp.ExportTraceServiceRequest
		if err := proto.Unmarshal(text, &req); err != nil {
			return err
		}
		for _, one := range req.ResourceSpans {
			for _, s := range one.ScopeSpans {
				l.spans = append(l.spans, s.Spans...)
			}
		}
		return nil
	}
	var e struct{ Subject string }
	if err := json.Unmarshal(text, &e); err != nil {
		return err
	}
	l.posted[path] = append(l.posted[path], e.Subject)
	return nil
}

func (l *listener) mailsOf(job string) (out []mail) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.mails {
		if strings.Contains(m.subject, "Job_id="+job+" ") || strings.Contains(m.subject, "Job_id="+job+"_") {
			out = append(out, m)
		}
	}
	return out
}

func (l *listener) posts(path string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.posted[path])
}

func (l *listener) spansOf(job string) (out []*trace.Span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.spans {
		for _, a := range s.Attributes {
			if a.Key == "fsub.job.id" && fmt.Sprint(a.Value.GetIntValue()) == job {
				out = append(out, s)
			}
		}
	}
	return out
}
