package cli

import (
	"strconv"

	"github.com/spf13/cobra"
)

// exitCode ends a command with this code when all messages were printed already.
type exitCode int

func (e exitCode) Error() string { return "exit code " + strconv.Itoa(int(e)) }

func auditCommand(w environment) *cobra.Command {
	return group("audit", "Verify, prove and manage the audit trail", verifyCommand(w), bundleCommand(w),
		receiptCommand(w), anchorCommand(w), keyCommand(w), eraseCommand(w), rollbackCommand(w))
}
