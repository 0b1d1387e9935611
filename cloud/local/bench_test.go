package local

import (
	"context"
	"fmt"
	"os"
	"testing"

	"fsub/cloud/provider"
)

// BenchmarkCreate starts and ends 64 machines.
func BenchmarkCreate(b *testing.B) {
	for _, network := range []Network{NetworkHost, NetworkNamespace} {
		b.Run(string(network), func(b *testing.B) {
			if network == NetworkNamespace && os.Geteuid() != 0 {
				b.Skip("SKIPPED: it takes root")
			}
			self, err := os.Executable()
			if err != nil {
				b.Fatal(err)
			}
			p, err := New(Config{Dir: b.TempDir(), Agent: self, Network: network, Shapes: []Shape{{Type: "small", CPUs: 1, Mem: 1}}})
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				n++
				got, err := p.Create(context.Background(), request(fmt.Sprintf("G%d", n), 64))
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				var ids []provider.InstanceID
				for _, i := range got {
					ids = append(ids, i.ID)
				}
				if err := p.Delete(context.Background(), ids); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
