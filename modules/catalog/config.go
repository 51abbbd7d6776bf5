package catalog

// Config of the context.
type Config struct {
	// TempDir is where work trees of projects are made for as long as the refresh of an inventory source lasts. It is
	// made where it does not exist. Empty is that of the system.
	TempDir string
	// ReadOnly fetches no project and refreshes no source, and removes no mirror.
	ReadOnly bool
}
