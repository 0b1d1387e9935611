package daemon

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"time"

	"fsub/federation/api"
	"fsub/federation/reports"
	"fsub/federation/secret"
	"fsub/federation/webhooks"
)

// newHooks makes what posts events; nil: nothing does. Of several daemons that share a store the leader does.
func (p *parts) newHooks() (*webhooks.Hub, error) {
	c := p.config
	allow, err := webhooks.ReadAllowed(c.Webhooks.Allow)
	if err != nil || !allow.Any() {
		return nil, err
	}
	path := filepath.Join(c.StateDir, "webhooks.key")
	text, err := secretFile(path)
	if err == nil {
		err = secret.Check(path)
	}
	if err != nil {
		return nil, fmt.Errorf("webhooks: %w", err)
	}
	key, err := hkdf.Key(sha256.New, text, nil, "fsub: secrets of webhooks", 32)
	if err != nil {
		return nil, err
	}
	box, err := webhooks.NewBox(key)
	if err != nil {
		return nil, err
	}
	with := webhooks.Config{Federation: c.Federation, Records: p.store, Source: api.WebhookSource(p.api), Box: box, Allow: allow, Logger: p.logOf("webhooks"), Registerer: p.reg}
	if sender, err := newSender(&c.Mail, "mail"); err != nil {
		return nil, err
	} else if sender != nil {
		with.Tell = func(ctx context.Context, owner, subject, text string) error {
			id := fmt.Sprintf("webhook.%s.%d@%s", owner, time.Now().UnixNano(), mailHost(c))
			return sender.Send(ctx, &reports.Message{ID: id, To: []string{owner + "@" + c.Mail.MailDomains()[0]}, Subject: subject, Text: text})
		}
	}
	return webhooks.New(with), nil
}
