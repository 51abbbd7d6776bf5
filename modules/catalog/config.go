package catalog

// Config configures the catalog context.
type Config struct {
	// TempDir is the directory for the temporary work trees of projects during the refresh of an inventory source. It
	// is created if it does not exist. Empty means the system's temporary directory.
	TempDir string
	// ReadOnly disables fetches of projects, refreshes of sources and the removal of mirrors.
	ReadOnly bool
	// SourceQueue is the queue whose executors refresh the sources that run programs.
	SourceQueue string
	// Worker is the name of this process's executor, which does the refreshes of some queues; empty does none.
	Worker string
	Queues []string
}
