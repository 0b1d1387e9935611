package cloud_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/federation/driver"
)

// TestCheck: a cloud that does not answer is told by fed site test, with what to do.
func TestCheck(t *testing.T) {
	bubble(t, func(w *world) {
		w.ready()
		results := func() map[string]driver.SiteCheck {
			found := map[string]driver.SiteCheck{}
			for _, k := range w.driver.Check(context.Background()) {
				found[k.Name] = k
			}
			return found
		}
		if got := results(); got["offerings"].Result != driver.CheckOK || got["machines"].Result != driver.CheckOK {
			t.Errorf("%+v", got)
		}
		w.cloud.Before = func(op string, _ *provider.Request) error {
			if op == "List" {
				return errors.New("no right to list")
			}
			return nil
		}
		if got := results()["machines"]; got.Result != driver.CheckFailed || got.Advice == "" {
			t.Errorf("%+v", got)
		}
		w.cloud.Before = func(string, *provider.Request) error {
			return &provider.Error{Kind: provider.KindDenied, Scope: provider.ScopeCloud, Code: "ExpiredToken", Text: "expired"}
		}
		for _, name := range []string{"offerings", "machines"} {
			if got := results()[name]; got.Result != driver.CheckFailed || !strings.HasPrefix(got.Advice, "renew the credentials, or give them the right") {
				t.Errorf("%+v", got)
			}
		}
		time.Sleep(time.Second)
	})
}

// tells is an agent server whose machines are told an address.
type tells struct {
	cloud.AgentServer
	url string // "": there is none to tell
}

func (s tells) Boot(_ federation.SiteName, _ string, b agentapi.Boot) (agentapi.Boot, error) {
	if !b.PowerOff {
		return agentapi.Boot{URL: "unix:/for/processes/of/this/machine"}, nil
	}
	if s.url == "" {
		return agentapi.Boot{}, errors.New("set agents: listen")
	}
	return agentapi.Boot{URL: s.url}, nil
}

// TestCheckOfTheWayBack: fed site test says what machines are told, and that one of them which is this machine's own reaches nothing.
func TestCheckOfTheWayBack(t *testing.T) {
	for url, want := range map[string]driver.CheckResult{
		"": driver.CheckFailed, "https://127.0.0.1:6830": driver.CheckWarning, "https://localhost:6830": driver.CheckWarning,
		"https://0.0.0.0:6830": driver.CheckWarning, "https://[::1]:6830": driver.CheckWarning, "https://10.0.0.1:6830": driver.CheckOK,
		"https://10.0.0.1:6830,https://10.0.0.2:6830": driver.CheckOK, "https://10.0.0.1:6830,https://127.0.0.1:6830": driver.CheckWarning,
	} {
		bubble(t, func(w *world) {
			w.cfg.AgentServer = tells{w.server, url}
			w.cloud.Offers = nil
			w.start()
			found := map[string]driver.SiteCheck{}
			for _, k := range w.driver.Check(context.Background()) {
				found[k.Name] = k
			}
			if got := found["way back"]; got.Result != want || got.Advice == "" {
				t.Errorf("%q: %+v", url, got)
			}
			if got := found["offerings"]; got.Result != driver.CheckFailed || got.Advice == "" {
				t.Errorf("nothing to rent: %+v", got)
			}
		})
	}
}
