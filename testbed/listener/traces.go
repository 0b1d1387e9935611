package listener

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"

	otlp "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Body is what a request sends, which may be compressed.
func Body(r *http.Request) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return io.ReadAll(r.Body)
	}
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// Spans are those of a body as OTLP has it.
func Spans(body []byte) (all []*trace.Span, err error) {
	var req otlp.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &req); err != nil {
		return nil, err
	}
	for _, one := range req.ResourceSpans {
		for _, s := range one.ScopeSpans {
			all = append(all, s.Spans...)
		}
	}
	return all, nil
}

// SpansOf are the spans of a job.
func SpansOf(all []*trace.Span, job string) (of []*trace.Span) {
	for _, s := range all {
		for _, a := range s.Attributes {
			if a.Key == "fsub.job.id" && fmt.Sprint(a.Value.GetIntValue()) == job {
				of = append(of, s)
			}
		}
	}
	return of
}
