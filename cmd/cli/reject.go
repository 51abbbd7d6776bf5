package cli

import "github.com/spf13/cobra"

func rejectCommand(w environment) *cobra.Command {
	return actionCommand(w, "reject", "Deny a held run", true)
}
