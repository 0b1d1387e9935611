package config

import (
	"net/url"
	"strings"

	"github.com/goccy/go-yaml"
)

// WithoutSecrets is the configuration, in its order of keys, without what may be secret in it: passwords and what else may give access in addresses, and the arguments of commands.
// Files of secrets are named by their paths, as they are in the configuration.
func (c *Config) WithoutSecrets() (yaml.MapSlice, error) {
	text, err := yaml.Marshal(c)
	if err != nil {
		return nil, err
	}
	var all yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(text, &all, yaml.UseOrderedMap()); err != nil {
		return nil, err
	}
	withoutSecrets("", all)
	return all, nil
}

// leftOut stands for what is not shown.
const leftOut = "..."

// withoutSecrets changes what is below a key and returns what is to be there.
func withoutSecrets(key string, v any) any {
	switch v := v.(type) {
	case yaml.MapSlice:
		for i := range v {
			k, _ := v[i].Key.(string)
			v[i].Value = withoutSecrets(k, v[i].Value)
		}
	case []any:
		if isCommand := key == "notify" || strings.HasSuffix(key, "command"); isCommand && len(v) > 1 {
			return []any{v[0], leftOut}
		}
		for i := range v {
			v[i] = withoutSecrets(key, v[i])
		}
	case string:
		u, err := url.Parse(v)
		switch {
		case !strings.Contains(v, "://"):
		case err != nil:
			return leftOut
		case key == "webhook": // anybody who knows the path may post
			return u.Scheme + "://" + u.Host + "/" + leftOut
		case u.User != nil:
			return u.Redacted()
		}
	}
	return v
}
