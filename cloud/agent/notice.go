package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"fsub/cloud/agentapi"
)

// lookFunc looks for a notice; nil without an error: there is none.
type lookFunc func(context.Context) (*agentapi.Notice, error)

// watchNotice watches for the provider's word that the machine goes.
func (a *Agent) watchNotice(ctx context.Context) {
	if a.look == nil {
		return
	}
	for {
		a.lookOnce(ctx)
		select {
		case <-time.After(a.every):
		case <-ctx.Done():
			return
		}
	}
}

func (a *Agent) lookOnce(ctx context.Context) {
	n, err := a.look(ctx)
	if err != nil && ctx.Err() == nil {
		a.log.Warn("no word of the machine's end", "err", err)
	}
	if err == nil && n != nil {
		a.take(*n)
	}
}

// announced reports whether the provider takes the machine, by its latest word.
func (a *Agent) announced() bool {
	if a.look == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	a.lookOnce(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.notice != nil && a.notice.Kind == agentapi.NoticePreempt
}

// noticeOf returns how to look for a notice, and how often; nil where there is none.
func noticeOf(where string) (look lookFunc, every time.Duration) {
	if path, ok := strings.CutPrefix(where, "file:"); ok {
		return func(context.Context) (*agentapi.Notice, error) { return noticeFile(path) }, 200 * time.Millisecond
	}
	if m := metadataOf(where); m != nil {
		return m.notice, time.Second
	}
	return nil, 0
}

// take reports a notice that is new, and tells the runs.
func (a *Agent) take(n agentapi.Notice) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.notice != nil && (a.notice.Kind == n.Kind || a.notice.Kind == agentapi.NoticePreempt) {
		return
	}
	a.log.Info("notice", "kind", n.Kind, "at", n.At)
	a.notice = &n
	a.news.tellNotice(n)
	if n.Kind == agentapi.NoticePreempt {
		for _, r := range a.runs {
			r.inbox.preempt(n.At)
		}
	}
}

// noticeFile reads a notice that a provider leaves in a file.
func noticeFile(path string) (*agentapi.Notice, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n := &agentapi.Notice{}
	return n, json.Unmarshal(text, n)
}

// imds is EC2's instance metadata service, version 2.
type imds struct {
	base  string
	http  *http.Client
	mu    sync.Mutex
	token string
	until time.Time // the token is valid
}

// imdsTime is how long an answer may take.
const imdsTime = 2 * time.Second

func newIMDS() *imds {
	base := os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT") // as the SDKs have it
	if base == "" {
		base = "http://169.254.169.254"
	}
	return &imds{base: strings.TrimSuffix(base, "/"), http: &http.Client{Timeout: imdsTime, Transport: &http.Transport{Proxy: nil}}}
}

// errNoMetadata: the service has nothing of that name.
var errNoMetadata = errors.New("not there")

// get reads latest/meta-data/NAME.
func (m *imds) get(ctx context.Context, name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Now().After(m.until) {
		text, err := m.ask(ctx, http.MethodPut, "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds", "21600")
		if err != nil {
			return "", err
		}
		m.token, m.until = text, time.Now().Add(5*time.Hour)
	}
	text, err := m.ask(ctx, http.MethodGet, "/latest/meta-data/"+name, "X-aws-ec2-metadata-token", m.token)
	if err != nil && !errors.Is(err, errNoMetadata) {
		m.until = time.Time{} // a new token next time
	}
	return text, err
}

func (m *imds) ask(ctx context.Context, method, path, header, value string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, method, m.base+path, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set(header, value)
	answer, err := m.http.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	switch {
	case answer.StatusCode == http.StatusNotFound:
		return "", errNoMetadata
	case answer.StatusCode != http.StatusOK:
		return "", fmt.Errorf("instance metadata: %s: %s", path, answer.Status)
	}
	return strings.TrimSpace(string(text)), err
}

// notice looks for the announced end of a spot instance, then for the advice that one is likely.
func (m *imds) notice(ctx context.Context) (*agentapi.Notice, error) {
	text, err := m.get(ctx, "spot/instance-action")
	if err == nil {
		var action struct {
			Action string    `json:"action"`
			Time   time.Time `json:"time"`
		}
		if err := json.Unmarshal([]byte(text), &action); err != nil {
			return nil, err
		}
		return &agentapi.Notice{Kind: agentapi.NoticePreempt, At: action.Time}, nil
	}
	if !errors.Is(err, errNoMetadata) {
		return nil, err
	}
	text, err = m.get(ctx, "events/recommendations/rebalance")
	if errors.Is(err, errNoMetadata) {
		return nil, nil
	}
	var advice struct {
		Time time.Time `json:"noticeTime"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &advice)
	}
	if err != nil {
		return nil, err
	}
	return &agentapi.Notice{Kind: agentapi.NoticeRebalance, At: advice.Time}, nil
}
