package aws

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/testbed/ec2"
)

// TestFiveThousand: one listing of 5,000 machines is a handful of calls, and so is their end; no call is made for a single machine.
func TestFiveThousand(t *testing.T) {
	c, url := world(t, ec2.Config{Gone: time.Millisecond})
	p := open(t, standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey())))
	o := providertest.Offer(t, p, "c7i.large/us-east-2a/on-demand")
	for i := range 10 {
		if _, err := p.Create(t.Context(), gang(o, fmt.Sprint("g-", i), 500)); err != nil {
			t.Fatal(err)
		}
	}
	c.ResetCalls()
	all, err := p.List(t.Context())
	if err != nil || len(all) != 5000 {
		t.Fatalf("%d machines, %v", len(all), err)
	}
	if n := c.Count(""); n > 8 {
		t.Errorf("a listing of 5,000 machines took %d calls", n)
	}
	c.ResetCalls()
	if where, err := p.Topology(t.Context(), idsOf(all[:1000])); err != nil || c.Count("") != 10 {
		t.Errorf("topology of 1,000: %d of them, %d calls, %v", len(where), c.Count(""), err)
	}
	c.ResetCalls()
	if err := p.Delete(t.Context(), idsOf(all)); err != nil {
		t.Fatal(err)
	}
	if n := c.Count(""); n != 25 {
		t.Errorf("the end of 5,000 machines took %d calls", n)
	}
	if n := c.Live(); n > 0 {
		t.Errorf("%d live", n)
	}
}

// picky answers TerminateInstances as EC2 does: one bad machine refuses the whole call.
type picky struct {
	mu        sync.Mutex
	unknown   map[string]bool // not known; named in the refusal
	silent    bool            // the refusal names none
	protected map[string]bool // may not be ended
	ended     map[string]bool
	calls     int
}

func (k *picky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	r.ParseForm()
	var ids, bad []string
	for i := 1; r.Form.Has(fmt.Sprint("InstanceId.", i)); i++ {
		ids = append(ids, r.Form.Get(fmt.Sprint("InstanceId.", i)))
	}
	code, text := "InvalidInstanceID.NotFound", "The instance ID '%s' does not exist"
	for _, id := range ids {
		if k.unknown[id] {
			bad = append(bad, id)
		}
	}
	if len(bad) > 1 {
		text = "The instance IDs '%s' do not exist"
	}
	if k.silent {
		text = "Some of the %[1]d instances do not exist"
	}
	for _, id := range ids {
		if k.protected[id] && len(bad) == 0 {
			code, text, bad = "OperationNotPermitted", "The instance '%s' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.", []string{id}
		}
	}
	if len(bad) > 0 {
		if k.silent {
			text = fmt.Sprintf(text, len(ids))
		} else {
			text = fmt.Sprintf(text, strings.Join(bad, ", "))
		}
		w.WriteHeader(400)
		fmt.Fprintf(w, "<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>r</RequestID></Response>", code, text)
		return
	}
	for _, id := range ids {
		k.ended[id] = true
	}
	fmt.Fprint(w, `<TerminateInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId><instancesSet/></TerminateInstancesResponse>`)
}

