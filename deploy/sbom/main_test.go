package main

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestIdentify(t *testing.T) {
	for text, want := range map[string][]string{
		"   Apache License\n  Version 2.0, January 2004":                                    {"Apache-2.0"},
		"Permission is hereby granted, free of charge, to any\nperson obtaining a copy of":  {"MIT"},
		"Redistribution and use in source and binary forms, ... Neither the name of Google": {"BSD-3-Clause"},
		"Redistribution and use in source and binary forms, with or without":                {"BSD-2-Clause"},
		"all rights reserved": nil,
	} {
		if got := identify(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestBill: this test's own program has a bill of materials with each of its modules; each module of the checkout has a licence that is known.
func TestBill(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir("../..")
	if err := run([]string{dir, self}); err != nil {
		t.Fatal(err)
	}
	var bill struct {
		BOMFormat  string
		Components []component
	}
	text, err := os.ReadFile(dir + "/sbom.test.cdx.json")
	if err == nil {
		err = json.Unmarshal(text, &bill)
	}
	if err != nil || bill.BOMFormat != "CycloneDX" || bill.Components[0].Version != strings.TrimPrefix(runtime.Version(), "go") {
		t.Errorf("%v: %s", err, text)
	}
	licences, err := os.ReadFile(dir + "/LICENSES")
	if err != nil || !strings.Contains(string(licences), "Redistribution and use in source") {
		t.Errorf("%v: %.200s", err, licences)
	}
}
