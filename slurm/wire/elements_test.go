package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestElements(t *testing.T) {
	for body, want := range map[string]string{
		`{"nodes":[]}`:  "",
		`{"nodes":[1]}`: "1",
		"{ \"a\" : {\"nodes\":[9]} , \"nodes\" : [ 1 ,\n2 ] , \"b\":[]}": "1|2",
		`{"x":"\\","nodes":[{"a":"]}\"\\"},[1,[2]],"s,",null]}`:          `{"a":"]}\"\\"}|[1,[2]]|"s,"|null`,
		`{"x":-1.5e3,"y":true,"nodes":["\""]}`:                           `"\""`,
	} {
		got, from, to, ok := Elements([]byte(body), "nodes")
		var texts []string
		for _, e := range got {
			texts = append(texts, string(e))
		}
		if strings.Join(texts, "|") != want || !ok || !strings.HasSuffix(body[:from], "[") || !strings.HasPrefix(body[to:], "]") {
			t.Errorf("%s: %q %v, %q %q", body, texts, ok, body[:from], body[to:])
		}
	}
	for _, body := range []string{``, `[]`, `{}`, `{"nodes":{}}`, `{"nodes":[1`, `{"nodes":[1,`, `{"nodes":["a`, `{"nodes":[{"a":1]`, `{"nodes"`, `{"x":"\"}`, `{"nodes":[1,]}`,
		`{"nodes":[,1]}`, `{"nodes":[1 2]}`, `null`} {
		if got, _, _, ok := Elements([]byte(body), "nodes"); ok {
			t.Errorf("%s: %q", body, got)
		}
	}
}

// TestElementsOfAnything: the elements are those that encoding/json finds, however they are written.
func TestElementsOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var value func(depth int) any
		value = func(depth int) any {
			switch n := rapid.IntRange(0, 5).Draw(t, "kind"); {
			case n == 0 && depth < 3:
				list := []any{}
				for range rapid.IntRange(0, 3).Draw(t, "elements") {
					list = append(list, value(depth+1))
				}
				return list
			case n == 1 && depth < 3:
				object := map[string]any{}
				for range rapid.IntRange(0, 3).Draw(t, "fields") {
					object[rapid.String().Draw(t, "key")] = value(depth + 1)
				}
				return object
			case n == 2:
				return rapid.Float64().Draw(t, "number")
			case n == 3:
				return nil
			}
			return rapid.StringOf(rapid.SampledFrom([]rune(`a"\{}[],: `))).Draw(t, "text")
		}
		list := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "length") {
			list = append(list, value(0))
		}
		object := map[string]any{"nodes": list, "a": value(0), "z": value(0)}
		body, err := json.Marshal(object)
		if rapid.Bool().Draw(t, "indented") {
			body, err = json.MarshalIndent(object, "", "\t")
		}
		if err != nil {
			t.Fatal(err)
		}
		got, from, to, ok := Elements(body, "nodes")
		if !ok || len(got) != len(list) {
			t.Fatalf("%s: %q, %v", body, got, ok)
		}
		for i, e := range got {
			want, _ := json.Marshal(list[i])
			var v any
			if err := json.Unmarshal(e, &v); err != nil {
				t.Fatal(err)
			}
			if b, _ := json.Marshal(v); string(b) != string(want) {
				t.Fatalf("element %d is %s, not %s", i, b, want)
			}
		}
		if !json.Valid(append(append([]byte{}, body[:from]...), body[to:]...)) {
			t.Fatalf("without them: %s %s", body[:from], body[to:])
		}
	})
}
