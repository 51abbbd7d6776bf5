package catalog

import "github.com/writ-automation/writ/ports/runs"

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
	// InstallElsewhere leaves the requirements of projects to those who execute their runs.
	InstallElsewhere bool
	// Privileged reports whether an isolation profile lets runs become root, or is not known. Nil is true for every
	// profile but the built-in ones that do not.
	Privileged func(profile string) bool
}

func (c Config) privileged(profile string) bool {
	if c.Privileged == nil {
		return profile != runs.StandardProfile && profile != runs.SealedProfile
	}
	return c.Privileged(profile)
}
