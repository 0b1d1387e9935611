package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

var submitBodies = []string{
	`{"spec":{"name":"a\"b{","work_dir":"/x","time_limit":60000000000},"payload":{"script":"#!/bin/sh\necho \"x\" > y \u0026\u0026 true\t\\\n","argv":["a","b c"],"environment":["A=b","EMPTY=","U=\u00e9ü"]},"submit_host":"login1"}`,
	" { \"payload\" : { \"script\" : \"x\" } ,\n \"spec\" : { \"signal\":{\"name\":\"USR1\",\"before\":1} } } \n",
	`{"payload":{"environment":[],"script":"\ud83d\ude00"}}`,
	`{"payload":{"script":"\ud83d"}}`, `{"payload":{"argv":null,"script":"x"}}`, `{"Payload":{"script":"x"}}`,
	`{"payload":{"script":"x"},"payload":{"argv":["y"]}}`, `{"unknown":1,"submit_host":"h"}`, `{}`, `null`,
	`{"call":{"args":["-n2","a b"],"dir":"/x","limits":{"NOFILE":4}},"payload":{"script":"x"}}`, `{"call":null}`, `{"call":{"args":[1]}}`,
	`{"payload":{"script":"a` + "\x01" + `"}}`, `{"payload":{"script":"` + "\xff" + `"}}`, `{"payload":{"script":"\q"}}`, `{"payload":{"script":"x"}`,
	`{"payload":{"script":"x"}}x`, `{"spec":[],"payload":{}}`, `{"spec":{"min_nodes":"x"}}`, `{"payload":{"environment":["a",]}}`, `{"submit_host":5}`, `{"spec":{}]}`,
}

// same compares decodeSubmit with encoding/json on one body.
func same(t *testing.T, body []byte) {
	if !utf8.Valid(body) {
		return // see TestDecodeSubmitKeepsBytes
	}
	var got, want v1.SubmitRequest
	gotErr, wantErr := decodeSubmit(body, &got), json.Unmarshal(body, &want)
	if (gotErr == nil) != (wantErr == nil) {
		t.Fatalf("%q: error %v, encoding/json says %v", body, gotErr, wantErr)
	}
	if diff := cmp.Diff(want, got); wantErr == nil && diff != "" {
		t.Fatalf("%q (-encoding/json +ours):\n%s", body, diff)
	}
}

// TestDecodeSubmitKeepsBytes: what is no UTF-8 reaches the job as it was, or is refused.
func TestDecodeSubmitKeepsBytes(t *testing.T) {
	var req v1.SubmitRequest
	body := []byte("{\"spec\":{\"name\":\"x\"},\"payload\":{\"script\":\"#!/bin/sh\\necho \xe9\xff\",\"argv\":[\"\xfc\"],\"environment\":[\"A=\\\"\xe9\"]},\"test_only\":true}")
	want := sbatch.Payload{Script: "#!/bin/sh\necho \xe9\xff", Argv: []string{"\xfc"}, Environment: []string{"A=\"\xe9"}}
	if err := decodeSubmit(body, &req); err != nil || !cmp.Equal(req.Payload, want) || !req.TestOnly {
		t.Errorf("%q, %v", req.Payload, err)
	}
	for _, body := range []string{"{\"spec\":{\"name\":\"\xe9\"}}", "{\"submit_host\":\"\xe9\"}", "{\"payload\":{\"x\":\"\xe9\"}}"} {
		if err := decodeSubmit([]byte(body), &req); err == nil {
			t.Errorf("%q was read as %+v", body, req)
		}
	}
}

func TestDecodeSubmitIsEncodingJSON(t *testing.T) {
	for _, body := range submitBodies {
		same(t, []byte(body))
	}
}

func FuzzDecodeSubmit(f *testing.F) {
	for _, body := range submitBodies {
		f.Add([]byte(body))
	}
	f.Fuzz(same)
}

// TestUsualSubmissionIsScanned: what fsub sends must not fall back to the slow way.
func TestUsualSubmissionIsScanned(t *testing.T) {
	body, err := json.Marshal(v1.SubmitRequest{
		Spec:       sbatch.Spec{Name: "x", WorkDir: "/home/alice", Signal: &sbatch.Signal{Name: "USR1"}},
		Payload:    sbatch.Payload{Script: "#!/bin/sh\nif [ a < b ] && c; then echo \"\x1b[1m\"; fi\n", Argv: []string{"é"}, Environment: []string{"A=b", "C=\ttab"}},
		SubmitHost: "login1",
	})
	if err != nil {
		t.Fatal(err)
	}
	var req v1.SubmitRequest
	if s := (scanner{text: string(body)}); !s.request(body, &req) {
		t.Errorf("stopped at %d: %s", s.pos, body[s.pos:])
	}
}

func BenchmarkDecodeSubmit(b *testing.B) {
	req := v1.SubmitRequest{Spec: sbatch.Spec{Name: "x", WorkDir: "/home/alice"}, Payload: sbatch.Payload{Script: "#!/bin/sh\n" + strings.Repeat("srun a > b\n", 90)}}
	for i := range 60 {
		req.Payload.Environment = append(req.Payload.Environment, fmt.Sprintf("VARIABLE_%d=/some/where/on/this/machine:/and/else", i))
	}
	body, err := json.Marshal(req)
	if err != nil {
		b.Fatal(err)
	}
	for _, way := range []struct {
		name   string
		decode func([]byte, *v1.SubmitRequest) error
	}{{"scanner", decodeSubmit}, {"encoding/json", func(b []byte, r *v1.SubmitRequest) error { return json.Unmarshal(b, r) }}} {
		b.Run(way.name, func(b *testing.B) {
			for b.Loop() {
				var req v1.SubmitRequest
				if err := way.decode(body, &req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
