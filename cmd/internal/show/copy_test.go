package show

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/iotest"
)

// TestYAML: the shape that a real sinfo 24.11 writes.
func TestYAMLOfSinfo(t *testing.T) {
	in := `{"sinfo":[{"port":6901,"node":{"state":["IDLE"]},"hostnames":[],"load":1.5,"set":false,"name":"","gres":"gpu:h100:0(IDX:N/A)","o":{}}],"line":"a: b #c\nd 'x'","none":null}`
	const want = `%YAML 1.1
--- !!map
!!str sinfo: !!seq
- !!map
  !!str port: !!int 6901
  !!str node: !!map
    !!str state: !!seq
    - !!str IDLE
  !!str hostnames: !!seq []
  !!str load: !!float 1.5
  !!str set: !!bool false
  !!str name: !!str
  !!str gres: !!str gpu:h100:0(IDX:N/A)
  !!str o: !!map {}
!!str line: !!str 'a: b #c

  d ''x'''
!!str none: !!null null
...

`
	var got bytes.Buffer
	if err := Copy(&got, strings.NewReader(in), true); err != nil || got.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, &got, want)
	}
	for _, bad := range []string{"", "{", `{"a":`, `[1`, "<html>"} {
		if err := Copy(&bytes.Buffer{}, strings.NewReader(bad), true); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// copyJSON does what json.Indent does, but for empty containers with blanks in them, whatever pieces the document comes in.
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
		if err := copyJSON(&got, iotest.OneByteReader(bytes.NewReader(doc))); err != nil {
			t.Fatalf("%q: %v", doc, err)
		}
		if got.String() != want.String()+"\n" {
			t.Fatalf("%q\n got %s\nwant %s", doc, &got, &want)
		}
	})
}

func TestCutDocumentIsAnError(t *testing.T) {
	for _, doc := range []string{`{"jobs":[{"a":1}`, `{"a":"x`} {
		if copyJSON(&bytes.Buffer{}, strings.NewReader(doc)) == nil {
			t.Errorf("%s: no error", doc)
		}
	}
}

// As a real squeue 24.11 writes it.
func TestYAMLOfSqueue(t *testing.T) {
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
  - !!str --yaml
  - !!str -n
  !!str load: !!float 1.5
!!str errors: !!seq []
!!str warnings: !!seq
- !!map
  !!str description: !!str Zero jobs to dump
  !!str source: !!str
!!str odd: !!seq
- !!str 'a: b'
- !!str '- c'
- !!map {}
...

`
	var got bytes.Buffer
	if err := Copy(&got, strings.NewReader(doc), true); err != nil || got.String() != want {
		t.Errorf("%v\n%s", err, &got)
	}
}

// As squeue 24.11 writes the comments of jobs.
func TestYAMLText(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	for in, want := range map[string]string{
		"": "", "it's": "it's", `a "word"`: `a "word"`, "a:b": "a:b", "a: b": "'a: b'", "a:": "'a:'", "a #b": "'a #b'", " a": "' a'", "- ": "'- '", "-": "'-'",
		"--x": "--x", "---x": "'---x'", "?x": "?x", ":x": ":x", "#x": "'#x'", "*a": "'*a'", "@a": "'@a'", "'x": "'''x'", `"x`: `'"x'`, "`x": "'`x'", "|": "'|'",
		"a,b [x] {y} z?": "a,b [x] {y} z?", `a\b`: `a\b`, "1": "1", "true": "true", "~": "~", `- it's: "odd" #1`: `'- it''s: "odd" #1'`,
		"ä": `"\xE4"`, "a\tb": `"a\tb"`, "日本 😀": `"\u65E5\u672C \U0001F600"`,
		"a\nb\n  c 'd'": `"a\nb\n  c 'd'"`, "a \nb": `"a \nb"`, "a\n\nb": "'a\n\n\n    b'", "a\n": "'a\n\n    '",
		words(28):            words(12) + "\n    " + words(16),
		"'" + words(27):      "'''" + words(12) + "\n    " + words(15) + "'",
		"wordé " + words(27): `"word\xE9 ` + words(10) + "\n    " + words(16) + "\n    word\"",
		words(14) + " ":      "'" + words(12) + "\n    " + words(2) + " '",
	} {
		if got := yamlText(in, len("  !!str comment: !!str "), 4); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
