package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// delays are between the tries of an event: three days in all.
var delays = [Tries - 1]time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 18 * time.Hour, 22 * time.Hour}

// delay is the time after the nth failed try, give or take a tenth, so that what failed together is not tried together.
func delay(n int) time.Duration {
	d := delays[min(n, len(delays))-1]
	return d - d/10 + rand.N(d/5)
}

// cloudEvent is the body of a post: an event as CloudEvents 1.0 has it, with the timestamp that Standard Webhooks wants too.
type cloudEvent struct {
	SpecVersion string    `json:"specversion"`
	ID          string    `json:"id"`
	Source      string    `json:"source"`
	Type        string    `json:"type"`
	Subject     string    `json:"subject,omitempty"`
	Time        time.Time `json:"time"`
	Timestamp   time.Time `json:"timestamp"`
	ContentType string    `json:"datacontenttype"`
	Data        any       `json:"data"`
}

// id is that of an event: the number of its commit, and its place in that. It is the same at each try.
func (e *Event) id() string { return fmt.Sprintf("%d.%d", e.Mark, e.Index) }

// answered is what follows from an answer that is no success.
type answered struct {
	gone bool          // nothing is wanted any more
	slow bool          // it is too much
	wait time.Duration // not before
}

// post posts an event to an endpoint, once.
func (h *Hub) post(ctx context.Context, to *Endpoint, e *Event) (t Try, then answered) {
	t = Try{At: h.Now().UTC(), ID: e.id(), Type: e.Type}
	resp, err := h.send(ctx, to, e)
	t.Took = h.Now().Sub(t.At)
	if err != nil {
		t.Result = reason(err)
		return t, then
	}
	_, _ = io.CopyN(io.Discard, resp.Body, mostAnswer) // so that the connection may be used again
	resp.Body.Close()
	t.Result = resp.Status
	t.Good = resp.StatusCode >= 200 && resp.StatusCode < 300
	switch resp.StatusCode {
	case http.StatusGone:
		then.gone = true
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		then.slow = true
	}
	if !t.Good {
		then.wait = retryAfter(resp.Header.Get("Retry-After"), h.Now())
	}
	return t, then
}

func (h *Hub) send(ctx context.Context, to *Endpoint, e *Event) (*http.Response, error) {
	now := h.Now()
	body, err := json.Marshal(cloudEvent{"1.0", e.id(), "fsub:" + h.Federation, e.Type, e.About, e.At.UTC(), e.At.UTC(), "application/json", e.Data})
	if err != nil {
		return nil, err
	}
	secrets, err := h.Box.secrets(&to.Definition, now)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/cloudevents+json")
	req.Header.Set("User-Agent", "fsub")
	req.Header.Set("webhook-id", e.id())
	req.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	req.Header.Set("webhook-signature", sign(secrets, e.id(), now, body))
	return h.client.Do(req)
}

// reason is why there was no answer, without the URL, which may have a secret in it.
func reason(err error) string {
	switch {
	case errors.Is(err, errForbidden):
		return errForbidden.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %s", postTime)
	}
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

// mostWait is the longest that an endpoint may have itself waited for.
const mostWait = 24 * time.Hour

// retryAfter reads the header of that name: seconds, or a time.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return min(time.Duration(min(n, 86400))*time.Second, mostWait)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), mostWait)
	}
	return 0
}

// Test posts an event to an endpoint that nothing has happened for, once, and returns what became of that.
func (h *Hub) Test(ctx context.Context, to *Endpoint) Try {
	now := h.Now().UTC()
	e := Event{Mark: 0, Index: int(now.UnixMilli()), At: now, Type: "fsub.test", About: to.Name, Data: struct {
		Event string `json:"event"`
		User  string `json:"user"`
	}{"test", to.Owner}}
	t, _ := h.post(ctx, to, &e)
	t.Number = 1
	return t
}
