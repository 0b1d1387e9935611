package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"fsub/federation"
)

func TestSiteOffers(t *testing.T) {
	read := func(keys string) (Site, error) {
		c, err := Parse([]byte("sites:\n- {name: a, url: http://a:1, key_file: k, " + keys + "}"))
		if err != nil {
			return Site{}, err
		}
		return c.Sites[0], nil
	}
	for keys, want := range map[string]Directories{
		"":                               nil,
		"filesystems: none":              {},
		"filesystems: []":                {},
		"filesystems: [/home, /scratch]": {"/home", "/scratch"},
	} {
		s, err := read(keys)
		if err != nil || !reflect.DeepEqual(s.FileSystems, want) || (s.FileSystems == nil) != (want == nil) {
			t.Errorf("%s: %#v %v", keys, s.FileSystems, err)
		}
		// What "fed config check" prints is read as the same.
		text, err := yaml.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var again Site
		if err := yaml.Unmarshal(text, &again); err != nil || (again.FileSystems == nil) != (want == nil) || len(again.FileSystems) != len(want) {
			t.Errorf("%s: printed as %s", keys, text)
		}
	}
	s, err := read("plugin_options: [{name: container-image, plugin: pyxis}, {name: no-home, short: H, value: none, plugin: pyxis}]")
	want := []federation.PluginOption{
		{Name: "container-image", Value: federation.TakesValue, Plugin: "pyxis"},
		{Name: "no-home", Short: "H", Value: federation.TakesNoValue, Plugin: "pyxis"},
	}
	if err != nil || !reflect.DeepEqual(s.PluginOptionList(), want) {
		t.Errorf("%+v %v", s.PluginOptionList(), err)
	}
	for keys, says := range map[string]string{
		"filesystems: all":                                             `"all" is neither`,
		"filesystems: [home]":                                          "want an absolute path",
		"filesystems: [/home/]":                                        "want an absolute path",
		"plugin_options: [{name: --x, plugin: p}]":                     "without its dashes",
		"plugin_options: [{name: x}]":                                  `invalid plugin ""`,
		"plugin_options: [{name: x, plugin: p, value: yes}]":           "want required, optional or none",
		"plugin_options: [{name: x, plugin: p, short: xy}]":            "not one letter",
		"plugin_options: [{name: x, plugin: p}, {name: x, plugin: q}]": "two options named x",
	} {
		if _, err := read(keys); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", keys, err, says)
		}
	}
}

func TestSiteLifts(t *testing.T) {
	for keys, want := range map[string]string{
		"":                      "[registration duplicate]",
		"lift: [none]":          "[]",
		"lift: [reboot]":        "[reboot]",
		"lift: [none, silence]": `lift: unknown kind "none"`,
		"lift: [all]":           `lift: unknown kind "all": choose from registration duplicate reboot silence, or write [none]`,
	} {
		c, err := Parse([]byte("sites:\n- {name: a, url: http://a:1, key_file: k, " + keys + "}"))
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", keys, err)
			}
			continue
		}
		if got := fmt.Sprint(c.Sites[0].Lifts()); got != want {
			t.Errorf("%s: %s, want %s", keys, got, want)
		}
	}
}
