package show

import "testing"

// TestYAML: the shape that a real sinfo 24.11 writes.
func TestYAML(t *testing.T) {
	in := `{"sinfo":[{"port":6901,"node":{"state":["IDLE"]},"hostnames":[],"load":1.5,"set":false,"name":"","gres":"gpu:h100:0(IDX:N/A)","o":{}}],"line":"a: b #c\nd 'x'","none":null}`
	want := `%YAML 1.1
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
	got, err := YAML([]byte(in))
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	for _, bad := range []string{"", "{", `{"a":`, `[1`, "<html>"} {
		if _, err := YAML([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
