// Package client is the Go client of a daemon: what "fed" and the tests ask with. It speaks /fed/v1 (package v1) and gives the domain's
// types. [Client] is all there is.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// Client speaks to a daemon. It is what "fed" and tests use; the small commands have their own. It is safe for
// concurrent use.
//
// A refusal is a *federation.SlurmError that wraps the Err value that the daemon had. A daemon that does not answer is
// ErrUnavailable, ErrNotSent if nothing of the request can have reached it.
type Client struct {
	socket   string
	http     http.Client
	identify func(http.Header) error // nil: the connection says who calls
}

// New returns a client of the daemon at a unix socket, or at the first that answers of several with commas between them. It connects at the first call.
func New(socket string) *Client {
	var d net.Dialer
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var all []error
		for path := range strings.SplitSeq(socket, ",") {
			c, err := d.DialContext(ctx, "unix", path)
			if err == nil {
				return c, nil
			}
			all = append(all, err)
		}
		return nil, notSent{errors.Join(all...)}
	}
	return &Client{socket: socket, http: http.Client{Transport: &http.Transport{
		DialContext: dial, MaxIdleConnsPerHost: 64, DisableCompression: true,
	}}}
}

// Through returns a client that sends its requests by t, to a daemon that is called name in errors.
func Through(t http.RoundTripper, name string) *Client {
	return &Client{socket: name, http: http.Client{Transport: t}}
}

// Dialing returns a client whose connections dial makes, to a daemon that is called name in errors. identify adds to a request what says who calls.
func Dialing(name string, dial func(context.Context) (net.Conn, error), identify func(http.Header) error) *Client {
	connect := func(ctx context.Context, _, _ string) (net.Conn, error) {
		c, err := dial(ctx)
		if err != nil {
			return nil, notSent{err}
		}
		return c, nil
	}
	return &Client{socket: name, identify: identify, http: http.Client{Transport: &http.Transport{DialContext: connect, MaxIdleConnsPerHost: 64, DisableCompression: true}}}
}

type notSent struct{ error }

func (e notSent) Unwrap() error { return e.error }

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Submit submits a job and returns its ID once it is durable.
func (c *Client) Submit(ctx context.Context, r v1.SubmitRequest) (federation.JobID, error) {
	var out v1.SubmitResponse
	err := c.Do(ctx, "POST", "/fed/v1/job", r, &out)
	return out.JobID, err
}

// Job reads all that is known of a job.
func (c *Client) Job(ctx context.Context, id federation.JobID) (*JobRecord, error) {
	rec, err := get[v1.JobRecord](ctx, c, fmt.Sprintf("/fed/v1/job/%d", id))
	return recordOf(rec), err
}

// Wait returns the job once it has ended, or fails with ctx.
func (c *Client) Wait(ctx context.Context, id federation.JobID) (*JobRecord, error) {
	for {
		rec, err := get[v1.JobRecord](ctx, c, fmt.Sprintf("/fed/v1/job/%d/wait", id))
		if err != nil || rec.Job.ID != 0 {
			return recordOf(rec), err
		}
	}
}

// Explain tells why a job is where it is.
func (c *Client) Explain(ctx context.Context, id federation.JobID) (*Explanation, error) {
	e, err := get[v1.Explanation](ctx, c, fmt.Sprintf("/fed/v1/job/%d/explain", id))
	return explanationOf(e), err
}

// Payload reads a job's script and environment.
func (c *Client) Payload(ctx context.Context, id federation.JobID) (*sbatch.Payload, error) {
	r, err := get[v1.PayloadResponse](ctx, c, fmt.Sprintf("/fed/v1/job/%d/payload", id))
	if err != nil {
		return nil, err
	}
	return r.Exact(), nil
}

// Act asks that kind be done with jobs; there is one result for each reference.
func (c *Client) Act(ctx context.Context, kind action.Kind, r v1.ActRequest) ([]v1.ActResult, error) {
	var out v1.ActResponse
	err := c.Do(ctx, "POST", "/fed/v1/jobs/"+string(kind), r, &out)
	return out.Results, err
}

