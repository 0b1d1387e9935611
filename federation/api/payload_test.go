package api_test

import (
	"testing"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/client"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

// A script comes back byte for byte, whatever is in it.
func TestPayloadIsExact(t *testing.T) {
	d := apitest.Start(t, api.Config{})
	for _, script := range []string{"#!/bin/sh\n# Gr\xfc\xdfe\n", "#!/bin/sh\n# Grüße \ufffd\n"} {
		j := federation.Job{User: "root", State: federation.Pending, Spec: new(sbatch.Spec)}
		if err := d.Store.CreateJob(t.Context(), &j, &sbatch.Payload{Script: script}); err != nil {
			t.Fatal(err)
		}
		c := client.New(d.Socket)
		defer c.Close()
		p, err := c.Payload(t.Context(), j.ID)
		if err != nil || p.Script != script {
			t.Errorf("%q %v, want %q", p.Script, err, script)
		}
	}
}
