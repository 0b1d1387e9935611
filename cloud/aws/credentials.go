package aws

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
)

// fileCredentials are those of a file, which is read again when it changes: keys that are renewed there are used from the next call on. The SDK reads a file
// once. A file that is gone or broken leaves the keys that were read last, which the cloud judges.
type fileCredentials struct {
	path string
	load func(context.Context) (sdk.CredentialsProvider, error)

	mu   sync.Mutex
	at   time.Time // the file's time of change, of what was read last
	size int64
	read sdk.CredentialsProvider
}

// Retrieve implements [sdk.CredentialsProvider].
func (f *fileCredentials) Retrieve(ctx context.Context) (sdk.Credentials, error) {
	return f.provider(ctx).Retrieve(ctx)
}

func (f *fileCredentials) provider(ctx context.Context) sdk.CredentialsProvider {
	info, err := os.Stat(f.path)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil || info.ModTime().Equal(f.at) && info.Size() == f.size {
		return f.read
	}
	if p, err := f.load(ctx); err == nil {
		f.read, f.at, f.size = p, info.ModTime(), info.Size()
	}
	return f.read
}

// fileHasProfile fails if credentials_file has no profile to use. The SDK would then take what else it finds, such as the machine's own role: another account.
func (c *Config) fileHasProfile(ctx context.Context) error {
	profile := cmp.Or(c.Profile, os.Getenv("AWS_PROFILE"), config.DefaultSharedConfigProfile)
	s, err := config.LoadSharedConfigProfile(ctx, profile, func(o *config.LoadSharedConfigOptions) { o.CredentialsFiles = []string{c.CredentialsFile} })
	if err == nil && (s.Credentials.HasKeys() || s.RoleARN != "" || s.CredentialProcess != "" || s.SSOAccountID != "") {
		return nil
	}
	return fmt.Errorf("%s has no profile %q with aws_access_key_id and aws_secret_access_key", c.CredentialsFile, profile) // the error could show a key
}
