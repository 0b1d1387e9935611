package container

import (
	"strings"
	"testing"
)

// FuzzImageConfig reads how an image wants to be run, as whoever made it says: its environment has a variable in each line, and no word of it runs in its rc.
func FuzzImageConfig(f *testing.F) {
	f.Add([]byte(`{"Env":["PATH=/bin","A=b\nc"],"WorkingDir":"/w'; id; '","Entrypoint":["/e","'; id"],"Cmd":["$(id)","a b"]}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseImageConfig(text)
		if err != nil {
			return
		}
		if n := strings.Count(c.Environment(), "\n"); n > len(c.Env) {
			t.Errorf("%d lines of %d variables", n, len(c.Env))
		}
		// What stands outside of single quotes is ours: no word of the image is there.
		rc, bare, inside := c.RC(), "", false
		for i := 0; i < len(rc); i++ {
			switch {
			case rc[i] == '\'':
				inside = !inside
			case !inside && rc[i] == '\\':
				i++
			case !inside:
				bare += string(rc[i])
			}
		}
		if inside {
			t.Errorf("a quote stays open in %q", rc)
		}
		if strings.Contains(bare, "$(") || strings.ContainsAny(bare, "`{}()") {
			t.Errorf("%q runs a word of the image", rc)
		}
	})
}

// FuzzCDI reads what nvidia-ctk says of a machine's GPUs.
func FuzzCDI(f *testing.F) {
	f.Add([]byte(`{"devices":[{"name":"all","containerEdits":{"env":["A=b"],"hooks":[{"hookName":"createContainer","path":"/x","args":["y"]}]}}],"containerEdits":{"env":["NVIDIA_VISIBLE_DEVICES=void"],"mounts":[{"hostPath":"/a","containerPath":"/b","options":["ro"]}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := ParseCDI(text)
		if err != nil {
			return
		}
		for _, v := range e.Env {
			if strings.HasPrefix(v, "NVIDIA_VISIBLE_DEVICES=") {
				t.Errorf("%q is passed on", v)
			}
		}
		b := &Bundle{}
		e.apply(b)
		if len(b.Mounts) != len(e.Mounts) || len(b.Process.Env) != len(e.Env) {
			t.Errorf("%+v", b)
		}
	})
}
