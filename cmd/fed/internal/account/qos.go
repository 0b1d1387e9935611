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
	return showCommand("show QOS", "Show what is set for a QOS", accounts.QOSKey)
}

func newQOSEditCommand(op accounts.Op) *cobra.Command {
	return editCommand(&cobra.Command{
		Use:   string(op) + " QOS [OPTION=VALUE...]",
		Short: map[accounts.Op]string{accounts.Add: "Add a QOS", accounts.Modify: "Change a QOS", accounts.Remove: "Remove a QOS that nothing names"}[op],
		Long: `OPTION=VALUE are sacctmgr's: Priority=100, UsageFactor=2, Preempt=low, MaxTRESPerUser=gres/gpu=8, GrpTRESMins=gres/gpu=60000. The value -1 unsets
an option. Only operators may.`,
	}, func(name string) v1.AccountEdit { return v1.AccountEdit{Op: op, Kind: accounts.QOS, Name: name} })
}
