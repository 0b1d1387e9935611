package account

import (
	"slices"

	"github.com/spf13/cobra"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation/accounts"
	v1 "fsub/federation/api/v1"
)

func NewQOSCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "qos", Short: "The QOS of the federation: priority, usage factor, preemption, limits"}
	cmd.AddCommand(newQOSListCommand(), newQOSShowCommand(), newQOSEditCommand(accounts.Add), newQOSEditCommand(accounts.Modify), newQOSEditCommand(accounts.Remove))
	return cmd
}

func newQOSListCommand() *cobra.Command {
	return cli.ListWith(&v1.QOS, &cobra.Command{Use: "list", Short: "List the QOS", Args: cobra.NoArgs}, cli.Lister[v1.Account, v1.None]{
		Choose: func(all []v1.Account, _ []string) ([]v1.Account, error) {
			return slices.DeleteFunc(all, func(a v1.Account) bool { return a.Kind != accounts.QOS }), nil
		},
	})
}

func newQOSShowCommand() *cobra.Command {
	var c cli.Connection
	cmd := &cobra.Command{
		Use:   "show QOS",
		Short: "Show what is set for a QOS",
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return showAccount(cmd, &c, accounts.QOSKey(args[0])) },
	}
	c.Flags(cmd)
	return cmd
}

func newQOSEditCommand(op accounts.Op) *cobra.Command {
	var c cli.Connection
	var q v1.EditAccounts
	cmd := &cobra.Command{
		Use:   string(op) + " QOS [OPTION=VALUE...]",
		Short: map[accounts.Op]string{accounts.Add: "Add a QOS", accounts.Modify: "Change a QOS", accounts.Remove: "Remove a QOS that nothing names"}[op],
		Long: `OPTION=VALUE are sacctmgr's: Priority=100, UsageFactor=2, Preempt=low, MaxTRESPerUser=gres/gpu=8, GrpTRESMins=gres/gpu=60000. The value -1 unsets
an option. Only operators may.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return editAccount(cmd, &c, q, v1.AccountEdit{Op: op, Kind: accounts.QOS, Name: args[0]}, args[1:])
		},
	}
	c.Flags(cmd)
	editFlags(cmd, &q)
	return cmd
}
