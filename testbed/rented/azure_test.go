package rented

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/azure"
)

// azure makes what stands in for Azure, and returns the site's section.
func (w *world) azure(*config) string {
	cloud := azure.New(azure.Config{Process: true, Dir: filepath.Join(w.dir, "cloud")})
	w.rents = cloud
	w.write("credentials", fmt.Sprintf(`{"appId": "fsub", "password": %q, "tenant": "test"}`, cloud.Token()))
	return "subscription: " + azure.Subscription + ", resource_group: fsub, location: eastus, subnet: " + azure.Subnet +
		", sizes: [Standard_NV12ads_A10_v5], prices: {Standard_NV12ads_A10_v5: 0.9}, images: {Standard_NV12ads_A10_v5: 'me:grid:24:latest'}"
}

// actionOf is the action of a call whose body does not name it: of Azure the method and what it is about, without names.
func actionOf(r *http.Request) string {
	_, path, found := strings.Cut(r.URL.Path, "/providers/")
	if !found {
		return "pricing"
	}
	action := r.Method
	for i, part := range strings.Split(path, "/") {
		if i%2 == 1 {
			action += "-" + part
		}
	}
	return action
}

// TestAzureKilledAtEveryCall is TestKilledAtEveryCall at Azure, where machines are made by an operation that takes long.
func TestAzureKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	w := killedAtEveryCall(t, config{kind: "azure", pool: "max: 4, idle: 1s"}, "PUT-virtualMachineScaleSets", "DELETE-virtualMachines")
	if cloud := w.rents.(*azure.Cloud); cloud.Live() != 0 {
		t.Errorf("%d machines are left", cloud.Live())
	}
}

// TestAzureTakesBack: a spot machine that Azure announces to take back has its job signalled and run again.
func TestAzureTakesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config{kind: "azure", pool: "max: 4, idle: 2s, markets: [spot]"})
	cloud := w.rents.(*azure.Cloud)
	w.start()
	id := w.fsub("#!/bin/bash\n#SBATCH -t 5 -o out-%j --open-mode=append --requeue\ntrap 'echo saved >> saved-$SLURM_JOB_ID; exit 0' TERM\n" +
		"echo began >> began-$SLURM_JOB_ID\n[ \"$SLURM_RESTART_COUNT\" = 1 ] && exit 0\nsleep 300 & wait\n")
	w.eventually("the job runs", time.Minute, func() string { return missing(w.read(fmt.Sprintf("began-%d", id)), "began") })
	for _, m := range cloud.Machines() {
		if m.State == "Succeeded" {
			if err := cloud.SpotNotice(m.Name, 4*time.Second); err != nil {
				t.Fatal(err)
			}
		}
	}
	rec := w.await(id, 90*time.Second)
	if rec.Job.State != federation.Completed || strings.Count(w.read(fmt.Sprintf("began-%d", id)), "began") != 2 {
		t.Errorf("job %d is %s (%s); history: %v", id, rec.Job.State, rec.Job.Reason, rec.Events)
	}
	w.noMachines(60 * time.Second)
}

func missing(text, want string) string {
	if strings.Contains(text, want) {
		return ""
	}
	return "nothing yet"
}
