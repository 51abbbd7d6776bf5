package cli

import "github.com/spf13/cobra"

func rejectCommand(w environment) *cobra.Command {
	return actionCommand(w, "reject", "Reject a held run", true)
}