// TestDeleteAmongBad: what can be ended is ended, in few calls.
func TestDeleteAmongBad(t *testing.T) {
	id := func(i int) string { return fmt.Sprintf("i-%017x", i) }
	for _, c := range []struct {
		name               string
		unknown, protected []int
		silent             bool
		most               int
		kind               provider.ErrorKind
	}{
		{"all good", nil, nil, false, 2, ""},
		{"some unknown", []int{3, 77, 299}, nil, false, 4, ""},
		{"all of a batch unknown", seq(200), nil, false, 2, ""},
		{"unknown, and nobody says which", []int{3, 299}, nil, true, 40, ""},
		{"one protected", nil, []int{5}, false, 20, provider.KindDenied},
		{"unknown and protected", []int{7}, []int{5}, false, 24, provider.KindDenied},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := &picky{unknown: map[string]bool{}, protected: map[string]bool{}, ended: map[string]bool{}, silent: c.silent}
			for _, i := range c.unknown {
				k.unknown[id(i)] = true
			}
			for _, i := range c.protected {
				k.protected[id(i)] = true
			}
			s := httptest.NewServer(k)
			defer s.Close()
			p := open(t, Config{
				Site: "aws", Federation: "test", Region: Region{Name: "us-east-2"}, Endpoint: s.URL, Types: []string{"c7i.large"},
				CredentialsFile: credentials(t, "AKIAIOSFODNN7EXAMPLE", "secret"),
			})
			var ids []provider.InstanceID
			for i := range 300 {
				ids = append(ids, provider.InstanceID(id(i)))
			}
			if err := p.Delete(t.Context(), ids); providertest.KindOf(err) != c.kind {
				t.Errorf("%v", err)
			}
			for i := range 300 {
				if good := !slices.Contains(c.unknown, i) && !slices.Contains(c.protected, i); k.ended[id(i)] != good {
					t.Errorf("machine %d ended: %v", i, k.ended[id(i)])
				}
			}
			if k.calls > c.most {
				t.Errorf("%d calls, at most %d", k.calls, c.most)
			}
		})
	}
}

func seq(n int) []int {
	var all []int
	for i := range n {
		all = append(all, i)
	}
	return all
}

// TestRegionOfTheEnvironment: where nothing is configured the machine that the daemon runs on says where it is.
func TestRegionOfTheEnvironment(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(3 * time.Millisecond)
		switch r.URL.Path {
		case "/latest/api/token":
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "600")
			fmt.Fprint(w, "token")
		case "/latest/dynamic/instance-identity/document":
			fmt.Fprint(w, `{"region":"eu-north-1"}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	cfg := Config{Site: "aws", Federation: "f", Types: []string{"c7i.large"}, CredentialsFile: credentials(t, "AKIAIOSFODNN7EXAMPLE", "x")}
	if _, err := New(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("without any: %v", err)
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "false")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", s.URL)
	if p := open(t, cfg); p.region.Name != "eu-north-1" {
		t.Errorf("region %s", p.region.Name)
	}
	t.Setenv("AWS_REGION", "us-west-2")
	if p := open(t, cfg); p.region.Name != "us-west-2" {
		t.Errorf("region %s", p.region.Name)
	}
}

// BenchmarkList is the listing that the daemon makes each minute, of 5,000 machines.
func BenchmarkList(b *testing.B) {
	c := ec2.New(ec2.Config{Types: ec2.TypesNamed("c7i.large"), Latency: time.Millisecond})
	defer c.Close()
	url, err := c.Start("")
	if err != nil {
		b.Fatal(err)
	}
	file := b.TempDir() + "/credentials"
	if err := os.WriteFile(file, []byte("[default]\naws_access_key_id = "+c.AccessKey()+"\naws_secret_access_key = "+c.SecretKey()+"\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	p, err := New(b.Context(), standIn(c, url, file))
	if err != nil {
		b.Fatal(err)
	}
	o := provider.Offering{ID: "c7i.large/us-east-2a/on-demand", Type: "c7i.large", Region: "us-east-2", Zone: "us-east-2a", Market: provider.OnDemand, Arch: "x86_64"}
	for i := range 10 {
		if _, err := p.Create(b.Context(), gang(o, fmt.Sprint("g-", i), 500)); err != nil {
			b.Fatal(err)
		}
	}
	c.ResetCalls()
	n := 0
	for b.Loop() {
		all, err := p.List(b.Context())
		if err != nil || len(all) != 5000 {
			b.Fatalf("%d machines, %v", len(all), err)
		}
		n++
	}
	b.ReportMetric(float64(c.Count(""))/float64(n), "calls/op")
}
