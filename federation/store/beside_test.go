package store_test

import (
	"io"
	"os/exec"
	"testing"
	"time"

	"fsub/testbed/postgres"
)

// BenchmarkSubmitBesideDump is BenchmarkSubmit's load on two servers in turns: while a pg_dump reads the one, for as long as the benchmark lasts. A dump holds a snapshot, for which
// the server keeps each row that is updated or deleted after it. So the last turns tell more than the first: -benchtime=10m is the dump of a large database.
func BenchmarkSubmitBesideDump(b *testing.B) {
	const jobs, before = 1000, 50_000
	url := postgres.Start(b).URL()
	read, other := openPostgres(b, url), openPostgres(b, postgres.Start(b).URL())
	submitAll(b, read, before)
	submitAll(b, other, before)
	ended := slowDump(b, url)
	var with, without []float64 // jobs a second
	turn := func(of *[]float64, submit func()) {
		began := time.Now()
		submit()
		*of = append(*of, jobs/time.Since(began).Seconds())
	}
	for b.Loop() {
		turn(&with, func() { submitAll(b, read, jobs) })
		turn(&without, func() { submitAll(b, other, jobs) })
	}
	select {
	case err := <-ended:
		b.Fatalf("the dump ended before the load: %v", err)
	default:
	}
	ratios := make([]float64, len(with))
	for i := range ratios {
		ratios[i] = with[i] / without[i]
	}
	b.ReportMetric(median(with), "jobs/s")
	b.ReportMetric(median(ratios), "with/without")
	b.ReportMetric(median(ratios[len(ratios)*9/10:]), "with/without-at-the-end")
}

// slowDump starts a pg_dump that is read at 64 KiB a second, as by a slow disk. What it returns gets how it ended.
func slowDump(b *testing.B, url string) <-chan error {
	b.Helper()
	c := exec.CommandContext(b.Context(), "pg_dump", "-d", url)
	c.Stderr = b.Output()
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, out, 64<<10); err != nil { // it has its snapshot, and reads rows
		b.Fatalf("pg_dump: %v", err)
	}
	ended := make(chan error, 1)
	go func() {
		for {
			if _, err := io.CopyN(io.Discard, out, 16<<10); err != nil {
				ended <- c.Wait()
				return
			}
			time.Sleep(250 * time.Millisecond)
		}
	}()
	return ended
}
