// Package top has fed top, the federation on a full terminal.
package top

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/plain"
)

func NewCommand() *cobra.Command {
	var c cli.Connection
	var once bool
	var every time.Duration
	v := topView{width: 80, height: 24}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch sites, pools, nodes that are out, and the queue",
		Long: `Watch the federation: its sites with what is free there and how much of their calls is used (CALLS), how whole the free GPUs are,
pools of rented machines (operators only), nodes that take no jobs by reason, and the jobs. Keys: q quits, s sorts the jobs by another column, r reverses that, / filters jobs and nodes by a text, p pauses.
Of very many jobs it has the first 1000 in the order that is chosen.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m := &topModel{ctx: cmd.Context(), client: c.Client(), every: every, view: v}
			if once {
				m.data = readTop(m.ctx, m.client, m.view.order())
				if m.data.err != nil {
					return m.data.err
				}
				_, err := fmt.Fprintln(cmd.OutOrStdout(), m.data.frame(&m.view, time.Now()))
				return err
			}
			if !plain.Terminal(os.Stdin) || !plain.Terminal(cmd.OutOrStdout()) {
				return errors.New("fed top needs a terminal; without one: fed top --once")
			}
			_, err := tea.NewProgram(m, tea.WithContext(m.ctx)).Run()
			if errors.Is(err, tea.ErrInterrupted) || errors.Is(err, tea.ErrProgramKilled) {
				err = nil
			}
			return err
		},
	}
	c.Flags(cmd)
	cmd.Flags().Lookup("json").Hidden = true
	f := cmd.Flags()
	f.BoolVar(&once, "once", false, "print one frame and end")
	f.DurationVar(&every, "interval", 2*time.Second, "time between two looks")
	f.IntVar(&v.width, "width", 80, "columns of --once")
	f.IntVar(&v.height, "height", 24, "lines of --once")
	f.StringVar(&v.filter, "filter", "", "only jobs and nodes with this text in their line")
	return cmd
}

// readTop asks the daemon for all that is shown, the jobs in that order.
func readTop(ctx context.Context, c *client.Client, order string) topData {
	d := topData{at: time.Now()}
	var err error
	if d.sites, err = c.Sites(ctx); err != nil {
		return topData{err: err}
	}
	if d.pools, err = client.List(ctx, c, &v1.Pools, v1.None{}); err != nil && !errors.Is(err, federation.ErrDenied) {
		return topData{err: err}
	}
	h, err := c.Health(ctx)
	if err != nil {
		return topData{err: err}
	}
	d.wrong = h.Faults
	all, err := c.Nodes(ctx, nil, nil)
	if err != nil {
		return topData{err: err}
	}
	for _, n := range all {
		if !n.Usable {
			d.nodes = append(d.nodes, n)
		}
	}
	first, err := client.ListPage(ctx, c, &v1.Jobs, v1.JobQuery{Sort: order}, v1.PageQuery{Limit: v1.MostPage})
	if err != nil {
		return topData{err: err}
	}
	d.jobs = first.Items
	if d.counts, err = client.List(ctx, c, &v1.Summary, v1.SummaryQuery{By: "state"}); err != nil {
		return topData{err: err}
	}
	return d
}

// topModel is fed top on a terminal.
type topModel struct {
	ctx    context.Context
	client *client.Client
	every  time.Duration
	data   topData
	view   topView
}

type topTick struct{}

// Init implements tea.Model.
func (m *topModel) Init() tea.Cmd { return m.read }

// read asks the daemon, and says what it said.
func (m *topModel) read() tea.Msg { return readTop(m.ctx, m.client, m.view.order()) }

// Update implements tea.Model.
func (m *topModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case topData:
		took := time.Since(msg.at)
		if msg.err != nil { // what is known stays, with its age
			took, m.data.err = 0, msg.err
		} else {
			m.data = msg
		}
		// A tenth of the time at most is spent on asking.
		return m, tea.Tick(max(m.every, 10*took), func(time.Time) tea.Msg { return topTick{} })
	case topTick:
		if m.view.paused {
			return m, tea.Tick(m.every, func(time.Time) tea.Msg { return topTick{} })
		}
		return m, m.read
	case tea.WindowSizeMsg:
		m.view.width, m.view.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m, m.view.key(msg)
	}
	return m, nil
}

// key does what a key stands for.
func (v *topView) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if name == "ctrl+c" {
		return tea.Quit
	}
	if v.typing {
		switch r := []rune(v.filter); {
		case name == "enter":
			v.typing = false
		case name == "esc":
			v.typing, v.filter = false, ""
		case name == "backspace" && len(r) > 0:
			v.filter = string(r[:len(r)-1])
		default:
			v.filter += k.Text
		}
		return nil
	}
	switch name {
	case "q", "esc":
		return tea.Quit
	case "s":
		v.sort = (v.sort + 1) % len(topSorts)
	case "r":
		v.reverse = !v.reverse
	case "/":
		v.typing, v.filter = true, ""
	case "p", "space":
		v.paused = !v.paused
	}
	return nil
}

// View implements tea.Model.
func (m *topModel) View() tea.View {
	view := tea.NewView(m.data.frame(&m.view, time.Now()))
	view.AltScreen = true
	return view
}
