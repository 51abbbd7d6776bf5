package cli

import "github.com/spf13/cobra"

func approveCommand(w environment) *cobra.Command {
	return actionCommand(w, "approve", "Approve a held run", true)
}
