package books

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fsub/accounting/bill"
	"fsub/accounting/bill/parquet"
	"fsub/cmd/fed/internal/cli"
	"fsub/federation"
	v1 "fsub/federation/api/v1"
)

// importOptions are what fed books import-bill was told.
type importOptions struct {
	cli.Connection
	site                   string
	cost                   string
	rate                   float64
	all, closed, reopen, n bool
}

func newImportBillCommand() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import-bill FILE... --site SITE",
		Short: "Take a provider's bill into the ledger: FOCUS, or an older export of AWS, Google or Azure",
		Long: `Take a provider's bill for a site's machines into the ledger. Files are FOCUS (CSV, gzipped or not, or Parquet), or an AWS Cost and Usage Report, a Google
Cloud detailed cost table or an Azure cost export. What is given at once is one bill: a bill in several files needs all of them in one command. A later import
of the same billing period replaces the earlier one.

Counted are the lines of machines that the site's pools had, which are known by the provider's name of them and by the tag fsub-site. The ledger has estimated
those already; the bill adds, for each day that is billed in full, a line with the difference. With --all every other line of the bill is booked too, by service.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error { return o.run(cmd, files) },
	}
	o.Flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.site, "site", "", "the federation's name of the site")
	f.StringVar(&o.cost, "cost", "effective", "effective: commitments count by their use; billed: as they are invoiced")
	f.Float64Var(&o.rate, "rate", 0, "what one unit of the bill's currency is in dollars, if it is not in dollars")
	f.BoolVar(&o.all, "all", false, "book the lines of other services and machines too")
	f.BoolVar(&o.closed, "closed", false, "this bill is final: all its days are settled, and replacing it needs --reopen")
	f.BoolVar(&o.reopen, "reopen", false, "replace a bill that was closed")
	f.BoolVarP(&o.n, "dry-run", "n", false, "show what would be imported, and import nothing")
	_ = cmd.MarkFlagRequired("site")
	return cmd
}

func (o *importOptions) run(cmd *cobra.Command, files []string) error {
	if o.cost != "effective" && o.cost != "billed" {
		return fmt.Errorf("invalid --cost %q: want effective or billed", o.cost)
	}
	if !(o.rate >= 0) || math.IsInf(o.rate, 0) {
		return fmt.Errorf("invalid --rate %v: want dollars for one unit of the bill's currency", o.rate)
	}
	c := o.Client()
	machines, err := c.Machines(cmd.Context(), federation.SiteName(o.site), true)
	if err != nil {
		return err
	}
	var bills []bill.Bill
	for _, name := range files {
		some, err := readBill(name, bill.Options{Billed: o.cost == "billed", Rate: o.rate, Mine: ours(o.site, machines)})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		bills = append(bills, some...)
	}
	if bills = bill.Together(bills); len(bills) == 0 {
		return errors.New("nothing is billed in these files")
	}
	var done []v1.Bill
	for i := range bills {
		in := o.request(&bills[i])
		if o.n {
			mine, others := bills[i].Total()
			done = append(done, v1.Bill{Site: in.Site, From: in.From, Until: in.Until, Closed: o.closed, Format: in.Format, Rows: in.Rows, Machines: mine, Others: others})
			continue
		}
		one, err := c.ImportBill(cmd.Context(), in)
		if err != nil {
			return err
		}
		done = append(done, one)
	}
	return cli.Print(cmd, &o.Connection, &v1.Bills, done)
}

func (o *importOptions) request(b *bill.Bill) v1.ImportBill {
	day := func(d int64) string { return time.Unix(d*24*3600, 0).UTC().Format(time.DateOnly) }
	in := v1.ImportBill{Site: federation.SiteName(o.site), From: day(b.From), Until: day(b.Until), Told: b.Told, Closed: o.closed, Reopen: o.reopen, Format: b.Format, Rows: b.Rows, Lines: []v1.BillLine{}}
	for _, l := range b.Lines {
		if l.Mine || o.all {
			in.Lines = append(in.Lines, v1.BillLine{Day: day(l.Day), Service: l.Service, Amount: l.Amount})
		}
	}
	return in
}

func readBill(name string, o bill.Options) ([]bill.Bill, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	magic := make([]byte, 4)
	if _, err := f.ReadAt(magic, 0); err != nil && err != io.EOF {
		return nil, err
	}
	if string(magic) == "PAR1" {
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		t, err := parquet.Open(f, info.Size())
		if err != nil {
			return nil, err
		}
		return bill.Read(t, o)
	}
	t, err := bill.CSV(f)
	if err != nil {
		return nil, err
	}
	return bill.Read(t, o)
}

// ours tells a site's machines by the last part of a provider's name of them, "i-0abc" or ".../instances/gpu-7", or by the tag that they were given.
func ours(site string, machines []v1.Machine) func(resource, tags string) bool {
	known := map[string]bool{}
	for i := range machines {
		for _, name := range []string{machines[i].Instance, machines[i].ID} {
			if name != "" {
				known[strings.ToLower(path.Base(name))] = true
			}
		}
	}
	plain := strings.NewReplacer(`"`, "", " ", "", "{", "", "}", ",", ":", ",") // JSON, JSON without braces, or a list of keys and values
	return func(resource, tags string) bool {
		if resource != "" && known[strings.ToLower(path.Base(resource))] {
			return true
		}
		return tags != "" && strings.Contains(","+plain.Replace(tags)+",", ",fsub-site,"+site+",")
	}
}