// Get reads a path of /fed/v1.
func Get[T any](ctx context.Context, c *Client, path string) (*T, error) { return get[T](ctx, c, path) }

func get[T any](ctx context.Context, c *Client, path string) (*T, error) {
	out := new(T)
	return out, c.Do(ctx, "GET", path, nil, out)
}

// List lists the things of a noun that q chooses, of those that the caller may see.
func List[T, Q any](ctx context.Context, c *Client, n *v1.Noun[T, Q], q Q) ([]T, error) {
	path := n.Path
	if query := v1.URLQuery(&q).Encode(); query != "" {
		path += "?" + query
	}
	out, err := get[[]T](ctx, c, path)
	return *out, err
}

// mostFollowed is how many pages of a search that finds little are asked for at once.
const mostFollowed = 20

// ListPage is List for one page of those lists that have pages. Where the server has not searched to the end for it, it asks on, up to a bound: a page that is
// short and has a next one is of a search that takes long.
func ListPage[T, Q any](ctx context.Context, c *Client, n *v1.Noun[T, Q], q Q, of v1.PageQuery) (*v1.Page[T], error) {
	p, err := listPage(ctx, c, n, q, of)
	for back, size, more := of.Before != "", of.Size(), 0; err == nil && len(p.Items) < size && more < mostFollowed; more++ {
		cursor := p.Next
		if back {
			cursor = p.Prev
		}
		if cursor == "" {
			break
		}
		if of.Limit, of.After, of.Before = size-len(p.Items), cursor, ""; back {
			of.After, of.Before = "", cursor
		}
		var rest *v1.Page[T]
		if rest, err = listPage(ctx, c, n, q, of); err != nil {
			return nil, err
		}
		if p.ETag = ""; back { // it would be of a part alone
			p.Items, p.Prev = append(rest.Items, p.Items...), rest.Prev
		} else {
			p.Items, p.Next = append(p.Items, rest.Items...), rest.Next
		}
	}
	return p, err
}

func listPage[T, Q any](ctx context.Context, c *Client, n *v1.Noun[T, Q], q Q, of v1.PageQuery) (*v1.Page[T], error) {
	query := v1.URLQuery(&q)
	maps.Copy(query, v1.URLQuery(&of))
	var p v1.Page[T]
	head, err := do(ctx, c, "GET", n.Path+"?"+query.Encode(), nil, &p.Items)
	if err == nil {
		p.ReadHeaders(head)
	}
	return &p, err
}

// Do sends one request and decodes the answer into out. in and out may be nil; an empty answer leaves out as it is.
func (c *Client) Do(ctx context.Context, method, path string, in, out any) error {
	_, err := do(ctx, c, method, path, in, out)
	return err
}

// do is Do. It returns the header of the answer too.
func do(ctx context.Context, c *Client, method, path string, in, out any) (http.Header, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	kind := "application/json"
	if in == nil && method == http.MethodGet {
		short, query := v1.ShortPath(path)
		path, body, kind = short, bytes.NewReader(query), v1.QueryType
	}
	resp, err := c.send(ctx, method, path, kind, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return nil, c.noAnswer(ctx, err)
	case out == nil || len(b) == 0:
		return resp.Header, nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return nil, fmt.Errorf("answer of %s %s: %w", method, path, err)
	}
	return resp.Header, nil
}

// send sends one request. The answer is not a refusal; its body is the caller's to close.
func (c *Client) send(ctx context.Context, method, path, kind string, body io.Reader) (*http.Response, error) {
	return sendKeyed(ctx, c, method, path, kind, "", body)
}

// sendKeyed is Client.send for a request that may be repeated under the same key.
func sendKeyed(ctx context.Context, c *Client, method, path, kind, key string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://fsub"+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", kind)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	if c.identify != nil {
		if err := c.identify(req.Header); err != nil {
			return nil, c.noAnswer(ctx, notSent{err})
		}
	}
	resp, err := c.http.Do(req)
	for try := 0; err == nil && resp.StatusCode == http.StatusTooEarly && c.identify != nil && try < mostEarly; try++ {
		resp.Body.Close()
		resp, err = c.again(req)
	}
	if err != nil {
		return nil, c.noAnswer(ctx, err)
	}
	if resp.StatusCode < 400 {
		return resp, nil
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, c.noAnswer(ctx, err)
	}
	return nil, refusal(method, path, resp.StatusCode, b)
}

