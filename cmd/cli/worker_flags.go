package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/cmd/compose"
)

// workerFlags are the flags of worker, which are also the keys of a configuration file.
type workerFlags struct {
	executorFlags
	installFlags

	server, caFile, signingKeyFile string
	insecureHTTP                   bool
	labels                         []string
}

func (f *workerFlags) register(fs *pflag.FlagSet) {
	f.executorFlags.register(fs, "the worker's own `directory` (default beside an SQLite database, else .writ-worker)",
		"`token` by which the server lets workers in")
	f.installFlags.register(fs, "", "the data directory, else in the server's default one")
	fs.StringVar(&f.server, "server", "", "`address` of a server whose relay runs are claimed over, instead of a database")
	fs.StringVar(&f.signingKeyFile, "signing-key-file", "", "`file` of the keys that sign the audit trail: heads by them alone are believed (default those that the database lists)")
	fs.StringVar(&f.caFile, "ca-file", "", "PEM `file` of the authorities to trust for the server (default those of the machine)")
	fs.BoolVar(&f.insecureHTTP, "insecure-http", false, "let the secrets of runs travel over plain http from another machine")
	fs.StringSliceVar(&f.labels, "labels", nil, "`key=value` that the list of workers shows (repeatable)")
}

// load fills what the command line left open. Where it names the database or the server, the other one counts only if
// it is named there as well: a variable for another command takes no part.
func (f *workerFlags) load(fs *pflag.FlagSet, w environment) error {
	if err := f.executorFlags.load(fs, w); err != nil {
		return err
	}
	switch db, server := fs.Changed("db"), fs.Changed("server"); {
	case db && !server:
		f.server = ""
	case server && !db:
		f.db = ""
	}
	return nil
}

// settings turns the flags into what a worker is told.
func (f *workerFlags) settings(w environment) (compose.WorkerSettings, error) {
	executor, err := f.executor(w)
	if err != nil {
		return compose.WorkerSettings{}, usageError{err}
	}
	install, err := f.install(w)
	if err != nil {
		return compose.WorkerSettings{}, usageError{err}
	}
	labels, err := pairs("labels", f.labels)
	if err != nil {
		return compose.WorkerSettings{}, err
	}
	s := compose.WorkerSettings{
		Executor: executor, Install: install, Labels: labels, SigningKeyFile: f.signingKeyFile,
		Relay: compose.Relay{Server: strings.TrimRight(f.server, "/"), Token: f.token(), CAFile: f.caFile, InsecureHTTP: f.insecureHTTP},
	}
	if err := s.Validate(); err != nil {
		return compose.WorkerSettings{}, usageError{err}
	}
	return s, nil
}
