package pool

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/cmd/fed/internal/cli"
	v1 "fsub/federation/api/v1"
)

func NewOffersCommand() *cobra.Command {
	var spot bool
	cmd := cli.ListWith(&v1.Offers, &cobra.Command{
		Use:   "offers",
		Short: "What the clouds ask for machines with accelerators, the cheapest first",
		Long: `Each line is one type of machine in one place and market. TOTAL is what the accelerators asked for cost per hour together: MACHINES of them, or of
TPUs chips. FROM says where the price is from, AGE how old it is; old? marks one that may have changed. A price that nobody knows is not listed.`,
		Example: `  fed offers --gpu h100:8
  fed offers --gpu h100:16 --spot --region 'us-*'
  fed offers --tpu v5p:128
  fed offers refresh`,
		Args: cobra.NoArgs,
	}, cli.Lister[v1.Offer, v1.OfferQuery]{Ask: func(q *v1.OfferQuery, _ []string) error {
		if spot {
			if q.Market != "" && q.Market != string(provider.Spot) {
				return fmt.Errorf("--spot and --market %s exclude each other", q.Market)
			}
			q.Market = string(provider.Spot)
		}
		return nil
	}})
	cmd.Flags().BoolVar(&spot, "spot", false, "only the spot market")
	cmd.Flags().Lookup("cloud").Usage += ": " + strings.Join(prices.Clouds(), ", ")
	cmd.AddCommand(newOffersRefreshCommand())
	return cmd
}

func newOffersRefreshCommand() *cobra.Command {
	var c cli.Connection
	cmd := &cobra.Command{
		Use:   "refresh",
		Short: "Ask the clouds' price lists now; a price that cannot be true is refused, and the last good one stays",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			lists, err := c.Client().RefreshOffers(cmd.Context())
			if err != nil {
				return err
			}
			if c.JSON {
				return cli.PrintJSON(cmd.OutOrStdout(), lists)
			}
			if len(lists) == 0 {
				fmt.Fprintln(cmd.ErrOrStderr(), "fed: no price list is asked; the configuration names them (price_lists: ask)")
			}
			failed := false
			for _, l := range lists {
				if l.Error != "" {
					failed = true
					fmt.Fprintf(cmd.ErrOrStderr(), "fed: %s does not answer; keeping the last known prices: %s\n", l.Name, l.Error)
					continue
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %d prices\n", l.Name, l.Prices)
				for _, r := range l.Refused {
					fmt.Fprintf(cmd.ErrOrStderr(), "fed: warning: %s: %s %s in %s is refused: %s\n", l.Name, r.Type, r.Market, r.Region+r.Zone, r.Why)
				}
			}
			if failed {
				return cli.ExitError(1)
			}
			return nil
		},
	}
	c.Flags(cmd)
	return cmd
}
