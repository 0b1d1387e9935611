package bed

import (
	"net"
	"os"
	"testing"
	"time"
)

// TestListensWaitsForGreeting: a daemon that greets is not ready while its port is open and it says nothing, as mariadbd does before it can be stopped.
func TestListensWaitsForGreeting(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: entering namespaces needs root")
	}
	self, err := identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		greets, speaks, want bool
	}{
		"no need to":    {greets: false, speaks: false, want: true},
		"silent":        {greets: true, speaks: false, want: false},
		"says its word": {greets: true, speaks: true, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if tc.speaks {
				go func() {
					for {
						c, err := l.Accept()
						if err != nil {
							return
						}
						c.Write([]byte("hello"))
						c.Close()
					}
				}()
			}
			v := service{port: l.Addr().(*net.TCPAddr).Port, greets: tc.greets}
			got, err := listens(self, v)
			for deadline := time.Now().Add(2 * time.Minute); tc.want && !got && err == nil && time.Now().Before(deadline); { // who is slow is asked again
				got, err = listens(self, v)
			}
			if err != nil || got != tc.want {
				t.Errorf("listens: %v, %v; want %v", got, err, tc.want)
			}
		})
	}
}

// TestServiceMatches: a service is known by its command line, also while it is being started. A process that shows none is nothing yet.
func TestServiceMatches(t *testing.T) {
	v := service{name: "slurmd:a1", node: "a1", args: []string{"slurmd", "-D", "-N", "a1"}}
	for _, tc := range []struct {
		argv []string
		want bool
	}{
		{[]string{"slurmd", "-D", "-N", "a1"}, true},
		{[]string{"/usr/sbin/slurmd", "-D", "-N", "a1"}, true},
		{[]string{"setsid", "--fork", "slurmd", "-D", "-N", "a1"}, true},
		{[]string{"slurmd", "-D", "-N", "a2"}, false},
		{[]string{"slurmctld", "-D"}, false},
		{nil, false},
	} {
		if got := v.matches(process{argv: tc.argv}); got != tc.want {
			t.Errorf("%q is %s: %v, want %v", tc.argv, v.name, got, tc.want)
		}
	}
}
