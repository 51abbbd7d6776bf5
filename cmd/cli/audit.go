package cli

import (
	"strconv"

	"github.com/spf13/cobra"
)

// exitCode ends a command with this code when all messages were printed already.
type exitCode int

func (e exitCode) Error() string { return "exit code " + strconv.Itoa(int(e)) }

func auditCommand(w environment) *cobra.Command {
	c := &cobra.Command{
		Use: "audit", Short: "Verify, prove and manage the audit trail", Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(verifyCommand(w), bundleCommand(w), receiptCommand(w), anchorCommand(w), keyCommand(w), eraseCommand(w),
		rollbackCommand(w))
	return c
}
