package squeue

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/iotest"
)

// indentJSON does what json.Indent does, but for empty containers with blanks in them, whatever pieces the document comes in.
func FuzzIndentJSON(f *testing.F) {
	f.Add([]byte(`{"jobs":[{"a":"x\"y{","b":[],"c":{},"d":[1,-2.5,null,true]}],"e":"\\"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var compact, want bytes.Buffer
		if json.Compact(&compact, doc) != nil {
			return
		}
		if err := json.Indent(&want, compact.Bytes(), "", "  "); err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := indentJSON(&got, iotest.OneByteReader(bytes.NewReader(doc))); err != nil {
			t.Fatalf("%q: %v", doc, err)
		}
		if got.String() != want.String()+"\n" {
			t.Fatalf("%q\n got %s\nwant %s", doc, &got, &want)
		}
	})
}

func TestCutDocumentIsAnError(t *testing.T) {
	for _, doc := range []string{`{"jobs":[{"a":1}`, `{"a":"x`} {
		if indentJSON(&bytes.Buffer{}, strings.NewReader(doc)) == nil {
			t.Errorf("%s: no error", doc)
		}
	}
}

// As a real squeue 24.11 writes it.
func TestYAML(t *testing.T) {
	const doc = `{"jobs":[],"last_update":{"set":true,"infinite":false,"number":1795295100},"meta":{"plugin":{"type":"","data_parser":"data_parser/v0.0.42"},
		"command":["squeue","--yaml","-n"],"load":1.5},"errors":[],"warnings":[{"description":"Zero jobs to dump","source":""}],"odd":["a: b","- c",{}]}`
	const want = `%YAML 1.1
--- !!map
!!str jobs: !!seq []
!!str last_update: !!map
  !!str set: !!bool true
  !!str infinite: !!bool false
  !!str number: !!int 1795295100
!!str meta: !!map
  !!str plugin: !!map
    !!str type: !!str
    !!str data_parser: !!str data_parser/v0.0.42
  !!str command: !!seq
  - !!str squeue
  - !!str "--yaml"
  - !!str "-n"
  !!str load: !!float 1.5
!!str errors: !!seq []
!!str warnings: !!seq
- !!map
  !!str description: !!str Zero jobs to dump
  !!str source: !!str
!!str odd: !!seq
- !!str "a: b"
- !!str "- c"
- !!map {}
...

`
	var got bytes.Buffer
	if err := writeYAML(&got, strings.NewReader(doc)); err != nil || got.String() != want {
		t.Errorf("%v\n%s", err, &got)
	}
}
