package cli

import "github.com/spf13/cobra"

func cancelCommand(w environment) *cobra.Command {
	return actionCommand(w, "cancel", "End a held, pending or running run", false)
}
