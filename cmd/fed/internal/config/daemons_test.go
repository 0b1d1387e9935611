package config

import (
	"strings"
	"testing"
)

// What only one daemon has is refused where there are several.
func TestDaemons(t *testing.T) {
	const aws = "sites: [{name: aws, kind: aws, aws: {region: us-east-2, types: [g6.xlarge]}}]\n"
	const local = "sites: [{name: here, kind: local, local: {host: b}}]\n"
	const store, daemons = "store: postgres://fed@db/fed\n", "daemons: {name: a, listen: \"a:6825\", secret_file: /s}\n"
	for _, tt := range []struct{ text, want string }{
		{store + daemons, ""},
		{daemons, "set store"},
		{store + "daemons: {name: a}\n", "listen is missing"},
		{store + "daemons: {listen: \"a:6825\"}\n", "secret_file is missing"},
		{store + "daemons: {listen: \":6825\", secret_file: /s}\n", "set address"},
		{store + "daemons: {listen: a, secret_file: /s}\n", "want HOST:PORT"},
		{store + daemons + "blobs: {url: \"file:///b\", listen: \":1\", public_url: \"http://a:1\"}\n", "one machine's"},
		{store + daemons + "blobs: {url: \"file:///b\", listen: \":1\", public_url: \"http://a:1\", shared: true}\n", ""},
		{store + daemons + "sites: [{name: here, kind: local, pools: [{name: a, max: 1}]}]\n", "set local: host"},
		{store + daemons + strings.TrimSuffix(aws, "]\n") + ", {name: here, kind: local, pools: [{name: a, max: 1}]}]\nagents: {listen: \"10.0.0.1:6826\"}\n", "site here"},
		{store + daemons + local, "set agents: listen"},
		{store + daemons + local + "agents: {listen: \"10.0.0.1:6826\"}\n", ""},
		{store + local + "agents: {listen: \"10.0.0.1:6826\"}\n", "there is one daemon"},
		{store + daemons + aws + "agents: {listen: \"10.0.0.1:6826\"}\n", ""},
		{store + daemons + aws + "agents: {listen: \":6826\", address: \"10.0.0.1:6826\"}\n", ""},
		{store + daemons + aws + "agents: {listen: \":6826\"}\n", "agents: listen \":6826\" names no host"},
		{store + daemons + aws + "agents: {listen: \"0.0.0.0:6826\"}\n", "names no host"},
		{store + daemons + aws + "agents: {listen: \"a:6826\", lease: 30s}\n", "outlast a take-over"},
		{store + daemons + "remote: {listen: \":6824\"}\n", "remote: listen \":6824\" names no host"},
	} {
		_, err := Parse([]byte(tt.text))
		if got := ""; err != nil {
			if got = err.Error(); tt.want == "" || !strings.Contains(got, tt.want) {
				t.Errorf("%s: %s; want %q", tt.text, got, tt.want)
			}
		} else if tt.want != "" {
			t.Errorf("%s: taken; want %q", tt.text, tt.want)
		}
	}
}

// A port that is none is found before the daemon is started.
func TestHostPort(t *testing.T) {
	for addr, ok := range map[string]bool{"127.0.0.1:8443": true, ":8443": true, "[::1]:https": true, "127.0.0.1:84x": false, "127.0.0.1:99999": false, "localhost": false} {
		if _, err := hostPort(addr); (err == nil) != ok {
			t.Errorf("%s: %v", addr, err)
		}
	}
}
