package ec2_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"

	"fsub/testbed/ec2"
)

// TestMetadata asks the service of an instance without processes what a machine may ask.
func TestMetadata(t *testing.T) {
	c, client := newCloud(t, ec2.Config{})
	mustRun(t, client, 1, booting("#!/bin/sh\n"))
	id := instance(c, 0).ID
	h := c.Metadata(id)
	ask := func(method, path string, header ...string) (int, string) {
		r := httptest.NewRequest(method, path, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	const ttl = "X-aws-ec2-metadata-token-ttl-seconds"
	if code, _ := ask("PUT", "/latest/api/token"); code != http.StatusBadRequest {
		t.Errorf("a token for no time: %d", code)
	}
	if code, _ := ask("PUT", "/latest/api/token", ttl, "60", "X-Forwarded-For", "192.0.2.1"); code != http.StatusForbidden {
		t.Errorf("a token through a proxy: %d", code)
	}
	code, token := ask("PUT", "/latest/api/token", ttl, "60")
	if code != http.StatusOK {
		t.Fatal(code)
	}
	get := func(path string) (int, string) { return ask("GET", path, "X-aws-ec2-metadata-token", token) }
	for path, want := range map[string]string{
		"/latest/meta-data/instance-id": id, "/latest/meta-data/placement/": "availability-zone\navailability-zone-id\nregion", "/latest/user-data": "#!/bin/sh\n",
		"/latest/meta-data/tags/instance": "Name", "/latest/meta-data/instance-life-cycle": "spot",
	} {
		if code, got := get(path); code != http.StatusOK || got != want {
			t.Errorf("%s: %d %q, want %q", path, code, got, want)
		}
	}
	for _, none := range []string{"/latest/meta-data/spot/instance-action", "/latest/meta-data/events/recommendations/rebalance", "/latest/meta-data/iam/info"} {
		if code, _ := get(none); code != http.StatusNotFound {
			t.Errorf("%s: %d", none, code)
		}
	}
	if code, _ := ask("GET", "/latest/user-data", "X-aws-ec2-metadata-token", "guess"); code != http.StatusUnauthorized {
		t.Errorf("a guessed token: %d", code)
	}
	if _, got := get("/latest/dynamic/instance-identity/document"); !strings.Contains(got, id) || !strings.Contains(got, `"region":"us-east-2"`) {
		t.Errorf("identity: %s", got)
	}
}

// TestMetadataForTheSDK: Amazon's own client of the metadata service, which gets its token by itself.
func TestMetadataForTheSDK(t *testing.T) {
	c, client := newCloud(t, ec2.Config{})
	mustRun(t, client, 1, booting("#!/bin/sh\n# mine\n"))
	in := instance(c, 0)
	server := httptest.NewServer(c.Metadata(in.ID))
	defer server.Close()
	md := imds.New(imds.Options{Endpoint: server.URL})
	doc, err := md.GetInstanceIdentityDocument(t.Context(), nil)
	if err != nil || doc.InstanceID != in.ID || doc.Region != "us-east-2" || doc.AvailabilityZone != in.Zone || doc.PrivateIP != in.Addr || doc.PendingTime.IsZero() {
		t.Errorf("%v %+v", err, doc)
	}
	if region, err := md.GetRegion(t.Context(), nil); err != nil || region.Region != "us-east-2" {
		t.Error(err, region)
	}
	data, err := md.GetUserData(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(data.Content); err != nil || string(text) != in.UserData {
		t.Errorf("%v %q", err, text)
	}
	action := &imds.GetMetadataInput{Path: "spot/instance-action"}
	if _, err := md.GetMetadata(t.Context(), action); err == nil {
		t.Error("a notice before there is one")
	}
	if err := c.SpotNotice(in.ID, time.Hour); err != nil {
		t.Fatal(err)
	}
	out, err := md.GetMetadata(t.Context(), action)
	if err != nil {
		t.Fatal(err)
	}
	var notice struct {
		Action string
		Time   time.Time
	}
	if err := json.NewDecoder(out.Content).Decode(&notice); err != nil || notice.Action != "terminate" || time.Until(notice.Time) > time.Hour || time.Until(notice.Time) < 50*time.Minute {
		t.Errorf("%v %+v", err, notice)
	}
}
