package cli

import "github.com/spf13/cobra"

func rejectCommand(w world) *cobra.Command {
	return actionCommand(w, "reject", "Deny a held run", true)
}
