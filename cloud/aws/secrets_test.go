package aws

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/testbed/ec2"
)

// TestSecrets: nothing that is sent, said or written holds the secret key, and the script of a machine holds no key at all.
func TestSecrets(t *testing.T) {
	c, url := world(t, ec2.Config{})
	file := credentials(t, c.AccessKey(), c.SecretKey())
	cfg := standIn(c, url, file)
	rec := &recorder{}
	cfg.HTTP = rec
	cfg.AnyZone = true
	cfg.Logger = rec.logger()
	p := open(t, cfg)
	var said []string
	for i, id := range []string{"c7i.large/us-east-2a/on-demand", "c7i.large/us-east-2/spot"} {
		r := gang(providertest.Offer(t, p, id), fmt.Sprint("g", i), 2)
		made, err := p.Create(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, fmt.Sprintf("%+v", made))
		c.Deny("")
		for _, err := range []error{p.Delete(t.Context(), idsOf(made)), second(p.List(t.Context())), second(p.Create(t.Context(), gang(r.Offering, "h", 1)))} {
			said = append(said, fmt.Sprintf("%v\n%#v", err, err))
		}
		c.ClearFaults()
	}
	// A secret that is not good: the answer repeats what it was sent.
	if err := os.WriteFile(file, []byte("[default]\naws_access_key_id = "+c.AccessKey()+"\naws_secret_access_key = "+strings.Repeat("wrong", 8)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, cfg).List(t.Context())
	if providertest.KindOf(err) != provider.KindDenied {
		t.Errorf("with a wrong secret: %v", err)
	}
	said = append(said, fmt.Sprintf("%v\n%#v", err, err))
	if len(rec.seen) < 10 {
		t.Errorf("%d requests seen", len(rec.seen))
	}
	for _, text := range append(rec.seen, append(said, rec.logged())...) {
		for _, secret := range []string{c.SecretKey(), strings.Repeat("wrong", 8)} {
			if strings.Contains(text, secret) || strings.Contains(text, neturl(secret)) {
				t.Errorf("the secret is in %.2000s", text)
			}
		}
	}
	for _, text := range append(said, rec.logged()) {
		if strings.Contains(text, c.AccessKey()) {
			t.Errorf("the key's ID is in %.2000s", text)
		}
	}
	for _, i := range c.Instances() {
		if strings.Contains(i.UserData, c.AccessKey()) || strings.Contains(strings.ToLower(i.UserData), "aws_") || !strings.Contains(i.UserData, "one-time") {
			t.Errorf("user data: %s", i.UserData)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func neturl(s string) string { return url.QueryEscape(s) }
