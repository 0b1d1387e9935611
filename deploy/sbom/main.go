// Command sbom says what programs were linked from: for each a bill of materials (CycloneDX 1.6, NAME.cdx.json), read from what Go has written into the program itself, and
// one file with the licences of all modules, LICENSES. It runs in the checkout that the programs were built from. A module whose licence is not known by its text is an error.
//
//	sbom DIR bin/fed bin/fsub ...
package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom: error:", err)
		os.Exit(1)
	}
}

// component is one in CycloneDX's words.
type component struct {
	Type     string    `json:"type"`
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	PURL     string    `json:"purl"`
	Licenses []license `json:"licenses,omitempty"`
}

type license struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

func run(args []string) error {
	if len(args) < 2 {
		return errors.New("want a directory and programs")
	}
	dir, programs := args[0], args[1:]
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	all, err := modules()
	if err != nil {
		return err
	}
	used := map[string]found{}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return fmt.Errorf("%s: %w", program, err)
		}
		components := []component{{"library", "std", strings.TrimPrefix(info.GoVersion, "go"), "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"), licensed("BSD-3-Clause")}}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			f, known := used[m.Path]
			if !known {
				if f, err = find(m, all[m.Path]); err != nil {
					return err
				}
				used[m.Path] = f
			}
			components = append(components, component{"library", m.Path, m.Version, "pkg:golang/" + m.Path + "@" + m.Version, licensed(f.ids...)})
		}
		if err := write(filepath.Join(dir, filepath.Base(program)+".cdx.json"), info, components); err != nil {
			return err
		}
	}
	return texts(filepath.Join(dir, "LICENSES"), used)
}

// modules are the directories of all modules of the checkout, by path.
func modules() (map[string]string, error) {
	out, err := exec.Command("go", "list", "-m", "-json", "all").Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m all: %w", err)
	}
	dirs := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Dir string }
		if err := d.Decode(&m); err == io.EOF {
			return dirs, nil
		} else if err != nil {
			return nil, err
		}
		dirs[m.Path] = m.Dir
	}
}

// found is what a module's directory has.
type found struct {
	version string
	ids     []string // of SPDX
	files   map[string]string
}

var fileName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|unlicense)([.-].*)?$`)

func find(m *debug.Module, dir string) (found, error) {
	f := found{version: m.Version, files: map[string]string{}}
	if dir == "" {
		return f, fmt.Errorf("%s %s is not in the module cache: run sbom where the programs were built", m.Path, m.Version)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return f, err
	}
	more, _ := filepath.Glob(filepath.Join(dir, "licenses", "*")) // the texts that a LICENSE speaks of
	for _, file := range append(files, more...) {
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return f, err
		}
		if info, err := os.Stat(file); err != nil || info.IsDir() || !fileName.MatchString(name) && filepath.Dir(name) == "." {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return f, err
		}
		if f.files[name] = string(text); filepath.Dir(name) != "." {
			continue
		}
		for _, id := range identify(string(text)) {
			if !slices.Contains(f.ids, id) {
				f.ids = append(f.ids, id)
			}
		}
	}
	if len(f.ids) == 0 {
		return f, fmt.Errorf("%s %s: no licence that is known by its text in %s", m.Path, m.Version, dir)
	}
	slices.Sort(f.ids)
	return f, nil
}

// marks are sentences by which a licence is known.
var marks = []struct{ id, text string }{
	{"Apache-2.0", "Apache License Version 2.0, January 2004"},
	{"Apache-2.0", "Licensed under the Apache License, Version 2.0"},
	{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"},
	{"ISC", "Permission to use, copy, modify, and distribute this software for any purpose with or without fee"},
	{"MPL-2.0", "Mozilla Public License, version 2.0"},
	{"MPL-2.0", "Mozilla Public License Version 2.0"},
	{"Unlicense", "This is free and unencumbered software released into the public domain"},
	{"CC-BY-4.0", "Creative Commons Attribution 4.0 International Public License"},
	{"FTL", "subject to your choice of exactly one of the following two licenses: * The FreeType License"}, // the other is the GPL: the first is chosen
	{"CC0-1.0", "CC0 1.0 Universal"},
}

func identify(text string) (ids []string) {
	text = strings.Join(strings.Fields(text), " ")
	for _, m := range marks {
		if strings.Contains(text, m.text) {
			ids = append(ids, m.id)
		}
	}
	if strings.Contains(text, "Redistribution and use in source and binary forms") {
		id := "BSD-2-Clause"
		if regexp.MustCompile(`(?i)neither the names? of|names? of .{0,80} may not be used to endorse`).MatchString(text) {
			id = "BSD-3-Clause"
		}
		ids = append(ids, id)
	}
	return ids
}

func licensed(ids ...string) (all []license) {
	for _, id := range ids {
		var l license
		l.License.ID = id
		all = append(all, l)
	}
	return all
}

func write(path string, info *buildinfo.BuildInfo, components []component) error {
	at := time.Unix(0, 0)
	if epoch, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		at = time.Unix(epoch, 0)
	}
	name := strings.TrimSuffix(filepath.Base(path), ".cdx.json")
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": map[string]any{"timestamp": at.UTC().Format(time.RFC3339),
			"component": component{"application", name, info.Main.Version, "pkg:golang/" + info.Path + "@" + info.Main.Version, licensed("Apache-2.0")}},
		"components": components,
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// texts writes the licences of the modules, and of Go itself.
func texts(path string, used map[string]found) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	golang, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "LICENSE"))
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("fsub is under the Apache License 2.0. Its programs are linked with the Go standard library and the modules below, each under its own licence.\n")
	part := func(name, file, text string) {
		b.WriteString("\n" + strings.Repeat("=", 100) + "\n" + name + ": " + file + "\n" + strings.Repeat("=", 100) + "\n\n" + strings.TrimRight(text, "\n") + "\n")
	}
	part("Go", "LICENSE", string(golang))
	for _, name := range slices.Sorted(maps.Keys(used)) {
		for _, file := range slices.Sorted(maps.Keys(used[name].files)) {
			part(name+" "+used[name].version, file, used[name].files[file])
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