// A request that came too early, see [identity.EarlyError], is sent again after a pause, so many times at most.
const (
	mostEarly  = 8
	earlyPause = 500 * time.Millisecond
)

// again sends a request that came too early, after a pause and with what says who calls then.
func (c *Client) again(req *http.Request) (*http.Response, error) {
	select {
	case <-req.Context().Done():
		return nil, req.Context().Err()
	case <-time.After(earlyPause):
	}
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		req.Body = body
	}
	if err := c.identify(req.Header); err != nil {
		return nil, err
	}
	return c.http.Do(req)
}

// open begins to read what may be long.
func (c *Client) open(ctx context.Context, path string) (*http.Response, error) {
	return c.send(ctx, http.MethodGet, path, "application/json", nil)
}

// Post sends in to a path of /fed/v1 and returns the answer.
func Post[Out any](ctx context.Context, c *Client, path string, in any) (out Out, err error) {
	err = c.Do(ctx, http.MethodPost, path, in, &out)
	return out, err
}

// Delete deletes what a path of /fed/v1 names, and returns the answer.
func Delete[Out any](ctx context.Context, c *Client, path string) (out Out, err error) {
	err = c.Do(ctx, http.MethodDelete, path, nil, &out)
	return out, err
}

// noAnswer is err as what the caller must make of it.
func (c *Client) noAnswer(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	kind := federation.ErrUnavailable
	if errors.As(err, new(notSent)) {
		kind = federation.ErrNotSent
	}
	if c.identify != nil { // what is wrong is said by what has made the connection
		return noAnswerError{kind: kind, err: fmt.Errorf("no answer from the daemon at %s: %w", c.socket, sent(err))}
	}
	return noAnswerError{kind: kind, err: fmt.Errorf("no answer from the daemon at %s, is it running (fed serve)? %w", c.socket, cause(err))}
}

// noAnswerError is a failure of the connection, which tells people its cause and programs its kind.
type noAnswerError struct{ kind, err error }

func (e noAnswerError) Error() string   { return e.err.Error() }
func (e noAnswerError) Unwrap() []error { return []error{e.kind, e.err} }

// sent is err without what http puts before it.
func sent(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// cause is err without what net and http put before it.
func cause(err error) error {
	err = sent(err)
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// refusal is the error that a status of 400 or more stands for.
func refusal(method, path string, status int, body []byte) error {
	kind := federation.ErrUnavailable
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		kind = federation.ErrInvalid
	case http.StatusUnauthorized, http.StatusForbidden:
		kind = federation.ErrDenied
	case http.StatusNotFound:
		kind = federation.ErrNotFound
	case http.StatusConflict:
		kind = federation.ErrConflict
	case http.StatusGone:
		kind = federation.ErrTrimmed
	}
	var e v1.ErrorResponse
	if err := json.Unmarshal(body, &e); err != nil || e.Error.Text == "" {
		return fmt.Errorf("%s %s: status %d: %w", method, path, status, kind)
	}
	text, detail := e.Error.Text, e.Error.Detail
	switch e.Error.Number {
	case wire.ErrConvert, wire.ErrUnreachable, errTimedOut: // the reason says more to people than Slurm's sentence, which is for its own commands
		if detail != "" {
			text, detail = detail, ""
		}
	}
	return &federation.SlurmError{Kind: kind, Number: e.Error.Number, Text: text, Detail: detail}
}

// errTimedOut is Slurm's number of a lost connection to its controller.
const errTimedOut = 5004

// Federation is the name of the federation.
func (c *Client) Federation(ctx context.Context) (string, error) {
	ping, err := get[wire.PingResponse](ctx, c, wire.Slurm(wire.Base, wire.PathPing))
	if err != nil {
		return "", err
	}
	return ping.Meta.Slurm.Cluster, nil
}
