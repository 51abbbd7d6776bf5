package catalog

// Config configures the catalog context.
type Config struct {
	// TempDir is the directory for the temporary work trees of projects during the refresh of an inventory source. It
	// is created if it does not exist. Empty means the system's temporary directory.
	TempDir string
	// ReadOnly disables fetches of projects, refreshes of sources and the removal of mirrors.
	ReadOnly bool
}
