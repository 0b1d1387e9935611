package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/api/restd"
	"fsub/federation/staging"
	"fsub/federation/staging/blobs"
	"fsub/federation/staging/home"
	"fsub/federation/store"
)

// Blobs is the store that carries files to sites without the user's file system.
type Blobs struct {
	// file:///PATH, s3://..., gs://... or azblob://... Not set: there is no store, and no files are carried.
	URL string `yaml:"url,omitempty"`
	// HOST:PORT on which the daemon serves a file:// store.
	Listen string `yaml:"listen,omitempty"`
	// http://HOST:PORT as the sites' nodes reach that.
	Public string `yaml:"public_url,omitempty"`
	// Most MiB of a job's input files, and of each stage-out directive.
	MaxMiB int64 `yaml:"max_mib"`
	// How long the signed addresses of a submission are valid.
	URLLife time.Duration `yaml:"url_life"`
	// How long a job's objects are kept after its end.
	Keep time.Duration `yaml:"keep"`
}

// IsZero reports whether there is no store.
func (b Blobs) IsZero() bool { return b.URL == "" }

func defaultBlobs() Blobs {
	return Blobs{MaxMiB: 4096, URLLife: 7 * 24 * time.Hour, Keep: 24 * time.Hour}
}

func (b *Blobs) check() error {
	if b.URL == "" {
		if b.Listen != "" || b.Public != "" {
			return errors.New("blobs: url is missing: file:///PATH, s3://, gs:// or azblob://")
		}
		return nil
	}
	u, err := url.Parse(b.URL)
	switch {
	case err != nil:
		return fmt.Errorf("blobs: url: %w", err)
	case u.Scheme == "file" && (b.Listen == "" || b.Public == ""):
		return errors.New("blobs: a file:// store is served by the daemon: set listen (HOST:PORT) and public_url (http://HOST:PORT as the sites' nodes reach it)")
	case u.Scheme == "file" && (u.Host != "" || !filepath.IsAbs(u.Path)):
		return fmt.Errorf("blobs: url: %s has no absolute path: write file:///PATH", b.URL)
	case u.Scheme != "file" && (b.Listen != "" || b.Public != ""):
		return fmt.Errorf("blobs: listen and public_url are for a file:// store; %s:// has a server of its own", u.Scheme)
	case u.Scheme != "file" && u.Scheme != "s3" && u.Scheme != "gs" && u.Scheme != "azblob":
		return fmt.Errorf("blobs: url: unknown scheme %q: want file, s3, gs or azblob", u.Scheme)
	case b.MaxMiB < 1 || b.URLLife < time.Minute || b.Keep < 0:
		return errors.New("blobs: max_mib is at least 1, url_life at least 1m, keep not negative")
	case u.Scheme == "s3" && b.MaxMiB > 5*1024:
		return errors.New("blobs: max_mib: S3 takes at most 5120 MiB in one piece")
	case (u.Scheme == "s3" || u.Scheme == "gs") && b.URLLife > 7*24*time.Hour:
		return errors.New("blobs: url_life: S3 and Google sign addresses for at most 168h")
	}
	return nil
}

// openBlobs opens the store, nil if there is none.
func openBlobs(ctx context.Context, c *Config) (*blobs.Store, error) {
	if c.Blobs.IsZero() {
		return nil, nil
	}
	key, err := blobKey(filepath.Join(c.StateDir, "blobs.key"))
	if err != nil {
		return nil, err
	}
	return blobs.Open(ctx, blobs.Config{URL: c.Blobs.URL, Public: c.Blobs.Public, Key: key, Max: c.Blobs.MaxMiB << 20, Free: c.Limits.MinFreeMiB << 20})
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
func newStager(c *Config, objects *blobs.Store, st *store.Store, log *slog.Logger) *staging.Stager {
	scratch := map[federation.SiteName]string{}
	for _, s := range c.Sites {
		scratch[s.Name] = s.Scratch
	}
	return staging.New(staging.Config{
		Federation: c.Federation, Objects: objects, Files: home.Spawner{Command: []string{"/proc/self/exe", asUser}},
		Scratch: scratch, Payload: st.Payload, Output: restd.OutputFile,
		Max: c.Blobs.MaxMiB << 20, Life: c.Blobs.URLLife, PerUser: c.Limits.StagesPerUser, Logger: log,
	})
}

// runBlobs serves a file:// store to the sites' nodes, and takes old objects out of any store.
func runBlobs(ctx context.Context, g *errgroup.Group, c *Config, objects *blobs.Store, stager *staging.Stager, st *store.Store, log *slog.Logger) error {
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
