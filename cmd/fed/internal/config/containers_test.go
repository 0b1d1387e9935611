//go:build !nocloud

package config

import (
	"slices"
	"strings"
	"testing"

	"fsub/cloud/container"
	"fsub/federation"
)

// TestContainersOfSites: the options are those of sites whose machines make containers, and of no others.
func TestContainersOfSites(t *testing.T) {
	read := func(site string) (*Site, error) {
		c, err := Parse([]byte("agents: {listen: \"127.0.0.1:0\", address: \"login1.example.org:6831\"}\nsites: [" + site + "]"))
		if err != nil {
			return nil, err
		}
		return &c.Sites[0], nil
	}
	const aws = "{name: a, kind: aws, aws: {types: [g6.xlarge]}"
	for site, want := range map[string]container.Engine{
		"{name: a, kind: local, containers: none}":   container.None,
		"{name: a, kind: local, containers: podman}": container.Podman,
		aws + "}":                     "",
		aws + ", containers: enroot}": container.Enroot,
		aws + ", containers: any}":    container.Any,
	} {
		s, err := read(site)
		if err != nil {
			t.Fatal(err)
		}
		offers := slices.Contains(s.PluginOptionList(), federation.PluginOption{Name: "container-image", Value: federation.TakesValue, Plugin: "pyxis"}) &&
			slices.Contains(s.PluginOptionList(), federation.PluginOption{Name: "container-writable", Value: federation.TakesNoValue, Plugin: "pyxis"})
		if s.Engine() != want || offers != (want != "" && want != container.None) {
			t.Errorf("%s: %q, offers %t", site, s.Engine(), offers)
		}
	}
	s, err := read("{name: a, kind: local}")
	if err != nil || (s.Engine() == container.Any) != container.Can(container.Any, installed) {
		t.Errorf("%v %v", s, err)
	}
	for site, want := range map[string]string{
		"{name: a, kind: local, containers: docker}":                 `invalid containers "docker": want enroot`,
		"{name: a, url: unix:/x, key_file: /k, containers: podman}":  "for machines that are rented",
		"{name: a, kind: local, containers: any, plugin_options: []": "",
	} {
		if _, err := read(site); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", site, err)
		}
	}
}
