package scontrol

import (
	"reflect"
	"strings"
	"testing"
)

// TestHelpSaysAll: each verb that does something is described, and there is each that is.
func TestHelpSaysAll(t *testing.T) {
	said := map[string]bool{}
	for _, c := range commands {
		for _, name := range strings.Split(strings.Join(strings.Fields(c.Value), " "), ", ") {
			word, _, _ := strings.Cut(name, " ")
			said[word] = true
		}
	}
	other := map[string]string{"holdu": "uhold", "reboot_nodes": "reboot"}
	for _, v := range verbs() {
		name := v.name
		if other[name] != "" {
			name = other[name]
		}
		quiet := reflect.ValueOf(v.run).Pointer() == reflect.ValueOf(quietly).Pointer()
		if !quiet && !said[name] {
			t.Errorf("the help lacks %s", v.name)
		}
	}
	known := map[string]bool{}
	for _, v := range verbs() {
		known[v.name] = true
	}
	for name := range said {
		if !known[name] && name != "reboot" {
			t.Errorf("the help has %s, and there is no such verb", name)
		}
	}
}
