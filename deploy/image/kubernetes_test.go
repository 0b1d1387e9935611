package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	manifests = "../kubernetes/"
	validator = "kubernetes-validate==1.37.0"
)

// TestManifestsFitTheSchema: what deploy/kubernetes has is valid for Kubernetes 1.37, by the schema of its API.
func TestManifestsFitTheSchema(t *testing.T) {
	out, err := exec.Command("../../testbed/clients/provide.sh", "kubernetes-validate", validator).CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 75 || os.Geteuid() != 0 {
		t.Skipf("SKIPPED: %s cannot be had now: %s", validator, out)
	} else if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"namespace.yaml", "postgres.yaml", "daemon.yaml"} {
		out, err := exec.Command("/var/cache/fsub-clients/venv/kubernetes-validate/bin/kubernetes-validate", "--strict", "-k", "1.37", manifests+name).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestManifestsAgree: the kustomization names each file, and the ports and paths of the pod are those of the configuration.
func TestManifestsAgree(t *testing.T) {
	text := func(name string) string {
		b, err := os.ReadFile(manifests + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	kustomization, daemon, config := text("kustomization.yaml"), text("daemon.yaml"), text("fed.yaml")
	files, err := filepath.Glob(manifests + "*.yaml")
	if err != nil || len(files) != 5 {
		t.Errorf("%v: %v", files, err)
	}
	for _, file := range files {
		if name := filepath.Base(file); name != "kustomization.yaml" && !strings.Contains(kustomization, name) {
			t.Errorf("kustomization.yaml does not name %s", name)
		}
	}
	for _, port := range regexp.MustCompile(`0\.0\.0\.0:(\d+)`).FindAllStringSubmatch(config, -1) {
		if !strings.Contains(daemon, "containerPort: "+port[1]) {
			t.Errorf("fed.yaml listens at %s, and the pod does not name this port", port[1])
		}
	}
	for _, dir := range []string{"/run/credentials/fsub", "/var/lib/fsub", "/run/fsub", "/etc/fsub"} {
		if !strings.Contains(daemon, "mountPath: "+dir+"}") && !strings.Contains(daemon, "mountPath: "+dir+",") {
			t.Errorf("the pod mounts nothing at %s", dir)
		}
	}
}
