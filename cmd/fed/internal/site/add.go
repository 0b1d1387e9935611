package site

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/fed/internal/config"
	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
)

func newAddCommand() *cobra.Command {
	var c cli.Connection
	var force bool
	cmd := &cobra.Command{
		Use:   "add FILE|SITE",
		Short: "Take a site into the federation: one that FILE describes, or one that has left it",
		Long: `Take a site into the federation while the daemon runs. FILE has what stands for a site in the daemon's configuration, below its dash:

	name: gamma
	url: https://gamma-ctl:6820
	user: slurm
	key_file: gamma.key

Names of files are relative to FILE, and must be readable by the daemon on its machine. The daemon keeps the description in its state_dir (sites/NAME.yaml) and
reads it at each start after the configuration. Sites of rented machines are added in the configuration.

The site is tried first, as by fed site test, and what fails is told; --force adds it all the same. A site that has left comes back as FILE describes it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := os.ReadFile(args[0])
			if os.IsNotExist(err) && config.NameForm.MatchString(args[0]) && !isFileName(args[0]) { // one that was there before
				_, err := c.Client().SetSiteState(cmd.Context(), federation.SiteName(args[0]), v1.SetSiteState{State: federation.FedActive, Reason: "added"})
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "Site %s is a member of the federation\n", args[0])
				}
				return err
			}
			if err != nil {
				return fmt.Errorf("read the description of the site: %w", err)
			}
			one, err := siteFromFile(string(text), filepath.Dir(args[0]))
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			s, err := c.Client().AddSite(cmd.Context(), v1.AddSite{Config: one, Force: force})
			if err != nil {
				return err
			}
			if c.JSON {
				return cli.PrintJSON(cmd.OutOrStdout(), s)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Site %s is a member of the federation\n", s.Name)
			return nil
		},
	}
	c.Flags(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "even if the site does not pass the checks")
	return cmd
}

func newUpdateCommand() *cobra.Command {
	var force bool
	cmd := cli.Ask(&cobra.Command{
		Use:   "update FILE|SITE [KEY=VALUE...]",
		Short: "Change the description of a site that was added while the daemon ran",
		Long: `Change the description of a site that was added while the daemon ran: by FILE as a whole, as for fed site add, or some of its keys:

	fed site update gamma url=https://gamma-ctl2:6820 timeout=20s

The site is tried first, as by fed site test, and what fails is told; --force changes it all the same. Its jobs stay where they are. A site of the
configuration is changed there.`,
		Args: cobra.MinimumNArgs(1),
	}, func(ctx context.Context, c *client.Client, args []string) (done v1.Site, err error) {
		name, req := federation.SiteName(args[0]), v1.UpdateSite{Force: force}
		if len(args) > 1 {
			for _, word := range args[1:] {
				word, err := absoluteValue(word)
				if err != nil {
					return done, err
				}
				req.Set = append(req.Set, word)
			}
		} else {
			text, err := os.ReadFile(args[0])
			if err != nil {
				return done, fmt.Errorf("read the description of the site: %w; to change some keys: fed site update SITE KEY=VALUE", err)
			}
			if req.Config, err = siteFromFile(string(text), filepath.Dir(args[0])); err != nil {
				return done, fmt.Errorf("%s: %w", args[0], err)
			}
			s, err := config.ParseSite(req.Config)
			if err != nil {
				return done, err
			}
			name = s.Name
		}
		return c.UpdateSite(ctx, name, req)
	}, func(w io.Writer, s v1.Site) error {
		_, err := fmt.Fprintf(w, "Site %s is configured again\n", s.Name)
		return err
	})
	cmd.Flags().BoolVar(&force, "force", false, "even if the site does not pass the checks")
	return cmd
}

// absoluteValue makes the name of a file in KEY=VALUE absolute.
func absoluteValue(word string) (string, error) {
	key, value, _ := strings.Cut(word, "=")
	if !slices.Contains([]string{"key_file", "token_file", "ca_file", "client_cert", "client_key", "topology_file"}, key) || value == "" || filepath.IsAbs(value) {
		return word, nil
	}
	path, err := filepath.Abs(value)
	return key + "=" + path, err
}

// isFileName reports whether a word that could name a site is more likely the name of a file.
func isFileName(word string) bool {
	ext := filepath.Ext(word)
	return ext == ".yaml" || ext == ".yml"
}

// siteFromFile checks a site's description and makes the names of its files absolute.
func siteFromFile(text, dir string) (string, error) {
	s, err := config.ParseSite(text)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	for _, p := range []*string{&s.KeyFile, &s.TokenFile, &s.CAFile, &s.ClientCert, &s.ClientKey, &s.Topology} {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
	out, err := yaml.Marshal(s)
	return string(out), err
}
