package daemon

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"golang.org/x/sync/errgroup"

	"fsub/cmd/fed/internal/config"
	"fsub/cmd/internal/build"
	"fsub/federation"
	"fsub/federation/traces"
)

// environment gives a job its environment at a site.
type environment func(federation.SiteName, *federation.Job, []string) []string

// traced adds to an environment what programs need to stand in the job's trace, if there are traces.
func traced(c *config.Config, of environment) environment {
	if c.Traces.Endpoint == "" {
		return of
	}
	return func(site federation.SiteName, j *federation.Job, env []string) []string {
		return traces.Environment(c.Federation, c.Traces.SampledShare(), j, of(site, j, env))
	}
}

// runTraces has traces of jobs sent. Several daemons that share a store have one that does: the leader.
func (p *parts) runTraces(ctx context.Context, g *errgroup.Group) error {
	c := &p.config.Traces
	if c.Endpoint == "" {
		return nil
	}
	headers, err := c.Headers()
	if err != nil {
		return err
	}
	with, err := c.TLS()
	if err != nil {
		return err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = with
	status := &lastStatus{RoundTripper: transport}
	collector := otlptracehttp.NewClient(otlptracehttp.WithEndpointURL(c.Endpoint), otlptracehttp.WithHeaders(headers),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression), otlptracehttp.WithHTTPClient(&http.Client{Transport: status, Timeout: uploadTime}))
	if err := collector.Start(ctx); err != nil {
		return fmt.Errorf("traces: %w", err)
	}
	e := traces.New(traces.Config{Store: p.store, Upload: status.refusing(collector.UploadTraces), Federation: p.config.Federation, Version: build.Read().Version, Share: c.SampledShare(),
		Logger: p.logOf("traces"), Registerer: p.reg})
	g.Go(func() error { return e.Run(ctx) })
	return nil
}

// uploadTime is how long a collector has for one request.
const uploadTime = 10 * time.Second

// lastStatus notes the status of the last answer: the client of OTLP has it in a sentence only.
type lastStatus struct {
	http.RoundTripper
	code atomic.Int32
}

// RoundTrip implements http.RoundTripper.
func (s *lastStatus) RoundTrip(r *http.Request) (*http.Response, error) {
	s.code.Store(0)
	resp, err := s.RoundTripper.RoundTrip(r)
	if err == nil {
		s.code.Store(int32(resp.StatusCode))
	}
	return resp, err
}

// refusing tells what is never to be sent again, as OTLP's specification says, from what is: a token that is wrong, or an address, can be put right.
func (s *lastStatus) refusing(upload func(context.Context, []*trace.ResourceSpans) error) func(context.Context, []*trace.ResourceSpans) error {
	return func(ctx context.Context, all []*trace.ResourceSpans) error {
		err := upload(ctx, all)
		if code := s.code.Load(); err != nil && (code == http.StatusBadRequest || code == http.StatusRequestEntityTooLarge) {
			return fmt.Errorf("%w: %w", traces.ErrRefused, err)
		}
		return err
	}
}
