package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fsub/cmd/fed/internal/config"
	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/api/restd"
	"fsub/federation/staging"
	"fsub/federation/staging/blobs"
	"fsub/federation/staging/home"
	"fsub/federation/store"
)

// openBlobs opens the store, nil if there is none.
func openBlobs(ctx context.Context, c *config.Config) (*blobs.Store, error) {
	if c.Blobs.IsZero() {
		return nil, nil
	}
	key, err := blobKey(filepath.Join(c.StateDir, "blobs.key"))
	if err != nil {
		return nil, err
	}
	return blobs.Open(ctx, blobs.Config{URL: c.Blobs.URL, Public: c.Blobs.Public, Key: key, Max: c.Blobs.MaxMiB << 20, Free: c.Limits.MinFreeMiB << 20,
		Outlives: staging.Outlives})
}

// sharedMark is a file that the first of several daemons puts into the directory of a file:// store.
const sharedMark = "daemons"

// checkShared refuses a directory that is not the one which the other daemons use, such as that below a file system which is not mounted here.
func checkShared(ctx context.Context, c *config.Config, objects *blobs.Store, f *sharedFiles) error {
	if f == nil || !c.Blobs.Shared {
		return nil
	}
	_, err := objects.Size(ctx, sharedMark)
	_, used := f.kept["blobs.key"]
	switch {
	case !errors.Is(err, federation.ErrNotFound):
		return err
	case used:
		dir := strings.TrimPrefix(c.Blobs.URL, "file://")
		return fmt.Errorf("blobs: %s has no file %q, which the daemons that share it have put there: is the file system mounted? If it was emptied: touch %s", dir, sharedMark, filepath.Join(dir, sharedMark))
	}
	return objects.Put(ctx, sharedMark, strings.NewReader("the daemons that share this directory know it by this file\n"))
}

// blobKey reads the key that signs addresses, and makes one the first time.
func blobKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		key = []byte(rand.Text() + rand.Text())
		err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, key, 0o600))
	}
	if err != nil {
		return nil, fmt.Errorf("blobs: %w", err)
	}
	return key, nil
}

// newStager makes what carries files to the sites that need it.
func newStager(c *config.Config, objects *blobs.Store, st *store.Store, sees func(federation.SiteName, string) bool, log *slog.Logger) *staging.Stager {
	scratch := map[federation.SiteName]string{}
	for _, s := range c.Sites {
		scratch[s.Name] = s.Scratch
	}
	var in staging.Objects
	if objects != nil {
		in = objects
	}
	return staging.New(staging.Config{
		Federation: c.Federation, Objects: in, Attempts: st.Attempts, Sees: sees, Place: c.Blobs.Lies(), Files: home.Spawner{Command: []string{"/proc/self/exe", asUser}},
		Scratch: scratch, Payload: st.Payload, Output: restd.OutputFile,
		Max: c.Blobs.MaxMiB << 20, MaxOne: blobs.MostByAddress(c.Blobs.URL), Life: c.Blobs.URLLife, PerUser: c.Limits.StagesPerUser, Logger: log,
	})
}

// runBlobs serves a file:// store to the sites' nodes, and takes old objects out of any store.
func runBlobs(ctx context.Context, g *errgroup.Group, c *config.Config, objects *blobs.Store, stager *staging.Stager, st *store.Store, log *slog.Logger) error {
	if c.Blobs.Listen != "" {
		l, err := net.Listen("tcp", c.Blobs.Listen)
		if err != nil {
			return fmt.Errorf("blobs: listen: %w", err)
		}
		srv := &http.Server{Handler: objects, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
			ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
		stop := context.AfterFunc(ctx, func() { srv.Close() })
		g.Go(func() error {
			defer stop()
			if err := srv.Serve(identity.PerSource(l, fromOneAddress)); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("blobs: %w", err)
			}
			return nil
		})
	}
	g.Go(func() error { return sweepBlobs(ctx, c.Blobs.Keep, stager, st, log) })
	return nil
}

// sweepBlobs removes what nobody will ask for any more, every hour.
func sweepBlobs(ctx context.Context, keep time.Duration, stager *staging.Stager, st *store.Store, log *slog.Logger) error {
	hour := time.NewTicker(time.Hour)
	defer hour.Stop()
	for {
		n, err := stager.Sweep(ctx, time.Now().Add(-keep), st.Job)
		switch {
		case err != nil && ctx.Err() == nil:
			log.Error("take old objects out of the blob store", "err", err)
		case n > 0:
			log.Info("old objects taken out of the blob store", "objects", n)
		}
		select {
		case <-hour.C:
		case <-ctx.Done():
			return nil
		}
	}
}
