package traces

import (
	"strconv"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"fsub/federation"
	"fsub/federation/spans"
)

// scope names who has made the spans. Its version is that of their names and attributes: OpenTelemetry has no conventions for batch jobs yet.
var scope = &common.InstrumentationScope{Name: "fsub/federation/traces", Version: "1"}

func text(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

func number(key string, value int64) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: value}}}
}

// names of spans.
var names = map[spans.Kind]string{spans.Whole: "job", spans.Waits: "wait", spans.Tried: "attempt", spans.HandsOver: "hand over", spans.Queued: "queued at site", spans.Runs: "run"}

// spansOf are a job's life as OTLP has it.
func spansOf(id *Identity, j *federation.Job, attempts []federation.Attempt, now time.Time) []*trace.Span {
	var out []*trace.Span
	var above [3][]byte // the span of each depth that the next lie within
	above[0] = id.Parent[:]
	if id.Parent == [8]byte{} {
		above[0] = nil
	}
	for i, s := range spans.Of(j, attempts, now) {
		self := id.span(j.ID, s.Kind, " ", i)
		if s.Kind == spans.Tried {
			self = id.attempt(j.ID, s.Attempt)
		}
		o := &trace.Span{TraceId: id.Trace[:], SpanId: self[:], ParentSpanId: above[s.Depth], Name: names[s.Kind], Kind: trace.Span_SPAN_KIND_INTERNAL,
			StartTimeUnixNano: uint64(s.Begin.UnixNano()), EndTimeUnixNano: uint64(s.End.UnixNano()), Attributes: []*common.KeyValue{number("fsub.job.id", int64(j.ID))}}
		if s.Depth+1 < len(above) {
			above[s.Depth+1] = self[:]
		}
		if s.Site != "" {
			o.Attributes = append(o.Attributes, text("fsub.site", string(s.Site)), number("fsub.attempt", int64(s.Attempt)))
		}
		if s.Nodes != "" {
			o.Attributes = append(o.Attributes, text("slurm.job.nodes", s.Nodes))
		}
		if s.State != "" {
			o.Attributes = append(o.Attributes, text("slurm.job.state", string(s.State)))
		}
		if s.Note != "" {
			o.Attributes = append(o.Attributes, text("fsub.note", s.Note))
		}
		if failed(s.State) {
			o.Status = &trace.Status{Code: trace.Status_STATUS_CODE_ERROR, Message: string(s.State)}
			o.Attributes = append(o.Attributes, text("error.type", string(s.State)))
		}
		if s.Kind == spans.Whole {
			o.Attributes = append(o.Attributes, whole(j)...)
		}
		out = append(out, o)
	}
	return out
}

func whole(j *federation.Job) []*common.KeyValue {
	out := []*common.KeyValue{text("fsub.user", j.User), text("fsub.account", j.Account), text("slurm.job.name", j.Spec.Name), text("slurm.job.partition", j.Partition),
		text("slurm.job.exit_code", strconv.Itoa(int(j.ExitStatus>>8&0xff))+":"+strconv.Itoa(int(j.ExitStatus&0x7f)))}
	if group := j.Spec.GroupName(); group != "" {
		out = append(out, text("fsub.job.group", group))
	}
	return out
}

// failed reports whether a run's or a job's end is an error to those who look at traces.
func failed(s federation.State) bool {
	return s.Ended() && s != federation.Completed && s != federation.Cancelled
}

// request is what is sent of one job's spans or of many's.
func (c *Config) request(all []*trace.Span) []*trace.ResourceSpans {
	return []*trace.ResourceSpans{{
		Resource:   &resource.Resource{Attributes: []*common.KeyValue{text("service.name", "fsub"), text("service.version", c.Version), text("fsub.federation", c.Federation)}},
		ScopeSpans: []*trace.ScopeSpans{{Scope: scope, Spans: all}},
	}}
}
