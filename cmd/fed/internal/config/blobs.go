package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"fsub/accounting/egress"
)

// Blobs is the store that carries files to sites without the user's file system.
type Blobs struct {
	// file:///PATH, s3://..., gs://... or azblob://... Not set: there is no store, and no files are carried.
	URL string `yaml:"url,omitempty"`
	// HOST:PORT on which the daemon serves a file:// store.
	Listen string `yaml:"listen,omitempty"`
	// http://HOST:PORT as the sites' nodes reach that.
	Public string `yaml:"public_url,omitempty"`
	// The directory of a file:// store is one file system of all daemons, and public_url reaches the one that leads.
	Shared bool `yaml:"shared,omitempty"`
	// Where the store lies, as --input has it, for what leaves it: gcp:europe-west4. Not set: what an s3:// address says.
	Place string `yaml:"place,omitempty"`
	// Most MiB of a job's input files, of each stage-out directive (S3 and Azure take at most 5000 of these), and of a copy of what it keeps.
	MaxMiB int64 `yaml:"max_mib"`
	// How long the signed addresses of a submission are valid.
	URLLife time.Duration `yaml:"url_life"`
	// How long a job's objects are kept after its end.
	Keep time.Duration `yaml:"keep"`
	// Dollars for a GB that the store keeps for a month. Not set: 0.023 for a store in a cloud.
	GBMonth float64 `yaml:"gb_month,omitempty"`
}

// Store is the store as prices have it.
func (b *Blobs) Store() egress.Store {
	if b.Lies() == "" {
		return egress.Store{}
	}
	return egress.Store{Place: b.Lies(), PerGBMonth: cmp.Or(b.GBMonth, egress.AssumedPerGBMonth), Keep: b.Keep}
}

// IsZero reports whether there is no store.
func (b Blobs) IsZero() bool { return b.URL == "" }

// Lies is where the store lies, as --input has it: "aws:us-east-1"; "" where neither place nor the address says.
func (b *Blobs) Lies() string {
	if b.Place != "" {
		return b.Place
	}
	if u, err := url.Parse(b.URL); err == nil && u.Scheme == "s3" && u.Query().Get("endpoint") == "" && u.Query().Get("region") != "" {
		return "aws:" + u.Query().Get("region")
	}
	return ""
}

func defaultBlobs() Blobs {
	return Blobs{MaxMiB: 4096, URLLife: 7 * 24 * time.Hour, Keep: 24 * time.Hour}
}

func (b *Blobs) check() error {
	if b.URL == "" {
		if b.Listen != "" || b.Public != "" || b.Shared {
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
	case u.Scheme != "file" && (b.Listen != "" || b.Public != "" || b.Shared):
		return fmt.Errorf("blobs: listen, public_url and shared are for a file:// store; %s:// has its own server", u.Scheme)
	case u.Scheme != "file" && u.Scheme != "s3" && u.Scheme != "gs" && u.Scheme != "azblob":
		return fmt.Errorf("blobs: url: unknown scheme %q: want file, s3, gs or azblob", u.Scheme)
	case b.Place != "" && !egress.Place(b.Place):
		return fmt.Errorf("blobs: invalid place %q: want a region of a cloud, such as gcp:europe-west4", b.Place)
	case !number(b.GBMonth):
		return errors.New("blobs: gb_month must not be negative")
	case b.MaxMiB < 1 || b.URLLife < time.Minute || b.Keep < 0:
		return errors.New("blobs: max_mib is at least 1, url_life at least 1m, keep not negative")
	case (u.Scheme == "s3" || u.Scheme == "gs") && b.URLLife > 7*24*time.Hour:
		return errors.New("blobs: url_life: S3 and Google sign addresses for at most 168h")
	}
	return nil
}
