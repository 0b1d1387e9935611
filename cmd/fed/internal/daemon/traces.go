package daemon

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
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
	options := []otlptracehttp.Option{otlptracehttp.WithEndpointURL(c.Endpoint), otlptracehttp.WithHeaders(headers), otlptracehttp.WithCompression(otlptracehttp.GzipCompression)}
	if with, err := c.TLS(); err != nil {
		return err
	} else if with != nil {
		options = append(options, otlptracehttp.WithTLSClientConfig(with))
	}
	collector := otlptracehttp.NewClient(options...)
	if err := collector.Start(ctx); err != nil {
		return fmt.Errorf("traces: %w", err)
	}
	e := traces.New(traces.Config{Store: p.store, Upload: collector.UploadTraces, Federation: p.config.Federation, Version: build.Read().Version, Share: c.SampledShare(),
		Logger: p.logOf("traces"), Registerer: p.reg})
	g.Go(func() error { return e.Run(ctx) })
	return nil
}
